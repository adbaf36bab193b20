"""Tiles cover every pair of points once, and a Gram matrix read from them is the Gram matrix, whatever their side."""

import json
import shutil

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from awt.errors import InputError
from awt.kernels import tiles
from awt.kernels.tiles import Gram, Index, as_matrix, transposed

counts = st.integers(1, 25)
stored_examples = settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@settings(deadline=None, max_examples=60)
@given(counts, counts, st.integers(1, 30), st.booleans())
def test_tiles_cover_every_pair_once(rows, columns, side, symmetric):
    index = Index(rows, rows if symmetric else columns, side, symmetric, "trace", 3)
    seen = np.zeros((rows, index.columns), int)
    for tile in index.tiles():
        assert all(0 < stop - start <= side for start, stop in (tile.rows, tile.columns))
        seen[slice(*tile.rows), slice(*tile.columns)] += 1
        if symmetric and tile.rows != tile.columns:
            seen[slice(*tile.columns), slice(*tile.rows)] += 1
    assert (seen == 1).all()


@settings(deadline=None, max_examples=30)
@given(counts, counts, st.integers(1, 30), st.sampled_from(["full", "trace"]))
def test_an_index_names_each_tile_and_survives_the_way_through_json(rows, columns, side, shape):
    index = Index(rows, columns, side, False, shape, 3, {"method": "awt"})
    value = json.loads(json.dumps(index.as_json()))
    names = [entry["file"] for entry in value["tiles"]]
    assert names == [tile.name for tile in index.tiles()]
    assert len(set(names)) == len(names)
    assert Index.of(value, "index.json") == index


