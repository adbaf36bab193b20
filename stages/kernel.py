"""Computes, once per initialisation, what every mask search shares, and a Gram matrix on a reference subset."""

import sys
from pathlib import Path

from awt.artifacts import read_json
from awt.data.dataset import described
from awt.errors import run
from awt.kernels.cells import PointSet, Request, Subject, dense_side_cell, points_cell, views_cell
from awt.kernels.service import compute
from awt.runtime import Source
from awt.stage import ARTIFACTS, stage

DATA = ARTIFACTS / "data"


def main() -> None:
    with stage("kernel") as work:
        params, seeds = work.params, work.params.seeds
        dataset = Source.of(DATA / "dataset.npz")
        data = described(read_json(DATA / "dataset.json"))
        sides = dict(zip(seeds, work.run([dense_side_cell(params, seed, dataset) for seed in seeds]), strict=True))
        views = work.run([views_cell(params, seed, dataset, sides[seed]) for seed in seeds])
        [points] = work.run([points_cell("train", params.kernel.reference, dataset)])
        reference = PointSet("train", params.kernel.reference, points.source("x.npy"))
        initial = {seed: side.source("initial.npz") for seed, side in sides.items()}
        subjects = [Subject("dense", 1.0, seed, False, params.model, data, initial[seed]) for seed in seeds]
        requests = [Request(subject, reference) for subject in subjects]
        grams = compute(work.run, requests, params.kernel.memory_gb)

        side_files: dict[str, bytes | Path] = {}
        gram_files: dict[str, bytes | Path] = {}
        for seed, view, gram in zip(seeds, views, grams, strict=True):
            side_files[f"seed-{seed}/dense.npz"] = sides[seed].path("dense.npz")
            side_files[f"seed-{seed}/views.npz"] = view.path("views.npz")
            gram_files |= {f"seed-{seed}/{name}": content for name, content in gram.files().items()}
        work.publish(ARTIFACTS / "initial", {f"seed-{s}.npz": side.path("initial.npz") for s, side in sides.items()})
        work.publish(ARTIFACTS / "dense_side", side_files)
        work.publish(ARTIFACTS / "gram", gram_files)


if __name__ == "__main__":
    sys.exit(run(main))
