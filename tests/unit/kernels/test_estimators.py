"""The estimators of the kernel distance: exact ones against Jacobians, the probe without bias, its gradient as well."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.kernels.estimators import (
    Diagonal,
    Full,
    Masked,
    Probe,
    Residual,
    estimator,
    mean_and_error,
    squared_distances,
)

DRAWS = 2000
DIRECTION = jnp.asarray(np.random.default_rng(5).normal(size=(3, 3)), jnp.float32)


@pytest.fixture
def pair(network, random_weights, random_mask, uniform_points):
    """A dense network, a student of it (masked or not) with other weights, and two sets of points."""

    def make(masked, projected=True):
        mask = random_mask(network) if masked else None
        dense = Masked(network, random_weights(network, 0))
        student = Masked(network, random_weights(network, 2), mask, projected)
        return dense, student, uniform_points(3), uniform_points(3, seed=1)

    return make


def distances(chosen, dense, student, x, moved):
    """The estimates as a function of the student's weights, compiled."""

    @jax.jit
    def run(weights, dense_weights):
        key = jax.random.key(3)
        subjects = (
            Masked(student.network, weights, student.mask, student.projected),
            Masked(dense.network, dense_weights),
        )
        return squared_distances(*(chosen.views(subject, x, moved, key, DIRECTION) for subject in subjects))

    return lambda weights: run(weights, dense.weights)


@pytest.mark.parametrize("projected", [True, False])
def test_full_diagonal_and_residual_are_what_they_say(pair, projected, jacobian_gram, sparse_function):
    dense, student, x, moved = pair(True, projected)
    sparse = jax.jit(
        lambda weights: jacobian_gram(*sparse_function(student.network, weights, student.mask, projected), x, moved)
    )(student.weights)
    whole = jax.jit(lambda weights: jacobian_gram(dense.network.apply, weights, x, moved))(dense.weights)
    difference = np.asarray(whole - sparse, np.float64)
    assert difference.shape == (3, 3, 3, 3)
    full = distances(Full(), dense, student, x, moved)(student.weights)
    diagonal = distances(Diagonal(), dense, student, x, moved)(student.weights)
    np.testing.assert_allclose(full, [np.sum(difference**2)], rtol=1e-5)
    np.testing.assert_allclose(diagonal, [np.sum(np.einsum("nnkk->nk", difference) ** 2)], rtol=1e-4)
    residual = distances(Residual(), dense, student, x, moved)(student.weights)
    along = np.einsum("nmkl,ml->nk", difference, DIRECTION)
    np.testing.assert_allclose(residual, [np.sum(along**2)], rtol=1e-4)
    swapped = np.asarray(whole - np.transpose(sparse, (1, 0, 3, 2)), np.float64)
    assert abs(np.sum(swapped**2) / np.sum(difference**2) - 1) > 2e-5  # so that the order of the two sets shows


@pytest.mark.parametrize(("masked", "projected"), [(True, True), (True, False), (False, True)])
def test_the_probe_has_no_bias_in_value_and_gradient(pair, masked, projected):
    """Over 2,000 draws: the distance, and its derivative along five directions, within three standard errors."""
    dense, student, x, moved = pair(masked, projected)
    exact, probe = (distances(chosen, dense, student, x, moved) for chosen in (Full(), Probe(DRAWS)))
    rng = np.random.default_rng(0)
    for _ in range(5):
        direction = jax.tree.map(lambda array: jnp.asarray(rng.normal(size=array.shape), jnp.float32), student.weights)
        (value, slope), (draws, slopes) = (
            jax.jvp(function, (student.weights,), (direction,)) for function in (exact, probe)
        )
        assert draws.shape == slopes.shape == (DRAWS,)
        for found, expected in [(draws, value), (slopes, slope)]:
            mean, error = mean_and_error(found)
            assert 0 < error < 0.2 * np.std(np.asarray(found))
            assert abs(mean - float(expected[0])) < 3 * error


def test_other_keys_are_other_probes(pair):
    dense, _, x, moved = pair(False)
    views = jax.jit(lambda key: Probe(2).views(dense, x, moved, key, DIRECTION))
    assert not np.array_equal(views(jax.random.key(0)), views(jax.random.key(1)))
    np.testing.assert_array_equal(views(jax.random.key(0)), views(jax.random.key(0)))


def test_one_estimate_has_no_known_error():
    assert mean_and_error(np.array([4.0, 6.0])) == (5.0, 1.0)
    value, error = mean_and_error(np.array([4.0]))
    assert value == 4.0
    assert np.isnan(error)


def test_by_name():
    found = [estimator(name, 3) for name in ("full", "diagonal", "probe", "residual")]
    assert found == [Full(), Diagonal(), Probe(3), Residual()]
