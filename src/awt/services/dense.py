"""The dense network's side of searches as cells, for drivers: initial weights, a teacher, what is matched of it."""

from collections.abc import Mapping
from typing import Any

from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.models.architecture import Model
from awt.models.registry import resolved
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.tickets.method import Views


def initial_cell(model: Model, seed: int, dataset: Source) -> Cell:
    """Initial weights."""
    return Cell(
        kind="dense",
        label=f"initial weights seed{seed}",
        function="awt.cells.dense:initial_weights",
        params={"seed": seed, "model": as_json(resolved(model))},
        inputs={"dataset": dataset},
        tags={"seed": seed},
    )


def dense_side_cell(
    model: Model,
    threat: Threat,
    attack: Attack,
    batch: int,
    seed: int,
    inputs: Mapping[str, Source],
    tags: Mapping[str, Any],
) -> Cell:
    """Adversarial examples of the dense network, and its outputs on them."""
    params = {
        "seed": seed,
        "model": as_json(resolved(model)),
        "threat": as_json(threat),
        "batch": batch,
        "attack": as_json(attack),
    }
    return Cell("dense", f"dense side {_of(tags)}", "awt.cells.dense:dense_side", params, inputs, tags)


def views_cell(
    model: Model, views: Views, batch: int, seed: int, inputs: Mapping[str, Source], tags: Mapping[str, Any]
) -> Cell:
    """The views of the dense kernel that a search compares with."""
    params = {
        "seed": seed,
        "model": as_json(resolved(model)),
        "batch": batch,
        "matched": views.matched,
        "estimator": views.estimator,
        "probes": views.probes,
        "epochs": views.epochs,
    }
    return Cell("views", f"kernel views {_of(tags)}", "awt.cells.dense:views", params, inputs, tags)


def _of(tags: Mapping[str, Any]) -> str:
    return f"{tags['method']} seed{tags['seed']}"
