"""A Gram matrix from its tiles' cells is the network's kernel on those points, and is computed once."""

import json
from dataclasses import replace
from functools import partial

import jax
import numpy as np
import pytest

from awt.artifacts import encode_npy, write
from awt.cells import gram as gram_cells
from awt.errors import InputError
from awt.kernels.exact import tangent_kernel
from awt.kernels.infinite import infinite_kernels
from awt.kernels.tiles import Gram
from awt.models.architecture import Model
from awt.models.network import encode_mask, encode_weights
from awt.options import from_json
from awt.runtime.cell import Source
from awt.runtime.executor import open_executor
from awt.runtime.options import Runtime
from awt.runtime.store import Store
from awt.services.gram import PointSet, Request, Subject, compute, plan_cell, tile_cell
from awt.workflows.running import publish

DATA = {"shape": [4, 4, 1], "classes": 3}


@pytest.fixture
def executor(tmp_path, monkeypatch):
    monkeypatch.setattr("awt.runtime.worker.pin", lambda count: None)  # the test process keeps its cores
    return open_executor("kernel", Runtime(executor="serial", device="cpu"), Store(tmp_path / "store"))


@pytest.fixture
def ask(tmp_path, model, dataset, build_network, random_weights, random_mask, uniform_points):
    """A request of 7 points, or of 7 and 5 others, and the whole kernel that it must give."""

    def source(name, content):
        write(tmp_path / name, content)
        return Source.of(tmp_path / name)

    def make(name="mlp", shape="full", mixed=False, masked=False, projected=True):
        network = build_network(name)
        weights, mask = random_weights(network), random_mask(network) if masked else None
        x, other = uniform_points(7), uniform_points(5, seed=1)
        moments = {"mean": dataset.mean.tolist(), "std": dataset.std.tolist()}
        subject = Subject(
            "awt" if masked else "dense",
            0.5,
            seed=0,
            trained=False,
            model=from_json(Model, model(name)),
            data=DATA | moments,
            weights=source("weights.npz", encode_weights(weights)),
            mask=source("mask.npz", encode_mask(mask)) if masked else None,
        )
        rows = PointSet("train", 7, source("x.npy", encode_npy(x)))
        columns = PointSet("train", 5, source("other.npy", encode_npy(other)), adversarial=True) if mixed else None
        kernel = jax.jit(partial(tangent_kernel, network, projected=projected, shape=shape))
        whole = kernel(weights, x, other if mixed else x, mask)
        return Request(subject, rows, columns, shape, projected), np.asarray(whole)

    return make


def gram_of(request, side, executor, folder):
    index = request.index(side)
    entries = executor.run([tile_cell(request, tile, side) for tile in index.tiles()])
    files = {tile.name: entry.path("tile.npy") for tile, entry in zip(index.tiles(), entries, strict=True)}
    publish(folder, files | {"index.json": json.dumps(index.as_json()).encode()})
    return Gram(folder)


def check(gram, whole):
    np.testing.assert_allclose(gram.dense(), whole, atol=1e-6 * np.abs(whole).max(), rtol=0)


@pytest.mark.parametrize("side", [1, 3, 5, 7, 20])
def test_any_side_gives_the_whole(ask, executor, tmp_path, side):
    request, whole = ask(shape="trace")
    check(gram_of(request, side, executor, tmp_path / "gram"), whole)


FORMS = {
    "full": {},
    "full, mixed, projected": {"mixed": True, "masked": True},
    "full, unprojected": {"masked": True, "projected": False},
    "traced, mixed": {"shape": "trace", "mixed": True},
    "traced, projected": {"shape": "trace", "masked": True},
    "convolutions, mixed, projected": {"name": "cnn", "mixed": True, "masked": True},
}


@pytest.mark.parametrize("form", FORMS)
def test_any_form_gives_the_whole(ask, executor, tmp_path, form):
    request, whole = ask(**FORMS[form])
    gram = gram_of(request, 3, executor, tmp_path / "gram")
    check(gram, whole)
    assert gram.index.symmetric == (request.columns is None)
    assert gram.index.about["columns"] == {"part": "train", "adversarial": request.columns is not None}


def test_one_program_serves_all_tiles(ask, executor, tmp_path):
    request, _ = ask(shape="trace", mixed=True)
    gram_cells._kernel.clear_cache()
    gram_of(request, 3, executor, tmp_path / "gram")
    assert gram_cells._kernel._cache_size() == 1


def test_projection_is_not_asked_of_a_dense_network(ask, executor):
    request, _ = ask()
    tile = next(request.index(3).tiles())
    cells = [tile_cell(one, tile, 3) for one in (request, replace(request, projected=False))]
    assert len({executor.key(cell) for cell in cells}) == 1


def test_the_service_plans_computes_and_reuses(ask, executor, tmp_path, monkeypatch):
    monkeypatch.setattr(gram_cells, "LARGEST_SIDE", 3)
    dense, whole = ask()
    traced, whole_traced = ask(shape="trace", masked=True)
    requests = [dense, traced]
    first = compute(executor.run, requests, memory_gb=1.0)
    assert executor.stats.reused == 0
    for computed, expected in zip(first, (whole, whole_traced), strict=True):
        assert computed.engine == "exact"
        assert computed.index.side == 3
        publish(tmp_path / "gram", computed.files())
        check(Gram(tmp_path / "gram"), expected)
    again = compute(executor.run, requests, memory_gb=1.0)
    assert executor.stats.reused == executor.stats.computed
    assert [computed.files().keys() for found in again] == [found.files().keys() for found in first]


def test_too_little_memory_for_a_single_pair_is_told(ask, executor):
    request, _ = ask()
    with pytest.raises(InputError, match=r"cell plan full 7 x 7: kernel\.tile_memory_gb"):
        compute(executor.run, [request], 1e-9)


def test_a_plan_is_the_same_for_any_weights_and_every_time(ask, executor, quiet):
    request, _ = ask()
    other = replace(request, subject=replace(request.subject, seed=1, weights=request.rows.x))
    one, two = plan_cell(request, 1.0), plan_cell(other, 1.0)
    assert executor.key(one) == executor.key(two)
    assert gram_cells.plan(one.params, {}, quiet) == gram_cells.plan(two.params, {}, quiet)


@pytest.mark.parametrize("shape", ["full", "trace"])
def test_of_the_infinitely_wide_network_neural_tangents_computes_it(
    shape, ask, model, build_network, uniform_points, executor, tmp_path
):
    request, _ = ask(shape=shape)
    wide = replace(request.subject, method="infinite", model=from_json(Model, model("mlp", "ntk")))
    request = replace(request, subject=wide)
    [computed] = compute(executor.run, [request], 3e-7 if shape == "trace" else 1e-6)
    assert computed.engine == "neural-tangents"
    assert 1 < computed.index.side < 7  # the budget is for less than all points
    publish(tmp_path / "gram", computed.files())
    ntk = infinite_kernels(build_network("mlp", "ntk"), uniform_points(7)).ntk
    expected = 3 * ntk if shape == "trace" else ntk[:, :, None, None] * np.eye(3)
    np.testing.assert_allclose(Gram(tmp_path / "gram").dense(), expected, rtol=1e-5)


def test_without_the_right_initialisation_there_is_no_infinite_width(ask, executor):
    request, _ = ask()
    request = replace(request, subject=replace(request.subject, method="infinite"))
    with pytest.raises(InputError, match=r"model\.init"):
        compute(executor.run, [request], 1.0)
