"""Cells and what they came from: by the store's entries, and by tags alone where it has none."""

import pytest

from awt.artifacts import encode_json, write
from awt.lineage.cells import Cells
from awt.lineage.graph import difference
from awt.lineage.pipeline import Step
from awt.lineage.snapshot import Snapshot
from awt.runtime.store import Store

SEEDS = (0, 1)


def about(path, params, **inputs):
    given = {name: {"path": str(entry.path(name)), "sha256": entry.digests[name]} for name, entry in inputs.items()}
    given |= {"dataset": {"path": str(path / "artifacts/data/dataset.npz"), "sha256": "raw"}}
    cell = {"params": params, "inputs": given, "function": "awt.x:y", "kind": "some"}
    return {"cell": cell, "surroundings": {"platform": "cpu", "jax": {}}, "code": {"modules": {"awt.x": "digest"}}}


@pytest.fixture
def experiment(tmp_path):
    """Initial weights and masks of two seeds; the masks happen to be the same."""
    store, made = Store(tmp_path / "store"), {"kernel": [], "mask": []}
    others = {"key": "c" * 64, "label": "points 24", "tags": {}}, {"key": "d" * 64, "label": "x", "tags": {"seed": 7}}
    for seed in SEEDS:
        first = store.put(f"{seed}a" * 32, {"initial": f"weights {seed}".encode()}, about(tmp_path, {"seed": seed}))
        params = {"seed": seed, "density": 0.1}
        second = store.put(f"{seed}b" * 32, {"mask": b"mask"}, about(tmp_path, params, initial=first))
        made["kernel"] += [{"key": first.key, "label": f"initial weights seed{seed}", "tags": {"seed": seed}}, *others]
        tags = {"method": "awt", "density": 0.1, "seed": seed}
        made["mask"].append({"key": second.key, "label": f"mask awt-0.1-seed{seed}", "tags": tags})
    steps = {}
    for stage, cells in made.items():
        path = f"artifacts/records/{stage}.json"
        write(tmp_path / path, encode_json({"stage": stage, "cells": {"cells": cells}}))
        inputs = {} if stage == "kernel" else {"artifacts/initial": "md5"}
        outs = {path: "md5"} | ({"artifacts/initial": "md5"} if stage == "kernel" else {})
        steps[stage] = Step(stage, "x", None, inputs, {}, outs)
    return Snapshot(tmp_path, ".", None, steps), store


@pytest.mark.parametrize("with_store", [True, False])
def test_what_a_cell_came_from(experiment, with_store):
    snapshot, store = experiment
    cells = Cells(snapshot, store if with_store else None)
    [mask] = [one for one in cells.made.values() if one.label == "mask awt-0.1-seed1"]
    assert [one.label for one in cells.behind([mask])] == ["initial weights seed1", "mask awt-0.1-seed1"]


def test_two_seeds_part_at_the_seed_of_the_initial_weights(experiment):
    cells = Cells(*experiment)
    masks = [[one] for one in cells.made.values() if one.label.startswith("mask")]
    found = difference(*(cells.graph(some) for some in masks))
    assert [(change.one.label, change.one.content, change.other.content) for change in found.first] == [
        ("seed of initial weights seed0", 0, 1)
    ]
    assert [change.one.label for change in found.also] == ["seed of mask awt-0.1-seed0"]
    assert [change.one.label for change in found.follows] == ["initial weights seed0", "mask awt-0.1-seed0"]


def test_files_that_several_cells_returned_go_by_their_names(experiment):
    cells = Cells(*experiment)
    digest = next(one for one in cells.made.values() if one.stage == "mask").entry.digests["mask"]
    for seed in SEEDS:
        assert (
            cells.of_file(f"artifacts/masks/awt-0.1-seed{seed}.npz", digest, ["mask"]).label
            == f"mask awt-0.1-seed{seed}"
        )
    assert cells.of_file("artifacts/masks/awt-0.1-seed0.npz", digest, ["kernel"]) is None


def test_impact_follows_digests(experiment):
    cells = Cells(*experiment)
    initial = next(one for one in cells.made.values() if one.label == "initial weights seed0")
    assert [one.label for one in cells.impact(initial.entry.digests.values())] == ["mask awt-0.1-seed0"]
    assert len(cells.impact(["raw"])) == 4
