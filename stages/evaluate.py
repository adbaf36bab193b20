"""Attacks every trained network on the test set, and compares the networks' kernels, before and after training."""

import sys
from pathlib import Path
from typing import Any

import pandas as pd

from awt.artifacts import (
    decode_npy,
    encode_csv,
    encode_json,
    encode_npz,
    read_json,
    write,
)
from awt.data.dataset import described
from awt.errors import run
from awt.evaluation import kernels, mixture
from awt.evaluation.cells import chunks
from awt.evaluation.scores import RESULTS, flags, metrics, points_of, score
from awt.evaluation.service import check, side_by_side, under
from awt.kernels.cells import points_cell
from awt.kernels.service import compute
from awt.kernels.tiles import Gram
from awt.runtime import Source
from awt.stage import ARTIFACTS, Stage, stage

MODELS, DATA, KERNELS, PLOTS = (ARTIFACTS / name for name in ("models", "data", "kernels", "plots"))


def compare_kernels(work: Stage, models: list[dict[str, Any]], dataset: Source, data: dict[str, Any]) -> None:
    [points] = work.run([points_cell("train", work.params.kernel.reference, dataset)])
    asked = kernels.requests(work.params, models, described(data), points.source("x.npy"), ARTIFACTS)
    found = zip(asked, compute(work.run, list(asked.values()), work.params.kernel.memory_gb), strict=True)
    work.publish(KERNELS, {f"{n.folder}/{file}": path for n, gram in found for file, path in gram.files().items()})
    grams = {name: Gram(KERNELS / name.folder) for name in asked}
    labels = decode_npy(points.read("y.npy"), "y.npy")
    write(PLOTS / "kernels.csv", encode_csv(kernels.table(grams, labels)))
    write(PLOTS / "spectra.csv", encode_csv(kernels.spectra(grams)))
    write(PLOTS / "heatmaps.npz", encode_npz(kernels.heatmaps(grams, labels)))


def main() -> None:
    with stage("evaluate") as work:
        asked = work.params.evaluate
        models = read_json(MODELS / "index.json")["models"]
        dataset, data = Source.of(DATA / "dataset.npz"), read_json(DATA / "dataset.json")
        pieces = chunks(asked.attacked(data["counts"]["test"]), asked.chunk)
        inputs = [{"dataset": dataset, "model": Source.of(MODELS / model["file"])} for model in models]
        suites = {suite: under(work.run, work.params, suite, models, inputs, pieces) for suite in asked.suites}
        signs, curves = check(work.run, work.params, models, inputs)

        files: dict[str, bytes | Path] = {}
        rows = []
        for number, model in enumerate(models):
            points = points_of({suite: found[number] for suite, found in suites.items()})
            files[model["file"]] = encode_npz(points)
            flagged = [*signs[number], *(sign for s in asked.suites for sign in flags(points, s, asked.suite(s)))]
            about = {name: model[name] for name in ("method", "density", "seed", "trains_all")}
            rows.append(about | score(points, asked.suites) | {"flags": "; ".join(flagged)})
        files["index.json"] = encode_json({"suites": {suite: asked.suite(suite) for suite in asked.suites}})
        results = pd.DataFrame(rows)
        results = results[[*RESULTS, *results.columns.difference(RESULTS)]]
        work.publish(ARTIFACTS / "evaluation", files)
        write(PLOTS / "results.csv", encode_csv(results))
        write(PLOTS / "sanity.csv", encode_csv(curves))
        write(PLOTS / "dynamics.csv", encode_csv(side_by_side(work.run, work.params, models, ARTIFACTS)))
        write(PLOTS / "mixture.csv", encode_csv(mixture.table(work.params, models, ARTIFACTS)))
        write(ARTIFACTS / "metrics.json", encode_json(metrics(results, asked.suites)))
        compare_kernels(work, models, dataset, data)


if __name__ == "__main__":
    sys.exit(run(main))
