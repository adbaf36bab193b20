"""Diagnostics of tiles are those of the dense matrix, by either way to the spectrum."""

import math

import numpy as np
import pytest

from awt.errors import InputError
from awt.kernels.diagnostics import Effort, alignment, distance, figures, largest, polar, spectrum
from awt.kernels.tiles import as_matrix

LANCZOS = {"dense_order": 0}


def eigenvalues(whole):
    return np.linalg.eigvalsh(as_matrix(whole))[::-1]


@pytest.mark.parametrize("classes", [0, 3])
def test_the_whole_spectrum_of_a_small_one(stored, random_gram, classes):
    whole = random_gram(20, classes)
    found = spectrum(stored(whole, 7))
    np.testing.assert_allclose(found.values, eigenvalues(whole), rtol=1e-12, atol=1e-12 * found.values[0])
    assert found.smallest == found.values[-1]


@pytest.mark.parametrize("classes", [0, 3])
def test_lanczos_finds_both_ends_of_a_large_one(stored, random_gram, classes):
    whole = random_gram(40, classes, features=300)
    expected = eigenvalues(whole)
    found = spectrum(stored(whole, 16), top=5, **LANCZOS)
    assert len(found.values) == 5
    np.testing.assert_allclose(found.values, expected[:5], rtol=1e-9)
    np.testing.assert_allclose(found.smallest, expected[-1], atol=1e-6 * expected[0])
    assert largest(stored(whole, 16), **LANCZOS) == pytest.approx(expected[0], rel=1e-9)


def test_lanczos_is_the_same_every_time(stored, random_gram):
    whole = random_gram(30, 2)
    one, two = (spectrum(stored(whole, 8), top=4, **LANCZOS) for _ in range(2))
    np.testing.assert_array_equal(one.values, two.values)
    assert one.smallest == two.smallest


def test_a_smallest_eigenvalue_that_does_not_converge_is_unknown(stored, random_gram, monkeypatch):
    monkeypatch.setattr("awt.kernels.diagnostics._SMALLEST", Effort(1e-8, 5, 1))
    gram = stored(random_gram(80, features=1000), 16)
    assert math.isnan(spectrum(gram, top=3, **LANCZOS).smallest)
    found = figures(gram, top=3, **LANCZOS)
    assert math.isnan(found["lambda_min"])
    assert math.isnan(found["condition"])


@pytest.mark.parametrize("options", [{}, LANCZOS], ids=["dense", "lanczos"])
@pytest.mark.parametrize("others", [30, 17])
def test_the_largest_singular_value_between_two_sets(stored, random_gram, options, others):
    whole = random_gram(30, 2, others)
    found = largest(stored(whole, 8, symmetric=False), **options)
    assert found == pytest.approx(np.linalg.svd(as_matrix(whole), compute_uv=False)[0], rel=1e-9)


@pytest.mark.parametrize("classes", [0, 3])
def test_distance_and_polar_coordinates(stored, random_gram, classes):
    one, other = random_gram(12, classes), random_gram(12, classes, seed=1)
    first, second = as_matrix(one), as_matrix(other)
    cosine = np.vdot(first, second) / (np.linalg.norm(first) * np.linalg.norm(second))
    assert distance(stored(one, 5), stored(other, 7)) == pytest.approx(1 - cosine, rel=1e-10)
    radius, angle = polar(stored(one, 5), stored(other, 7))
    assert radius == pytest.approx(np.linalg.norm(first) / np.linalg.norm(second))
    assert angle == pytest.approx(math.acos(cosine))


def test_a_scaled_kernel_has_moved_outwards_only(stored, random_gram):
    whole = random_gram(12)
    radius, angle = polar(stored(2 * whole, 5), stored(whole, 5))
    assert radius == pytest.approx(2)
    assert angle == pytest.approx(0, abs=1e-6)


def targets(labels, classes=3):
    found = np.eye(classes)[labels]
    return found - found.mean(axis=0)


def test_alignment_is_the_cosine_to_the_targets_own_kernel(stored, random_gram):
    labels = np.random.default_rng(0).integers(0, 3, 20)
    centred = targets(labels)
    for whole, ideal in (
        (random_gram(20), centred @ centred.T),
        (random_gram(20, 3), np.outer(centred.ravel(), centred.ravel())),
    ):
        matrix = as_matrix(whole)
        expected = np.vdot(matrix, ideal) / (np.linalg.norm(matrix) * np.linalg.norm(ideal))
        assert alignment(stored(whole, 7), labels) == pytest.approx(expected, rel=1e-10)


def test_the_targets_own_kernel_is_aligned_with_them(stored):
    labels = np.arange(12) % 3
    centred = targets(labels).astype(np.float32)
    assert alignment(stored(centred @ centred.T, 5), labels) == pytest.approx(1, rel=1e-6)
    assert alignment(stored(np.einsum("nk,ml->nmkl", centred, centred), 5), labels) == pytest.approx(1, rel=1e-6)


def test_all_figures(stored, random_gram):
    whole, start = random_gram(14, 3, features=100), random_gram(14, 3, seed=1)
    values, labels = eigenvalues(whole), np.arange(14) % 3
    gram, initial = stored(whole, 4), stored(start, 4)
    found = figures(gram, labels, initial, top=6)
    assert found == pytest.approx(
        {
            "trace": values.sum(),
            "norm": math.sqrt((values**2).sum()),
            "lambda_max": values[0],
            "lambda_min": values[-1],
            "condition": values[0] / values[-1],
            "concentration": values[:6].sum() / values.sum(),
            "alignment": alignment(gram, labels),
            "distance": distance(gram, initial),
            "radius": polar(gram, initial)[0],
            "angle": polar(gram, initial)[1],
        },
        rel=1e-6,
    )
    by_lanczos = figures(gram, labels, initial, top=6, **LANCZOS)
    assert by_lanczos == pytest.approx(found, rel=1e-4)
    assert set(figures(gram)) == set(found) - {"alignment", "distance", "radius", "angle"}


def test_a_singular_kernel_has_no_finite_condition_number(stored):
    assert figures(stored(np.diag([1.0, 0.0, 2.0]), 2))["condition"] == math.inf


def test_what_has_no_spectrum_or_labels(stored, random_gram):
    mixed, gram = stored(random_gram(5, 0, 5), 2, symmetric=False), stored(random_gram(5), 2)
    with pytest.raises(InputError, match="symmetric"):
        spectrum(mixed)
    with pytest.raises(InputError, match="symmetric"):
        alignment(mixed, np.zeros(5, int))
    for labels in (np.zeros(4, int), np.full(5, 3), np.full(5, -1)):
        with pytest.raises(InputError, match=r"takes 5 labels, one a point, of 0\.\.2"):
            alignment(gram, labels)
