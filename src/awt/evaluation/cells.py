"""The cells of the evaluate stage: one for each trained network and chunk of test points."""

from typing import Any

from awt.params import Params
from awt.runtime import Cell, Source

Chunk = tuple[int, int]


def chunks(points: int, size: int) -> list[Chunk]:
    return [(start, min(start + size, points)) for start in range(0, points, size)]


def evaluate_cell(params: Params, model: dict[str, Any], chunk: Chunk, inputs: dict[str, Source]) -> Cell:
    name = f"{model['method']} {model['density']:g} seed {model['seed']}"
    return Cell(
        kind="evaluate",
        label=f"evaluate {name} points {chunk[0]}-{chunk[1]}",
        function="awt.evaluation.attacked:evaluate",
        params={
            "seed": model["seed"],
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "attack": params.evaluate.attack.as_json(),
            "points": chunk,
        },
        inputs=inputs,
    )
