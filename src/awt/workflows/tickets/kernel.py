"""The stage that computes, once per initialisation, what mask searches share, and a Gram matrix on reference points."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from awt.artifacts import encode_json
from awt.data.dataset import described
from awt.kernels.tiles import INDEX
from awt.runtime.cell import Source
from awt.services.dense import dense_side_cell, initial_cell, views_cell
from awt.services.gram import PointSet, Request, Subject, compute, points_cell
from awt.services.training import training_cell
from awt.training.options import Training
from awt.workflows.tickets.grid import DATASET, DESCRIBED, dense_side, initial
from awt.workflows.tickets.params import Params, Recipe
from awt.workflows.workflow import ARTIFACTS, Inputs, Outs, Run


class Side(NamedTuple):
    """What a recipe's search compares with, from one initialisation."""

    recipe: Recipe
    seed: int

    @property
    def tags(self) -> dict[str, Any]:
        return {"method": self.recipe.name, "seed": self.seed}

    def file(self, name: str) -> str:
        return dense_side(self.recipe.name, self.seed, name)


def kernel(run: Run, params: Params, inputs: Inputs) -> Outs:
    dataset, data = inputs.source(DATASET), described(inputs.json(DESCRIBED))
    starts = run([initial_cell(params.model, seed, dataset) for seed in params.seeds])
    begun = {seed: one.source("initial.npz") for seed, one in zip(params.seeds, starts, strict=True)}
    files = {initial(seed): source for seed, source in begun.items()}
    files |= _dense_sides(run, params, dataset, begun)

    [points] = run([points_cell("train", params.kernel.reference_points, dataset)])
    reference = PointSet("train", params.kernel.reference_points, points.source("x.npy"))
    subjects = [Subject("dense", 1.0, seed, False, params.model, data, begun[seed]) for seed in params.seeds]
    grams = compute(run, [Request(subject, reference) for subject in subjects], params.kernel.tile_memory_gb)
    folders = {f"{ARTIFACTS}/gram/seed-{seed}": gram for seed, gram in zip(params.seeds, grams, strict=True)}
    for folder, gram in folders.items():
        files |= {f"{folder}/{name}": entry.source("tile.npy") for name, entry in gram.entries().items()}

    def indices() -> Mapping[str, bytes | Path]:
        return {f"{folder}/{INDEX}": encode_json(gram.index.as_json()) for folder, gram in folders.items()}

    return Outs(files, indices)


def _dense_sides(run: Run, params: Params, dataset: Source, begun: Mapping[int, Source]) -> dict[str, Source]:
    """What each method that looks at the dense network compares with: a teacher, its outputs, views of its kernel."""
    sides = [Side(recipe, seed) for recipe in params.recipes if recipe.needs.teacher for seed in params.seeds]
    teachers = _teachers(run, params, dataset, begun, sides)
    files = {side.file("teacher"): source for side, source in teachers.items()}

    matched = [side for side in sides if side.recipe.needs.outputs]
    seen = {side: {"dataset": dataset, "teacher": teachers.get(side, begun[side.seed])} for side in matched}
    cells = [
        dense_side_cell(
            params.model,
            side.recipe.threat(params.threat) or params.threat,
            side.recipe.options.attack,
            side.recipe.options.batch,
            side.seed,
            seen[side],
            side.tags,
        )
        for side in matched
    ]
    for side, entry in zip(matched, run(cells), strict=True):
        seen[side]["dense"] = files[side.file("dense")] = entry.source("dense.npz")

    viewed = [side for side in matched if side.recipe.needs.views]
    cells = [
        views_cell(params.model, views, side.recipe.options.batch, side.seed, seen[side], side.tags)
        for side in viewed
        if (views := side.recipe.needs.views)
    ]
    for side, entry in zip(viewed, run(cells), strict=True):
        files[side.file("views")] = entry.source("views.npz")
    return files


def _teachers(
    run: Run, params: Params, dataset: Source, begun: Mapping[int, Source], sides: list[Side]
) -> dict[Side, Source]:
    """The dense networks that were trained a little way: as a ticket is, without a mask."""
    trained = [side for side in sides if side.recipe.needs.teacher and side.recipe.needs.teacher.epochs]
    cells = []
    for side in trained:
        teacher, options = side.recipe.needs.teacher, side.recipe.options
        assert teacher is not None
        training = Training(
            epochs=teacher.epochs, batch=options.batch, learning_rate=teacher.learning_rate, attack=options.attack
        )
        cells.append(
            training_cell(
                "teacher",
                f"teacher of {teacher.epochs} epochs seed{side.seed}",
                side.seed,
                params.model,
                side.recipe.threat(params.threat) or params.threat,
                training,
                {"dataset": dataset, "initial": begun[side.seed]},
                side.tags,
            )
        )
    return {side: entry.source("model.npz") for side, entry in zip(trained, run(cells), strict=True)}
