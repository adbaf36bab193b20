"""Diagnostics of kernels in memory: those of the same kernel in a folder, and of plain linear algebra."""

import json

import numpy as np
import pytest

import awt
from awt.errors import InputError
from awt.kernels.tiles import Index

LABELS = np.array([0, 1, 2, 0, 1, 2, 0])


def random_kernel(seed=0, points=7, classes=3):
    """Of the Jacobians of nobody, [n, n, k, k]."""
    rows = np.random.default_rng(seed).normal(size=(points * classes, 40)).astype(np.float32)
    return (rows @ rows.T).reshape(points, classes, points, classes).transpose(0, 2, 1, 3)


def as_matrix(kernel):
    points, _, classes, _ = kernel.shape
    return kernel.transpose(0, 2, 1, 3).reshape(points * classes, -1).astype(np.float64)


@pytest.fixture
def stored(tmp_path):
    """A kernel in a folder, in tiles."""

    def store(kernel, side=3):
        symmetric = np.array_equal(kernel, kernel.transpose(1, 0, 3, 2)) if kernel.ndim == 4 else False
        shape, classes = ("full", kernel.shape[2]) if kernel.ndim == 4 else ("trace", 3)
        index = Index(*kernel.shape[:2], side, symmetric, shape, classes)
        folder = tmp_path / f"gram-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        (folder / "index.json").write_text(json.dumps(index.as_json()))
        for tile in index.tiles():
            np.save(folder / tile.name, kernel[slice(*tile.rows), slice(*tile.columns)].astype("<f4"))
        return awt.Gram(folder)

    return store


def test_figures_of_arrays_are_those_of_folders(stored):
    kernel, initial = random_kernel(0), random_kernel(1)
    kernel, initial = ((one + one.transpose(1, 0, 3, 2)) / 2 for one in (kernel, initial))
    in_memory = awt.kernel_figures(kernel, LABELS, initial)
    on_disk = awt.kernel_figures(stored(kernel), LABELS, stored(initial))
    assert in_memory.keys() == on_disk.keys()
    for name, value in in_memory.items():
        assert value == pytest.approx(on_disk[name], rel=1e-9), name
    assert awt.kernel_distance(kernel, stored(initial)) == pytest.approx(in_memory["distance"])


def test_figures_are_those_of_the_matrix():
    kernel, initial = random_kernel(0), random_kernel(1)
    matrix, first = as_matrix(kernel), as_matrix(initial)
    values = np.linalg.eigvalsh(matrix)[::-1]
    figures = awt.kernel_figures(kernel, LABELS, initial, top=4)
    targets = (np.eye(3)[LABELS] - np.eye(3)[LABELS].mean(axis=0)).ravel()
    cosine = np.vdot(matrix, first) / np.linalg.norm(matrix) / np.linalg.norm(first)
    expected = {
        "trace": np.trace(matrix),
        "norm": np.linalg.norm(matrix),
        "lambda_max": values[0],
        "lambda_min": values[-1],
        "concentration": values[:4].sum() / values.sum(),
        "alignment": targets @ matrix @ targets / np.linalg.norm(matrix) / (targets @ targets),
        "distance": 1 - cosine,
        "angle": np.arccos(cosine),
        "radius": np.linalg.norm(matrix) / np.linalg.norm(first),
    }
    for name, value in expected.items():
        assert figures[name] == pytest.approx(value, rel=1e-4), name
    np.testing.assert_allclose(awt.spectrum(kernel).values, values, rtol=1e-4, atol=1e-4)


def test_traced_kernels_and_other_types():
    """Doubles keep their precision; whole numbers are numbers."""
    kernel = np.einsum("nmkk->nm", random_kernel().astype(np.float64))
    kernel = (kernel + kernel.T) / 2
    assert awt.spectrum(kernel).values[0] == pytest.approx(np.linalg.eigvalsh(kernel)[-1], rel=1e-12)
    targets = np.eye(3)[LABELS] - np.eye(3)[LABELS].mean(axis=0)
    own = targets @ targets.T
    alignment = np.vdot(kernel, own) / np.linalg.norm(kernel) / np.linalg.norm(own)
    assert awt.kernel_figures(kernel, LABELS)["alignment"] == pytest.approx(alignment, rel=1e-9)
    assert awt.spectrum(np.diag([3, 1, 2])).values.tolist() == [3.0, 2.0, 1.0]


def test_mixed_kernels_have_distances_but_no_spectrum():
    kernel = random_kernel()
    kernel[:2] *= 1.5
    mixed = kernel[:5]
    assert awt.kernel_distance(mixed, mixed) == pytest.approx(0.0, abs=1e-12)
    assert awt.kernel_distance(mixed, random_kernel()[:5]) > 0
    for one in (kernel, mixed):
        with pytest.raises(InputError, match="kernel: eigenvalues are of a symmetric Gram matrix"):
            awt.spectrum(one)


def test_figures_of_a_network_s_kernel(mlp, dataset):
    kernel = awt.ntk(mlp, mlp.initialise(0), dataset.train_x[:7])
    figures = awt.kernel_figures(kernel, dataset.train_y[:7], kernel)
    assert figures["distance"] == pytest.approx(0.0, abs=1e-9)
    assert figures["lambda_min"] > -1e-4 * figures["lambda_max"]


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (np.ones(3), r"kernel: float64 \[3\]; it should be numbers, \[n, n'\] or \[n, n', k, k\], or an awt.Gram"),
        (np.ones((3, 3, 2, 1)), r"kernel: float64 \[3, 3, 2, 1\]; it should be numbers"),
        (np.ones((0, 0)), r"kernel: float64 \[0, 0\]"),
        (np.full((2, 2), np.nan), "kernel: not finite; the weights of its network may have diverged"),
        (np.array([["a"]]), "kernel: .*it should be numbers"),
    ],
)
def test_what_is_no_kernel(kernel, message):
    with pytest.raises(InputError, match=f"^{message}"):
        awt.spectrum(kernel)


def test_kernels_and_labels_that_do_not_fit():
    with pytest.raises(InputError, match="kernel and other cannot be compared: rows 7 and 5"):
        awt.kernel_distance(random_kernel(), random_kernel(points=5))
    with pytest.raises(InputError, match=r"kernel: the alignment takes 7 labels, one a point, of 0\.\.2"):
        awt.kernel_figures(random_kernel(), LABELS + 1)
