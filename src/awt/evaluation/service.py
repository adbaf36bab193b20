"""The evaluation of trained networks as cells: suites of attacks over chunks of test points, and signs of weakness."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from awt.artifacts import Arrays, curves, decode_json, decode_npz
from awt.evaluation.cells import Chunk, attack_cell, dynamics_cell, sanity_cell
from awt.evaluation.scores import join
from awt.params import Params
from awt.runtime import Cell, Entry, Source

SANITY = ["method", "density", "seed", "against", "x", "adversarial"]

Run = Callable[[list[Cell]], list[Entry]]
Model = dict[str, Any]
Inputs = dict[str, Source]


def under(
    run: Run, params: Params, suite: str, models: list[Model], inputs: list[Inputs], pieces: list[Chunk]
) -> list[Arrays]:
    """Each model's test points after a suite: the attacks one after the other, all models and chunks at once."""
    jobs = [(model, given, chunk) for model, given in zip(models, inputs, strict=True) for chunk in pieces]
    before: list[Inputs] = [{} for _ in jobs]
    entries: list[Entry] = []
    for number, attack in enumerate(params.evaluate.suite(suite)):
        cells = [
            attack_cell(params, model, number, attack, chunk, given | last)
            for (model, given, chunk), last in zip(jobs, before, strict=True)
        ]
        entries = run(cells)
        before = [{"before": entry.source("points.npz")} for entry in entries]
    found = [decode_npz(entry.read("points.npz"), "points.npz") for entry in entries]
    return [join(found[start : start + len(pieces)]) for start in range(0, len(found), len(pieces))]


def side_by_side(run: Run, params: Params, models: list[Model], artifacts: Path) -> pd.DataFrame:
    """The figures of every ticket and the dense network while both train; nothing where not asked for."""
    if params.evaluate.dynamics == 0:
        return pd.DataFrame(columns=["method", "density", "seed", "epoch"])
    tickets = [model for model in models if model["method"] != "dense" and not model["trains_all"]]
    dataset = Source.of(artifacts / "data" / "dataset.npz")
    cells = [
        dynamics_cell(
            params,
            model,
            {
                "dataset": dataset,
                "initial": Source.of(artifacts / "initial" / f"seed-{model['seed']}.npz"),
                "mask": Source.of(artifacts / "masks" / model["file"]),
            },
        )
        for model in tickets
    ]
    names = [(model["method"], model["density"], model["seed"]) for model in tickets]
    return curves((entry.read("dynamics.csv") for entry in run(cells)), names)


def check(run: Run, params: Params, models: list[Model], inputs: list[Inputs]) -> tuple[list[list[str]], pd.DataFrame]:
    """Each model's flags, and the curves of robust accuracy."""
    if params.evaluate.sanity == 0:
        return [[] for _ in models], pd.DataFrame(columns=SANITY)
    cells = [sanity_cell(params, model, given) for model, given in zip(models, inputs, strict=True)]
    found = [decode_json(entry.read("sanity.json"), "sanity.json") for entry in run(cells)]
    rows = [
        (model["method"], model["density"], model["seed"], against, x, share)
        for model, about in zip(models, found, strict=True)
        for against in ("eps", "steps")
        for x, share in about[against]
    ]
    return [about["flags"] for about in found], pd.DataFrame(rows, columns=SANITY)
