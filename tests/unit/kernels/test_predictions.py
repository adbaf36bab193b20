"""Predictions are those of direct linear algebra in double precision, for kernels of one class and of all at once."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from awt.errors import InputError
from awt.kernels.exact import tangent_kernel
from awt.kernels.infinite import infinite_kernels
from awt.kernels.predictions import gradient_flow, kernel_regression
from awt.models.mlp import mlp
from awt.models.network import Network

TRAIN, TEST, CLASSES = 8, 5, 3


def random_kernel(classes=None):
    """Gram and cross of random features: [n, n'], or [n, n', k, k] for a number of classes."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(TRAIN + TEST, classes or 1, 40))
    kernel = np.einsum("nkp,mlp->nmkl", features, features) / 40
    kernel = kernel if classes else kernel[:, :, 0, 0]
    return kernel[:TRAIN, :TRAIN], kernel[TRAIN:, :TRAIN]


def matrix(kernel):
    """A kernel as one matrix over points and classes, [n k, n' k]."""
    whole = kernel if kernel.ndim == 4 else np.einsum("nm,kl->nmkl", kernel, np.eye(CLASSES))
    n, m, k, _ = whole.shape
    return whole.transpose(0, 2, 1, 3).reshape(n * k, m * k)


kernels = pytest.mark.parametrize(("gram", "cross"), [random_kernel(), random_kernel(CLASSES)], ids=["traced", "full"])


@pytest.fixture
def targets():
    return np.random.default_rng(1).normal(size=(TRAIN, CLASSES))


@pytest.fixture
def start():
    rng = np.random.default_rng(2)
    return rng.normal(size=(TRAIN, CLASSES)), rng.normal(size=(TEST, CLASSES))


@kernels
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_kernel_regression_solves_the_regularised_system(gram, cross, ridge, targets):
    solution = np.linalg.solve(matrix(gram) + ridge * np.eye(TRAIN * CLASSES), targets.ravel())
    found = kernel_regression(gram, targets, cross, ridge)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, (matrix(cross) @ solution).reshape(TEST, CLASSES), rtol=1e-9, atol=1e-12)


