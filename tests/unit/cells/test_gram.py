"""Plans keep tiles to their memory budget; tiles refuse what has no kernel."""

import json
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from awt.artifacts import encode_npy
from awt.cells import gram as gram_cells
from awt.errors import InputError, WorkError
from awt.models.architecture import Model
from awt.models.network import encode_weights
from awt.options import from_json
from awt.runtime.cell import Source
from awt.services.gram import PointSet, Request, Subject, plan_cell, tile_cell

NOWHERE = Source(Path("nowhere"), "00")


@pytest.fixture
def request_of(model, dataset):
    """Of 7 points of a dense network, whose files are not read."""
    moments = {"mean": dataset.mean.tolist(), "std": dataset.std.tolist()}
    data = {"shape": [4, 4, 1], "classes": 3} | moments
    subject = Subject("dense", 1.0, 0, False, from_json(Model, model("mlp")), data, NOWHERE)
    return lambda shape: Request(subject, PointSet("train", 7, NOWHERE), shape=shape)


@pytest.fixture
def inputs(build_network, random_weights, uniform_points):
    weights = random_weights(build_network("mlp"))
    return {"rows": encode_npy(uniform_points(7)), "weights": encode_weights(weights)}


def planned(cell, quiet):
    return json.loads(gram_cells.plan(cell.params, {}, quiet)["plan.json"])


def test_a_plan_keeps_to_its_budget(request_of, quiet):
    request = request_of("full")
    request = replace(request, rows=replace(request.rows, count=100))
    roomy = planned(plan_cell(request, 1.0), quiet)
    assert roomy["side"] == 100
    assert roomy["bytes"] > 3 * 100 * 100 * 3 * 3 * 4  # the tile, its file, and that on its way
    sides = [roomy["side"]]
    for share in (0.99, 0.5, 0.1, 0.01):
        budget = share * roomy["bytes"]
        plan = planned(plan_cell(request, budget / 2**30), quiet)
        assert plan["bytes"] <= budget
        assert plan["side"] % 8 == 0 or plan["side"] < 8
        sides.append(plan["side"])
    assert sides == sorted(sides, reverse=True)
    assert sides[0] > sides[1] > sides[-1]


def test_a_plan_spreads_the_points_evenly(request_of, quiet, monkeypatch):
    request = request_of("trace")
    for points, largest, side in ((520, 512, 264), (40, 512, 40), (20, 12, 12), (9, 4, 3)):
        monkeypatch.setattr(gram_cells, "LARGEST_SIDE", largest)
        many = replace(request, rows=replace(request.rows, count=points))
        assert planned(plan_cell(many, 1.0), quiet)["side"] == side
        assert -(-points // side) == -(-points // largest)


def test_a_plan_asks_for_enough_memory_for_a_single_pair(request_of, quiet):
    request = request_of("full")
    least = planned(plan_cell(request, 1.0), quiet)["bytes"] / 100
    with pytest.raises(InputError, match=r"kernel\.tile_memory_gb: .* is too little"):
        gram_cells.plan(plan_cell(request, least / 2**30).params, {}, quiet)


def tile_of(request):
    return dict(tile_cell(request, next(request.index(3).tiles()), 3).params)


def test_weights_of_another_network_are_refused(request_of, inputs, model):
    params = tile_of(request_of("full")) | {"model": model("mlp") | {"widths": [7]}}
    with pytest.raises(InputError, match="of another network than params"):
        gram_cells.tile(params, inputs, None)


def test_a_diverged_network_has_no_kernel(request_of, inputs, build_network, random_weights):
    weights = jax.tree.map(lambda array: array * np.nan, random_weights(build_network("mlp")))
    with pytest.raises(WorkError, match="training diverged"):
        gram_cells.tile(tile_of(request_of("trace")), inputs | {"weights": encode_weights(weights)}, None)
