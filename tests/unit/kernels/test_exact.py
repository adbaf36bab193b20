"""The exact kernels equal the product of Jacobians of the masked function, and are what theory says kernels are."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from awt.kernels.exact import tangent_kernel
from awt.models.cnn import cnn
from awt.models.layers import Relu
from awt.models.lenet import lenet
from awt.models.mlp import mlp
from awt.models.network import Network
from awt.models.vgg16 import vgg16


def relative_error(found, expected):
    return np.abs(np.asarray(found) - np.asarray(expected)).max() / np.abs(np.asarray(expected)).max()


def test_times_a_vector_is_how_outputs_move_along_its_weights(
    network, random_weights, random_mask, uniform_points, double
):
    """Θv is the derivative of f at x when the weights move along Jᵀ(other)v: checked by central differences."""
    weights, mask, step = double(random_weights(network)), random_mask(network), 1e-6
    x, other, vector = double(uniform_points(3)), double(uniform_points(2, seed=1)), double(jnp.arange(6.0) - 2)

    def function(weights, points):
        kept = {name: jnp.where(mask[name], layer["kernel"], 0.0) for name, layer in weights.items()}
        return network.apply({name: layer | {"kernel": kept[name]} for name, layer in weights.items()}, points)

    @jax.jit
    def both(weights):
        direction = jax.grad(lambda w: jnp.vdot(function(w, other).ravel(), vector))(weights)
        ahead, behind = (
            function(jax.tree.map(lambda w, d, s=sign: w + s * step * d, weights, direction), x) for sign in (1, -1)
        )
        gram = tangent_kernel(network, weights, x, other, mask)
        return (ahead - behind) / (2 * step), jnp.einsum("nmkl,ml->nk", gram, vector.reshape(2, 3))

    moved, product = both(weights)
    assert relative_error(product, moved) < 1e-7


def test_of_one_set_is_symmetric_and_positive(network, random_weights, random_mask, uniform_points, double):
    x, weights, mask = double(uniform_points(4)), double(random_weights(network)), random_mask(network)
    gram = jax.jit(lambda weights: tangent_kernel(network, weights, x, x, mask))(weights)
    matrix = np.asarray(gram).transpose(0, 2, 1, 3).reshape(12, 12)
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-12, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > -1e-10 * np.linalg.eigvalsh(matrix).max()


def test_a_mask_of_ones_changes_nothing(network, random_weights, uniform_points):
    weights, x = random_weights(network), uniform_points(3)
    ones = {name: jnp.ones(shape, bool) for name, shape in network.kernel_shapes.items()}
    plain, masked = jax.jit(lambda weights: [tangent_kernel(network, weights, x, x, mask) for mask in (None, ones)])(
        weights
    )
    assert relative_error(masked, plain) < 1e-5


def test_is_differentiable_in_the_weights(network, random_weights, random_mask, uniform_points, double):
    """The gradient of a random combination of its entries, against central differences along random directions."""
    weights, mask, step = double(random_weights(network)), random_mask(network), 1e-6
    x, other = double(uniform_points(3)), double(uniform_points(2, seed=1))
    rng = np.random.default_rng(0)
    combination = jnp.asarray(rng.normal(size=(3, 2, 3, 3)))

    @jax.jit
    def value(weights):
        return jnp.vdot(combination, tangent_kernel(network, weights, x, other, mask))

    gradient = jax.jit(jax.grad(value))(weights)
    for _ in range(3):
        direction = jax.tree.map(lambda array: rng.normal(size=array.shape), weights)
        ahead, behind = (
            value(jax.tree.map(lambda w, d, s=sign: w + s * step * d, weights, direction)) for sign in (1, -1)
        )
        slope = sum(jax.tree.leaves(jax.tree.map(lambda g, d: jnp.vdot(g, d), gradient, direction)))
        np.testing.assert_allclose(slope, (ahead - behind) / (2 * step), rtol=1e-6)


EVERY = list(
    itertools.product(["dense", "projected", "unprojected"], ["natural", "mixed"], ["full", "trace", "diagonal"])
)
sizes = st.tuples(st.integers(1, 5), st.integers(2, 4), st.integers(1, 3))  # points, classes, channels
widths = st.integers(1, 12)
densities = st.floats(0.05, 0.95)
combinations = st.lists(st.sampled_from(EVERY), min_size=1, max_size=2)


@settings(max_examples=3)
@given(sizes, st.lists(widths, max_size=3), densities, combinations)
@example((3, 3, 1), [6, 5], 0.5, EVERY)
def test_in_single_precision_an_mlp_has_the_kernels_of_jacobians_in_double(sizes, widths, density, combinations):
    points, classes, channels = sizes
    layers = mlp((3, 2, channels), tuple(widths), classes, "he")
    check_single_precision(layers, (points, 3, 2, channels), density, combinations)


@settings(max_examples=2)
@given(sizes, widths, widths, widths, densities, combinations)
@example((3, 3, 1), 3, 4, 6, 0.5, EVERY)
def test_in_single_precision_a_cnn_has_the_kernels_of_jacobians_in_double(
    sizes, first, second, hidden, density, combinations
):
    points, classes, channels = sizes
    layers = cnn((5, 4, channels), (first, second, hidden), classes, "ntk")
    check_single_precision(layers, (points, 5, 4, channels), density, combinations)


@pytest.mark.parametrize(
    ("layers", "shape"),
    [
        (lenet((9, 8, 2), (3, 4, 6, 5), 3, "he"), (2, 9, 8, 2)),
        (vgg16((32, 32, 1), (2, 3, 2, 3, 4), 3, "he"), (2, 32, 32, 1)),
    ],
    ids=["lenet", "vgg16"],
)
@settings(max_examples=1)
@given(st.integers(0, 999))
def test_deeper_networks_have_the_kernels_of_jacobians(layers, shape, seed):
    check_single_precision(layers, shape, 0.6, EVERY, seed)


def check_single_precision(layers, shape, density, combinations, seed=0):
    """Relative error at most 1e-5 (Frobenius), for the dense network or a sparse one, of one set or two, any shape."""
    network, rng = Network(tuple(layers)), np.random.default_rng(seed)
    weights = jax.tree.map(
        lambda array: np.asarray(rng.normal(size=array.shape) / array.shape[0] ** 0.5, np.float32),
        jax.eval_shape(lambda: network.initialise(0)),
    )
    mask = {name: rng.random(shape) < density for name, shape in network.kernel_shapes.items()}
    masked = {name: layer | {"kernel": layer["kernel"] * mask[name]} for name, layer in weights.items()}
    x, other = rng.random((2, *shape)).astype(np.float32)
    jacobian = {
        sparse: [jacobians(network, masked if sparse else weights, points) for points in (x, other)]
        for sparse in (False, True)
    }
    kept = np.concatenate(
        [mask[name].ravel() if part == "kernel" else np.ones(array.size) for name, part, array in parts(weights)]
    )

    @jax.jit
    def kernels(weights, x, other):
        return [
            tangent_kernel(
                network,
                weights,
                x,
                other if kind == "mixed" else None,
                None if subject == "dense" else mask,
                subject == "projected",
                form,
            )
            for subject, kind, form in combinations
        ]

    for found, (subject, kind, form) in zip(kernels(weights, x, other), combinations, strict=True):
        rows, others = jacobian[subject != "dense"]
        through = kept if subject == "projected" else 1.0
        gram = np.einsum("nkp,mlp->nmkl", rows * through, others if kind == "mixed" else rows)
        expected = {"full": gram, "trace": np.einsum("nmkk->nm", gram), "diagonal": np.einsum("nnkk->nk", gram)}[form]
        assert found.dtype == np.float32
        assert found.shape == expected.shape
        assert np.linalg.norm(np.asarray(found, float) - expected) <= 1e-5 * np.linalg.norm(expected)


def parts(weights):
    return [(name, part, array) for name, layer in sorted(weights.items()) for part, array in sorted(layer.items())]


def jacobians(network, weights, points):
    """[n, k, weights] in double precision. Where single precision could fall on the other side of a kink, a comparison
    would say nothing: such examples are left out."""
    with jax.enable_x64(True):
        double = jax.tree.map(lambda array: np.asarray(array, np.float64), (weights, points))
        found, margin = jacobian_and_margin(network, *double)
    assume(float(margin) > 1e-5)
    return np.concatenate(
        [np.reshape(array, (*array.shape[:2], -1)) for _, _, array in parts(jax.device_get(found))], axis=-1
    )


@partial(jax.jit, static_argnums=0)
def jacobian_and_margin(network, weights, points):
    margin, y = jnp.inf, points
    for layer in network.layers:
        margin = jnp.minimum(margin, jnp.abs(y).min()) if isinstance(layer, Relu) else margin
        y = layer.apply(weights[layer.name], y) if hasattr(layer, "name") else layer(y)
    return jax.jacobian(network.apply)(weights, points), margin
