"""Attacks every trained network on the test set, chunk by chunk."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from awt.artifacts import decode_npz, encode_csv, encode_json, encode_npz, read_json, write
from awt.errors import run
from awt.evaluation.scores import RESULTS, join, metrics, score
from awt.runtime import Cell, Source
from awt.stage import ARTIFACTS, Stage, stage

MODELS = ARTIFACTS / "models"


def evaluate_cell(
    work: Stage, model: dict[str, Any], weights: Source, dataset: Source, points: tuple[int, int]
) -> Cell:
    name = f"{model['method']} {model['density']:g} seed {model['seed']}"
    return Cell(
        kind="evaluate",
        label=f"evaluate {name} points {points[0]}-{points[1]}",
        function="awt.evaluation.attacked:evaluate",
        params={
            "seed": model["seed"],
            "model": work.params.model.as_json(),
            "threat": work.params.threat.as_json(),
            "attack": work.params.evaluate.attack.as_json(),
            "points": points,
        },
        inputs={"dataset": dataset, "model": weights},
    )


def main() -> None:
    with stage("evaluate") as work:
        models = read_json(MODELS / "index.json")["models"]
        dataset = Source.of(ARTIFACTS / "data" / "dataset.npz")
        total = read_json(ARTIFACTS / "data" / "dataset.json")["counts"]["test"]
        size = work.params.evaluate.chunk
        chunks = [(start, min(start + size, total)) for start in range(0, total, size)]
        weights = [Source.of(MODELS / model["file"]) for model in models]
        cells = [
            evaluate_cell(work, model, source, dataset, chunk)
            for model, source in zip(models, weights, strict=True)
            for chunk in chunks
        ]
        entries = iter(work.run(cells))
        files: dict[str, bytes | Path] = {}
        rows = []
        for model in models:
            points = join([decode_npz(next(entries).read("points.npz"), model["file"]) for _ in chunks])
            files[model["file"]] = encode_npz(points)
            rows.append({name: model[name] for name in ("method", "density", "seed")} | score(points))
        results = pd.DataFrame(rows, columns=RESULTS)
        work.publish(ARTIFACTS / "evaluation", files)
        write(ARTIFACTS / "plots" / "results.csv", encode_csv(results))
        write(ARTIFACTS / "metrics.json", encode_json(metrics(results)))


if __name__ == "__main__":
    sys.exit(run(main))