@kernels
@pytest.mark.parametrize("time", [0.01, 1.0, 50.0])
def test_gradient_flow_is_the_exponential_of_the_kernel(gram, cross, time, targets, start):
    """Of ∂f/∂t = −Θ (f − y), integrated from the start on all points at once."""
    theta = np.concatenate([matrix(gram), matrix(cross)])
    decay = np.zeros((len(theta), len(theta)))
    decay[:, : TRAIN * CLASSES] = -theta
    residual = np.concatenate([(start[0] - targets).ravel(), start[1].ravel()])
    expected = expm(time * decay) @ residual
    found = gradient_flow(gram, targets, cross, time, *start)
    np.testing.assert_allclose((found.train - targets).ravel(), expected[: TRAIN * CLASSES], rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(found.test.ravel(), expected[TRAIN * CLASSES :], rtol=1e-8, atol=1e-11)


@kernels
def test_gradient_flow_begins_at_the_start(gram, cross, targets, start):
    for found, given in zip(gradient_flow(gram, targets, cross, 0.0, *start), start, strict=True):
        np.testing.assert_array_equal(found, given)
    assert all((part == 0).all() for part in gradient_flow(gram, targets, cross, 0.0))


@kernels
def test_gradient_flow_ends_at_interpolation(gram, cross, targets, start):
    end = gradient_flow(gram, targets, cross, math.inf, *start)
    np.testing.assert_array_equal(end.train, targets)
    ahead = np.linalg.solve(matrix(gram), (targets - start[0]).ravel())
    np.testing.assert_allclose(end.test, start[1] + (matrix(cross) @ ahead).reshape(TEST, CLASSES), rtol=1e-9)
    late = gradient_flow(gram, targets, cross, 1e6, *start)
    np.testing.assert_allclose(late.test, end.test, rtol=1e-9)
    np.testing.assert_allclose(late.train, end.train, rtol=1e-9)
    np.testing.assert_allclose(
        gradient_flow(gram, targets, cross, math.inf).test, kernel_regression(gram, targets, cross, 0.0), rtol=1e-12
    )


def test_gradient_descent_on_a_wide_network_follows_the_prediction(uniform_points):
    """Small steps on the squared loss, against its own kernel at initialisation; its outputs move by about 0.1."""
    network = Network(tuple(mlp((4, 4, 1), (2048,), CLASSES, "ntk")))
    points, weights = uniform_points(7), network.initialise(0)
    x = points[:4]
    apply = jax.jit(lambda weights: network.apply(weights, points))
    before, kernel = apply(weights), jax.jit(lambda weights: tangent_kernel(network, weights, points, x))(weights)
    y = before[:4] + 0.1 * jnp.asarray(np.random.default_rng(0).normal(1.0, size=(4, CLASSES)), jnp.float32)
    steps, rate = 200, 0.005

    @jax.jit
    def descend(weights):
        def step(weights, _):
            gradient = jax.grad(lambda w: jnp.sum((network.apply(w, x) - y) ** 2) / 2)(weights)
            return jax.tree.map(lambda w, g: w - rate * g, weights, gradient), None

        return jax.lax.scan(step, weights, length=steps)[0]

    found = gradient_flow(kernel[:4], y, kernel[4:], steps * rate, before[:4], before[4:])
    after = apply(descend(weights))
    for part, predicted in [(slice(0, 4), found.train), (slice(4, 7), found.test)]:
        moved = np.abs(predicted - before[part]).max()
        assert moved > 0.05
        assert np.abs(after[part] - predicted).max() < 0.02 * moved


def test_of_infinitely_wide_networks(build_network, uniform_points, targets):
    """With a ridge that is small against the kernel, regression passes near the targets."""
    network, x = build_network("mlp", "ntk"), uniform_points(TRAIN)
    ntk = infinite_kernels(network, x).ntk
    near = kernel_regression(ntk, targets, ntk, ridge=1e-6)
    assert 0 < np.abs(near - targets).max() < 1e-3


def test_shapes_that_do_not_fit_are_refused(targets, start):
    gram, cross = random_kernel()
    whole, whole_cross = random_kernel(CLASSES)
    for arguments, message in [
        ((gram, targets[0], cross), r"^targets: shape \[3\]; it should be \[n, k\]"),
        ((gram[:-1], targets, cross), r"^gram: shape \[7, 8\] .*should be \[8, 8\], or \[8, 8, 3, 3\]"),
        ((gram, targets[:-1], cross), r"^gram: shape \[8, 8\] does not fit targets of shape \[7, 3\]"),
        ((whole[..., :2, :2], targets, whole_cross), r"^gram: shape \[8, 8, 2, 2\]"),
        ((gram, targets, cross.T), r"^cross: shape \[8, 5\] .*should be \[m, 8\]"),
        ((gram, targets, cross[0]), r"^cross: shape \[8\]"),
        ((gram, targets, cross[:0]), r"^cross: shape \[0, 8\]"),
        ((gram, targets, whole_cross), r"^cross: shape \[5, 8, 3, 3\] does not fit gram of shape \[8, 8\]"),
        ((whole, targets, cross), r"^cross: shape \[5, 8\] .*should be \[m, 8, 3, 3\]"),
    ]:
        with pytest.raises(InputError, match=message):
            kernel_regression(*arguments, 0.1)
        with pytest.raises(InputError, match=message):
            gradient_flow(*arguments, 1.0)
    with pytest.raises(InputError, match=r"^initial: shape \[5, 3\]; it should be \[8, 3\]"):
        gradient_flow(gram, targets, cross, 1.0, start[1])
    with pytest.raises(InputError, match=r"^initial_test: shape \[8, 3\]; it should be \[5, 3\]"):
        gradient_flow(gram, targets, cross, 1.0, *start[:1] * 2)


def test_kernels_without_a_prediction_are_refused(targets):
    gram, cross = random_kernel()
    mixed = gram + 0.01 * np.triu(gram)
    with pytest.raises(InputError, match=r"^gram: not symmetric"):
        gradient_flow(mixed, targets, cross, 1.0)
    with pytest.raises(InputError, match=r"^gram: not symmetric .*or not finite"):
        kernel_regression(np.full_like(gram, np.nan), targets, cross, 1.0)
    with pytest.raises(InputError, match=r"^gram: not positive definite"):
        kernel_regression(-gram, targets, cross, 0.1)
    almost_singular = np.ones((2, 2)) + np.diag([0.0, np.finfo(float).eps])  # which Cholesky's algorithm takes
    with pytest.raises(InputError, match=r"^gram: not positive definite"):
        kernel_regression(almost_singular, targets[:2], almost_singular, 0.0)
    with pytest.raises(InputError, match="eigenvalue of exactly 0"):
        gradient_flow(0 * gram, targets, cross, 1.0)


@kernels
def test_repeated_points_need_a_ridge(gram, cross, targets):
    """Rounding errors pass for an inverse otherwise; with one, they get the mean of their targets."""
    repeated = np.arange(TRAIN) % (TRAIN - 1)
    gram, cross = gram[repeated][:, repeated], cross[:, repeated]
    message = r"^gram: not positive definite .*ridge of 0; leave out repeated points"
    with pytest.raises(InputError, match=message):
        gradient_flow(gram, targets, cross, math.inf)
    with pytest.raises(InputError, match=message):
        kernel_regression(gram, targets, cross, 0.0)
    found = kernel_regression(gram, targets, gram, 1e-6)[[0, -1]]
    np.testing.assert_allclose(found, np.tile(targets[[0, -1]].mean(axis=0), (2, 1)), rtol=1e-4)


@pytest.mark.parametrize("value", [-1.0, math.nan])
def test_times_and_ridges_start_at_zero(value, targets):
    gram, cross = random_kernel()
    with pytest.raises(InputError, match=rf"^time: {value} .*0 or more"):
        gradient_flow(gram, targets, cross, value)
    with pytest.raises(InputError, match=rf"^ridge: {value} .*0 or a positive number"):
        kernel_regression(gram, targets, cross, value)
