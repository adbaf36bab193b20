"""The cells of the evaluate stage: one for each trained network, attack and chunk of test points; one that checks."""

from typing import Any

from awt.params import Params
from awt.runtime import Cell, Source

Chunk = tuple[int, int]


def chunks(points: int, size: int) -> list[Chunk]:
    return [(start, min(start + size, points)) for start in range(0, points, size)]


def attack_cell(
    params: Params, model: dict[str, Any], number: int, attack: str, chunk: Chunk, inputs: dict[str, Source]
) -> Cell:
    """The `number`-th attack of a suite; `inputs` has the outcome of the one before it."""
    return Cell(
        kind="evaluate",
        label=f"evaluate {_name(model)} {attack} points {chunk[0]}-{chunk[1]}",
        function="awt.evaluation.attacked:attack",
        params=_common(params, model)
        | {
            "attack": attack,
            "changes": params.evaluate.attacks.get(attack, {}),
            "number": number,
            "points": chunk,
        },
        inputs=inputs,
    )


def sanity_cell(params: Params, model: dict[str, Any], inputs: dict[str, Source]) -> Cell:
    return Cell(
        kind="evaluate",
        label=f"evaluate {_name(model)} sanity",
        function="awt.evaluation.sanity:check",
        params=_common(params, model) | {"points": params.evaluate.sanity},
        inputs=inputs,
    )


def dynamics_cell(params: Params, model: dict[str, Any], inputs: dict[str, Source]) -> Cell:
    return Cell(
        kind="retrain",
        label=f"dynamics {_name(model)}",
        function="awt.evaluation.dynamics:dynamics",
        params=_common(params, model) | {"retrain": params.retrain.as_json(), "points": params.evaluate.dynamics},
        inputs=inputs,
    )


def _name(model: dict[str, Any]) -> str:
    return f"{model['method']} {model['density']:g} seed {model['seed']}"


def _common(params: Params, model: dict[str, Any]) -> dict[str, Any]:
    return {"seed": model["seed"], "model": params.model.as_json(), "threat": params.threat.as_json()}
