"""A Gram matrix from its tiles is the Gram matrix, whatever the size of the tiles."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.artifacts import decode_npy
from awt.kernels.exact import tangent_kernel
from awt.kernels.gram import tile
from awt.kernels.tiles import assemble, index, spectrum, symmetric_tiles
from awt.models.network import encode_weights


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 25), st.integers(1, 30))
def test_assembled_tiles_are_the_whole_matrix(points, side):
    half = np.random.default_rng(points).normal(size=(points, points))
    whole = half + half.T
    tiles = list(symmetric_tiles(points, side))
    assert all(stop - start <= side for one in tiles for start, stop in (one.rows, one.columns))
    blocks = {one: whole[slice(*one.rows), slice(*one.columns)] for one in tiles}
    np.testing.assert_array_equal(assemble(points, blocks), whole)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 25), st.integers(1, 30))
def test_upper_tiles_cover_every_pair_once_and_the_index_names_each(points, side):
    seen = np.zeros((points, points), int)
    tiles = list(symmetric_tiles(points, side))
    for one in tiles:
        seen[slice(*one.rows), slice(*one.columns)] += 1
    assert (np.triu(seen) == np.triu(np.ones_like(seen))).all()
    found = index(points, side)
    names = [entry["file"] for entry in found["tiles"]]
    assert names == [one.name for one in tiles]
    assert len(set(names)) == len(names)
    assert found["points"] == points


def test_cells_of_ragged_tiles_give_the_network_s_kernel(
    model, build_network, random_weights, dataset, dataset_npz, quiet
):
    network = build_network("mlp")
    weights = random_weights(network)
    inputs = {"dataset": dataset_npz, "weights": encode_weights(weights)}
    blocks = {}
    for one in symmetric_tiles(7, 3):
        params = {"model": model("mlp"), "rows": list(one.rows), "columns": list(one.columns)}
        blocks[one] = decode_npy(tile(params, inputs, quiet)["tile.npy"], one.name)
    gram = assemble(7, blocks)
    points = dataset.train_x[:7]
    whole = tangent_kernel(network, weights, points, points, shape="trace")
    np.testing.assert_allclose(gram, whole, rtol=1e-5)
    np.testing.assert_array_equal(gram, gram.T)
    values = spectrum(gram)
    assert (np.diff(values) <= 0).all()
    assert values[-1] > -1e-5 * values[0]
    np.testing.assert_allclose(values.sum(), np.trace(gram), rtol=1e-6)
