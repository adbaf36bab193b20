"""Attacks every trained network on the test set, chunk by chunk."""

import sys
from pathlib import Path

import pandas as pd

from awt.artifacts import decode_npz, encode_csv, encode_json, encode_npz, read_json, write
from awt.errors import run
from awt.evaluation.cells import chunks, evaluate_cell
from awt.evaluation.scores import RESULTS, join, metrics, score
from awt.runtime import Source
from awt.stage import ARTIFACTS, stage

MODELS = ARTIFACTS / "models"
DATA = ARTIFACTS / "data"


def main() -> None:
    with stage("evaluate") as work:
        models = read_json(MODELS / "index.json")["models"]
        dataset = Source.of(DATA / "dataset.npz")
        pieces = chunks(read_json(DATA / "dataset.json")["counts"]["test"], work.params.evaluate.chunk)
        inputs = [{"dataset": dataset, "model": Source.of(MODELS / model["file"])} for model in models]
        cells = [
            evaluate_cell(work.params, model, chunk, files)
            for model, files in zip(models, inputs, strict=True)
            for chunk in pieces
        ]
        entries = iter(work.run(cells))

        files: dict[str, bytes | Path] = {}
        rows = []
        for model in models:
            points = join([decode_npz(next(entries).read("points.npz"), model["file"]) for _ in pieces])
            files[model["file"]] = encode_npz(points)
            rows.append({name: model[name] for name in ("method", "density", "seed")} | score(points))
        results = pd.DataFrame(rows, columns=RESULTS)
        work.publish(ARTIFACTS / "evaluation", files)
        write(ARTIFACTS / "plots" / "results.csv", encode_csv(results))
        write(ARTIFACTS / "metrics.json", encode_json(metrics(results)))


if __name__ == "__main__":
    sys.exit(run(main))
