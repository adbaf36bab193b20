"""The cells of the dense network's side of the search, for drivers: described here, computed by dense_side.py."""

from typing import Any

from awt.params import Params, Search
from awt.runtime import Cell, Source


def has_teacher(params: Params, method: str) -> bool:
    """Whether a method looks at the dense network of the kernel stage."""
    return params.search.base(method) in ("awt", "concrete") or _one_shot(params, method)


def has_dense_side(params: Params, method: str) -> bool:
    """Whether it looks at that network's outputs and kernel, too."""
    return has_teacher(params, method) and not _one_shot(params, method)


def _one_shot(params: Params, method: str) -> bool:
    return params.search.base(method) == "magnitude" and params.search.recipe(method).weights == "teacher"


def initial_cell(params: Params, seed: int, dataset: Source) -> Cell:
    """Initial weights."""
    return Cell(
        kind="dense",
        label=f"initial weights seed {seed}",
        function="awt.kernels.dense_side:initial_weights",
        params={"seed": seed, "model": params.model.as_json()},
        inputs={"dataset": dataset},
    )


def teacher_cell(params: Params, method: str, seed: int, inputs: dict[str, Source]) -> Cell:
    """The dense network, trained a little way: as a ticket is retrained, without a mask."""
    search = params.search.recipe(method)
    retrain = {
        "epochs": search.teacher_epochs,
        "batch": search.batch,
        "learning_rate": search.teacher_rate,
        "attack": search.attack.as_json(),
    }
    return Cell(
        kind="teacher",
        label=f"teacher of {search.teacher_epochs} epochs seed {seed}",
        function="awt.training.retrain:retrain",
        params={
            "seed": seed,
            "model": params.model.as_json(),
            "threat": _threat(params, search),
            "retrain": retrain,
        },
        inputs=inputs,
    )


def dense_side_cell(params: Params, method: str, seed: int, inputs: dict[str, Source]) -> Cell:
    """Adversarial examples of the dense network, and its outputs on them."""
    search = params.search.recipe(method)
    return Cell(
        kind="dense",
        label=f"dense side {method} seed {seed}",
        function="awt.kernels.dense_side:dense_side",
        params={
            "seed": seed,
            "model": params.model.as_json(),
            "threat": _threat(params, search),
            "batch": search.batch,
            "attack": search.attack.as_json(),
        },
        inputs=inputs,
    )


def views_cell(params: Params, method: str, seed: int, inputs: dict[str, Source]) -> Cell:
    """The views of the dense kernel that the search compares with."""
    search = params.search.recipe(method)
    return Cell(
        kind="views",
        label=f"kernel views {method} seed {seed}",
        function="awt.kernels.dense_side:kernel_views",
        params={
            "seed": seed,
            "model": params.model.as_json(),
            "batch": search.batch,
            "matched": search.gamma > 0,
            "estimator": search.estimator,
            "probes": search.probes,
            "epochs": search.epochs,
        },
        inputs=inputs,
    )


def _threat(params: Params, search: Search) -> dict[str, Any]:
    """What a search is attacked with: nothing, where it matches on natural points."""
    return params.threat.as_json() | ({} if search.adversarial else {"eps": 0.0})
