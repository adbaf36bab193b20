"""Parameters and facts to plan with, and no measurement."""

from pathlib import Path

import pytest
from ruamel.yaml import YAML

from awt.data.dataset import Description
from awt.models.zoo import build
from awt.params import Model, parse
from awt.planning.facts import Facts
from awt.planning.outline import Outline
from awt.planning.size import size

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def params():
    """The default experiment's, with some values changed: `params({"retrain.epochs": 3})`."""

    def make(changes=None):
        raw = YAML(typ="safe", pure=True).load(PROJECT / "params.yaml")
        raw["root"] = str(PROJECT)
        for dotted, value in (changes or {}).items():
            *parents, last = dotted.split(".")
            section = raw
            for name in parents:
                section = section[name]
            section[last] = value
        return parse(raw, "params.yaml")

    return make


@pytest.fixture
def network():
    """A network by its name and widths, for images of a shape and ten classes."""

    def make(name, widths, shape):
        data = Outline(shape, 10, {}).described()
        return build(Model(name=name, widths=widths, init="he"), Description.of(data))

    return make


@pytest.fixture
def facts(network):
    """Of 100 images of 2 × 3 in training, 10 in validation, 20 in the test, for an MLP of 6-4-10."""
    data = Outline((2, 3, 1), 10, {"train": 100, "validation": 10, "test": 20})
    return Facts(data, size(network("mlp", (4,), data.shape), data.shape), tile_bytes=1e6)
