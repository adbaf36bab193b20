"""Experiments and facts to plan with, and no measurement."""

from pathlib import Path

import pytest

from awt.artifacts import encode_json
from awt.params.checking import checked
from awt.params.reading import read
from awt.planning.dry import Lookout
from awt.planning.facts import Facts
from awt.runtime.executor import open_executor
from awt.runtime.store import Store
from awt.workflows.experiment import Experiment
from awt.workflows.workflow import workflow

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """The default one in an empty folder, the current one, with some values changed:
    `experiment({"retrain.epochs": 3})`."""
    folder = tmp_path / "experiment"
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    monkeypatch.delenv("RAY_ADDRESS", raising=False)

    def make(changes=None):
        raw = read(PROJECT)
        for dotted, value in (changes or {}).items():
            *parents, last = dotted.split(".")
            section = raw
            for name in parents:
                section = section[name]
            section[last] = value
        found = workflow("tickets")
        return Experiment(folder, found, checked(found.params, raw, "params.yaml"))

    return make


@pytest.fixture
def lookout(tmp_path):
    """How a dry run of an experiment looks cells up, in a store that has none at first; tiles have a side of 64."""

    def make(asked):
        store, scratch = (Store(tmp_path / name) for name in ("store", "scratch"))
        executor = open_executor("plan", asked.runtime, scratch)
        chosen = encode_json({"side": 64, "bytes": 1e6, "engine": "exact"})

        def compute(cells):
            return [scratch.put(executor.key(cell), {"plan.json": chosen}, {}) for cell in cells]

        return Lookout(executor.key, store, compute), executor

    return make


@pytest.fixture
def described():
    """100 images of 2 × 3 in training, 10 in validation, 20 in the test."""
    counts = {"train": 100, "validation": 10, "test": 20}
    return {"shape": [2, 3, 1], "classes": 10, "mean": [0.2], "std": [0.3], "counts": counts, "itemsize": 1}


@pytest.fixture
def facts(described):
    """Of these images, for an MLP of 6-4-10."""
    return Facts.of({"model": {"name": "awt.models.mlp:MLP", "widths": [4], "init": "he"}}, described, 1e6)
