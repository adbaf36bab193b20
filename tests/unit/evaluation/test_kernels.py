"""The comparison of an experiment's kernels: every network twice, each against the dense one and its own start."""

import math

import numpy as np
import pytest

from awt.artifacts import encode_json, encode_npy
from awt.evaluation.kernels import KernelName, heatmaps, spectra, table
from awt.kernels.tiles import INDEX, Gram, Index

POINTS = 6
LABELS = np.array([2, 0, 1, 0, 2, 1])


@pytest.fixture
def grams(tmp_path):
    """Random symmetric positive matrices of two networks, at initialisation and after training, as folders of tiles."""
    rng = np.random.default_rng(0)
    found = {}
    for method in ("dense", "awt"):
        for when in ("initial", "trained"):
            name = KernelName(method, 1.0 if method == "dense" else 0.1, 0, when)
            root = rng.normal(size=(POINTS, POINTS))
            matrix = (root @ root.T).astype(np.float32)
            index = Index(POINTS, POINTS, 4, True, "trace", 3)
            folder = tmp_path / name.folder
            folder.mkdir()
            (folder / INDEX).write_bytes(encode_json(index.as_json()))
            for tile in index.tiles():
                (folder / tile.name).write_bytes(encode_npy(matrix[slice(*tile.rows), slice(*tile.columns)]))
            found[name] = Gram(folder)
    return found


def cosine(a, b):
    return np.vdot(a, b) / (np.linalg.norm(a) * np.linalg.norm(b))


def test_the_table_compares_with_the_dense_network_and_with_the_start(grams):
    found = table(grams, LABELS).set_index(["method", "when"])
    dense = {name: gram.dense() for name, gram in grams.items()}
    one = {(name.method, name.when): matrix for name, matrix in dense.items()}
    for (method, when), row in found.iterrows():
        matrix, start = one[method, when], one[method, "initial"]
        assert row.distance_to_dense == pytest.approx(1 - cosine(matrix, one["dense", when]), abs=1e-9)
        assert row.distance == pytest.approx(1 - cosine(matrix, start), abs=1e-9)
        assert row.radius == pytest.approx(np.linalg.norm(matrix) / np.linalg.norm(start))
        assert row.angle == pytest.approx(math.acos(min(1.0, cosine(matrix, start))), abs=1e-6)
        values = np.linalg.eigvalsh(matrix)
        assert row.lambda_min == pytest.approx(values[0], rel=1e-6)
        assert row.condition == pytest.approx(values[-1] / values[0], rel=1e-6)
        assert row.trace == pytest.approx(values.sum())
    assert found.distance_to_dense["awt", "trained"] > 0.05  # so that the comparison shows


def test_without_the_dense_network_there_is_no_distance_to_it(grams):
    sparse = {name: gram for name, gram in grams.items() if name.method == "awt"}
    assert table(sparse, LABELS).distance_to_dense.isna().all()


def test_spectra_are_the_eigenvalues_from_the_largest(grams):
    found = spectra(grams)
    assert len(found) == 4 * POINTS
    for name, gram in grams.items():
        rows = found[(found.method == name.method) & (found.when == name.when)]
        assert rows["index"].tolist() == list(range(1, POINTS + 1))
        np.testing.assert_allclose(rows.eigenvalue, np.linalg.eigvalsh(gram.dense())[::-1])


def test_heatmaps_are_in_the_order_of_labels_and_small(grams, monkeypatch):
    order = np.argsort(LABELS, kind="stable")
    found = heatmaps(grams, LABELS)
    np.testing.assert_array_equal(found["labels"], [0, 0, 1, 1, 2, 2])
    for name, gram in grams.items():
        np.testing.assert_allclose(found[name.folder], gram.dense()[np.ix_(order, order)], rtol=1e-6)
    monkeypatch.setattr("awt.evaluation.kernels.HEATMAP_SIDE", 3)
    small = heatmaps(grams, LABELS)
    np.testing.assert_array_equal(small["labels"], [0, 1, 2])
    name, gram = next(iter(grams.items()))
    means = gram.dense()[np.ix_(order, order)].reshape(3, 2, 3, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(small[name.folder], means, rtol=1e-5)
