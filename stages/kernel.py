"""Computes, once per initialisation, what every mask search shares, and a Gram matrix on a reference subset."""

import sys
from pathlib import Path

from awt.artifacts import read_json
from awt.data.dataset import described
from awt.errors import run
from awt.kernels.cells import PointSet, Request, Subject, points_cell
from awt.kernels.dense_cells import (
    dense_side_cell,
    has_dense_side,
    has_teacher,
    initial_cell,
    teacher_cell,
    views_cell,
)
from awt.kernels.service import compute
from awt.runtime import Source
from awt.stage import ARTIFACTS, Stage, stage

DATA = ARTIFACTS / "data"


def dense_sides(work: Stage, dataset: Source, initial: dict[int, Source]) -> dict[str, bytes | Path]:
    """What each method that looks at the dense network compares with: a teacher, its outputs, views of its kernel."""
    params, files = work.params, dict[str, bytes | Path]()
    names = [(method, seed) for method in params.search.methods if has_teacher(params, method) for seed in params.seeds]
    trained = [name for name in names if params.search.recipe(name[0]).teacher_epochs]
    found = work.run(
        [teacher_cell(params, *name, {"dataset": dataset, "initial": initial[name[1]]}) for name in trained]
    )
    teachers = {name: entry.source("model.npz") for name, entry in zip(trained, found, strict=True)}
    names = [name for name in names if has_dense_side(params, name[0])]
    seen = {name: {"dataset": dataset, "teacher": teachers.get(name, initial[name[1]])} for name in names}
    sides = work.run([dense_side_cell(params, *name, seen[name]) for name in names])
    for name, side in zip(names, sides, strict=True):
        seen[name]["dense"] = side.source("dense.npz")
    views = work.run([views_cell(params, *name, seen[name]) for name in names])
    for (method, seed), entry in zip(trained, found, strict=True):
        files[f"{method}/seed-{seed}/teacher.npz"] = entry.path("model.npz")
    for (method, seed), side, view in zip(names, sides, views, strict=True):
        files[f"{method}/seed-{seed}/dense.npz"] = side.path("dense.npz")
        files[f"{method}/seed-{seed}/views.npz"] = view.path("views.npz")
    return files


def main() -> None:
    with stage("kernel") as work:
        params, seeds = work.params, work.params.seeds
        dataset = Source.of(DATA / "dataset.npz")
        data = described(read_json(DATA / "dataset.json"))
        starts = dict(zip(seeds, work.run([initial_cell(params, seed, dataset) for seed in seeds]), strict=True))
        initial = {seed: start.source("initial.npz") for seed, start in starts.items()}
        sides = dense_sides(work, dataset, initial)
        [points] = work.run([points_cell("train", params.kernel.reference, dataset)])
        reference = PointSet("train", params.kernel.reference, points.source("x.npy"))
        subjects = [Subject("dense", 1.0, seed, False, params.model, data, initial[seed]) for seed in seeds]
        grams = compute(work.run, [Request(subject, reference) for subject in subjects], params.kernel.memory_gb)

        gram_files: dict[str, bytes | Path] = {}
        for seed, gram in zip(seeds, grams, strict=True):
            gram_files |= {f"seed-{seed}/{name}": content for name, content in gram.files().items()}
        work.publish(ARTIFACTS / "initial", {f"seed-{s}.npz": start.path("initial.npz") for s, start in starts.items()})
        work.publish(ARTIFACTS / "dense_side", sides)
        work.publish(ARTIFACTS / "gram", gram_files)


if __name__ == "__main__":
    sys.exit(run(main))
