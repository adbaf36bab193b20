"""The exact kernels equal the product of Jacobians of the masked function, and are what theory says kernels are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.kernels.exact import tangent_kernel

NETWORKS = [("mlp", "glorot"), ("mlp", "ntk"), ("cnn", "ntk")]
networks = pytest.mark.parametrize(("name", "init"), NETWORKS, ids=["-".join(pair) for pair in NETWORKS])


def relative_error(found, expected):
    return np.abs(np.asarray(found) - np.asarray(expected)).max() / np.abs(np.asarray(expected)).max()


@networks
def test_equals_the_product_of_jacobians(
    name, init, build_network, random_weights, random_mask, uniform_points, jacobian_gram, sparse_function, double
):
    """Masked or not, projected or not, whole or traced; points of two sets, which is the mixed kernel."""
    network = build_network(name, init)
    weights, mask = double(random_weights(network)), random_mask(network)
    x, other = double(uniform_points(3)), double(uniform_points(2, seed=1))

    @jax.jit
    def compare(weights):
        pairs = []
        for chosen, projected in [(None, True), (mask, True), (mask, False)]:
            expected = jacobian_gram(*sparse_function(network, weights, chosen, projected), x, other)
            arguments = (network, weights, x, other, chosen, projected)
            pairs.append((tangent_kernel(*arguments), expected))
            pairs.append((tangent_kernel(*arguments, shape="trace"), jnp.trace(expected, axis1=2, axis2=3)))
        return pairs

    pairs = compare(weights)
    assert pairs[0][0].shape == (3, 2, 3, 3)
    assert pairs[1][0].shape == (3, 2)
    for found, expected in pairs:
        assert found.dtype == np.float64
        assert relative_error(found, expected) < 1e-12
    # so that the comparison tells them apart
    natural, projected, unprojected = pairs[0][1], pairs[2][1], pairs[4][1]
    assert relative_error(projected, natural) > 0.1
    assert relative_error(projected, unprojected) > 0.01


def test_single_precision_agrees_with_double(network, random_weights, random_mask, uniform_points):
    weights, mask = random_weights(network), random_mask(network)
    x, other = uniform_points(4), uniform_points(3, seed=1)
    kernel = jax.jit(lambda weights, x, other: tangent_kernel(network, weights, x, other, mask))
    single = kernel(weights, x, other)
    assert single.dtype == np.float32
    with jax.enable_x64(True):
        double = kernel(*jax.tree.map(lambda array: jnp.asarray(array, jnp.float64), (weights, x, other)))
    assert double.dtype == np.float64
    assert relative_error(single, double) < 1e-5


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