@stored_examples
@given(counts, st.integers(1, 30), st.sampled_from([0, 3]), st.data())
def test_any_block_of_a_symmetric_one(stored, random_gram, points, side, classes, data):
    whole = random_gram(points, classes)
    gram = stored(whole, side)
    np.testing.assert_array_equal(gram.dense(), whole)
    bounds = st.tuples(st.integers(0, points), st.integers(0, points)).map(sorted).map(tuple)
    rows, columns = data.draw(bounds), data.draw(bounds)
    np.testing.assert_array_equal(gram.block(rows, columns), whole[slice(*rows), slice(*columns)])
    np.testing.assert_array_equal(gram.rows(*rows), whole[slice(*rows)])
    last = -(-points // side) - 1
    np.testing.assert_array_equal(gram.tile(last, 0), transposed(gram.tile(0, last)))


@stored_examples
@given(counts, counts, st.integers(1, 30), st.sampled_from([0, 3]))
def test_one_between_two_sets(stored, random_gram, points, others, side, classes):
    whole = random_gram(points, classes, others)
    gram = stored(whole, side, symmetric=False)
    np.testing.assert_array_equal(gram.dense(), whole)
    np.testing.assert_array_equal(gram.tile(0, 0), whole[:side, :side])


@pytest.mark.parametrize("classes", [0, 3])
@pytest.mark.parametrize("slice_values", [1, 2**20])
@pytest.mark.parametrize("side", [5, 20])
@pytest.mark.parametrize("symmetric", [True, False])
def test_acts_as_the_matrix(stored, random_gram, monkeypatch, symmetric, side, slice_values, classes):
    """Products from both sides, trace, norm and inner product, however little of a tile is in memory at a time."""
    monkeypatch.setattr(tiles, "_SLICE", slice_values)
    others = None if symmetric else 13
    whole = random_gram(13, classes, others)
    gram, matrix = stored(whole, side, symmetric), as_matrix(whole)
    rng = np.random.default_rng(0)
    vector = rng.normal(size=gram.index.vector_shape(13))
    np.testing.assert_allclose(gram @ vector, (matrix @ vector.ravel()).reshape(vector.shape), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(vector @ gram, (vector.ravel() @ matrix).reshape(vector.shape), rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(gram.trace(), np.trace(matrix), rtol=1e-12)
    np.testing.assert_allclose(gram.norm(), np.linalg.norm(matrix), rtol=1e-12)
    other = random_gram(13, classes, others, seed=1)
    np.testing.assert_allclose(gram.inner(stored(other, 5, symmetric)), np.vdot(matrix, as_matrix(other)), rtol=1e-12)


def test_products_of_rectangles(stored, random_gram):
    whole = random_gram(11, 3, 6)
    gram, matrix = stored(whole, 4, symmetric=False), as_matrix(whole)
    right, left = np.random.default_rng(0).normal(size=(6, 3)), np.random.default_rng(1).normal(size=(11, 3))
    np.testing.assert_allclose(gram @ right, (matrix @ right.ravel()).reshape(11, 3), rtol=1e-12)
    np.testing.assert_allclose(left @ gram, (left.ravel() @ matrix).reshape(6, 3), rtol=1e-12)
    np.testing.assert_allclose(gram.norm(), np.linalg.norm(matrix), rtol=1e-12)
    with pytest.raises(InputError, match="no trace, since 11 × 6 is not square"):
        gram.trace()


def test_a_symmetric_one_and_one_between_two_sets_have_an_inner_product(stored, random_gram):
    one, other = random_gram(9, 2), random_gram(9, 2, 9)
    symmetric, mixed = stored(one, 4), stored(other, 3, symmetric=False)
    for product in (symmetric.inner(mixed), mixed.inner(symmetric)):
        np.testing.assert_allclose(product, np.vdot(one.astype(float), other.astype(float)), rtol=1e-10)


def test_sums_are_in_double_precision(stored):
    whole = np.full((300, 300), 1e-3, np.float32)
    whole[:, 0] = whole[0] = 1e5
    gram = stored(whole, 128)
    np.testing.assert_allclose(gram @ np.ones(300), whole.astype(float).sum(axis=1), rtol=1e-14)


def test_what_does_not_fit_is_refused(stored, random_gram):
    gram = stored(random_gram(5, 3), 2)
    with pytest.raises(InputError, match=r"takes vectors of shape \[5, 3\], not \[15\]"):
        gram @ np.ones(15)
    with pytest.raises(InputError, match=r"rows 2\.\.6 of a Gram matrix with 5"):
        gram.rows(2, 6)
    with pytest.raises(InputError, match="cannot be compared: shape full and trace"):
        gram.inner(stored(random_gram(5), 2))


DAMAGE = {
    "missing": (lambda path: path.unlink(), "is missing: compute the Gram matrix again"),
    "truncated": (lambda path: path.write_bytes(path.read_bytes()[:-1]), "not a readable .npy"),
    "empty": (lambda path: path.write_bytes(b""), "not a readable .npy"),
    "not an array": (lambda path: path.write_text("tile"), "not a readable .npy"),
    "pickled": (lambda path: np.save(path, np.array([{}], object), allow_pickle=True), "not a readable .npy"),
    "an archive": (lambda path: _save_npz(path), "not a readable .npy"),
    "of another shape": (lambda path: np.save(path, np.zeros((4, 3), np.float32)), r"not the tile of float32 \[4, 4"),
    "of another type": (lambda path: np.save(path, np.zeros((4, 4, 2, 2))), "not the tile of float32"),
}


def _save_npz(path):
    with path.open("wb") as file:
        np.savez(file, a=np.zeros((4, 4, 2, 2), np.float32))


@pytest.mark.parametrize("damage", DAMAGE)
def test_damaged_tiles_are_named(stored, random_gram, damage):
    folder = stored(random_gram(9, 2), 4).folder
    act, message = DAMAGE[damage]
    act(folder / "tile-000000-000004.npy")
    with pytest.raises(InputError, match=message) as error:
        Gram(folder)
    assert "tile-000000-000004.npy" in str(error.value)


INDICES = {
    "an older format": {"format_version": 1},
    "no format": {"format_version": None},
    "no rows": {"rows": 0},
    "half a row": {"rows": 9.5},
    "more rows than columns": {"rows": 10},
    "another side": {"side": 3},
    "an unknown shape": {"shape": "half"},
    "symmetric, perhaps": {"symmetric": 1},
    "no tiles": {"tiles": []},
    "another type": {"dtype": "float64"},
    "strange words about it": {"about": 3},
}


@pytest.mark.parametrize("damage", INDICES)
def test_damaged_indices_are_named(stored, random_gram, damage):
    folder = stored(random_gram(9, 2), 4).folder
    path = folder / "index.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | INDICES[damage]))
    with pytest.raises(InputError, match=r"index\.json: (not the index of a Gram matrix|format version)"):
        Gram(folder)


@pytest.mark.parametrize("text", ["", "[]", "{}", "3"])
def test_indices_that_are_none(stored, random_gram, text):
    folder = stored(random_gram(9, 2), 4).folder
    (folder / "index.json").write_text(text)
    with pytest.raises(InputError, match=r"index\.json"):
        Gram(folder)


def test_folders_that_are_none(stored, random_gram, tmp_path):
    folder = stored(random_gram(3), 4).folder
    with pytest.raises(InputError, match="is not a folder with a Gram matrix"):
        Gram(folder / "index.json")
    (folder / "index.json").unlink()
    with pytest.raises(InputError, match=r"index\.json is missing"):
        Gram(folder)
    shutil.rmtree(folder)
    with pytest.raises(InputError, match="is not a folder with a Gram matrix"):
        Gram(folder)
