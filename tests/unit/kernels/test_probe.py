"""Products with probe vectors equal products with the Gram tensor, and estimate Frobenius distances without bias."""

import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.kernels.exact import tangent_kernel
from awt.kernels.probe import kernel_product, random_signs


@pytest.mark.parametrize("projected", [True, False])
def test_product_equals_the_gram_tensor_times_the_vector(
    network, projected, random_weights, random_mask, uniform_points, sparse_function
):
    weights, mask = random_weights(network), random_mask(network)
    x, other = uniform_points(3), uniform_points(2, seed=1)
    vector = jnp.asarray(np.random.default_rng(0).normal(size=(2, 3)), jnp.float32)

    @jax.jit
    def both(weights):
        function, at = sparse_function(network, weights, mask, projected)
        gram = tangent_kernel(network, weights, x, other, mask, projected)
        return kernel_product(function, at, x, other, vector), jnp.einsum("nmkl,ml->nk", gram, vector)

    product, expected = both(weights)
    np.testing.assert_allclose(product, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def test_over_all_sign_vectors_the_mean_square_is_the_frobenius_norm(
    build_network, random_weights, random_mask, uniform_points, sparse_function
):
    network = build_network("mlp")
    weights, mask = random_weights(network), random_mask(network)
    x, other = uniform_points(3), uniform_points(2, seed=1)
    signs = jnp.asarray(list(itertools.product([-1.0, 1.0], repeat=6)), jnp.float32).reshape(-1, 2, 3)

    @jax.jit
    def both(weights):
        function, at = sparse_function(network, weights, mask, True)
        dense = jax.vmap(partial(kernel_product, network.apply, weights, x, other))(signs)
        sparse = jax.vmap(partial(kernel_product, function, at, x, other))(signs)
        difference = tangent_kernel(network, weights, x, other) - tangent_kernel(network, weights, x, other, mask)
        return jnp.sum((dense - sparse) ** 2, axis=(1, 2)), jnp.sum(difference**2)

    squares, frobenius = both(weights)
    np.testing.assert_allclose(squares.mean(), frobenius, rtol=1e-4)
    assert np.std(squares) > 0  # one vector alone would not do


def test_random_signs_are_signs_by_key():
    signs = random_signs(jax.random.key(0), (4000, 3))
    assert signs.dtype == jnp.float32
    assert set(np.unique(signs)) == {-1.0, 1.0}
    np.testing.assert_allclose(signs.T @ signs / 4000, np.eye(3), atol=0.08)
    np.testing.assert_allclose(signs.mean(axis=0), 0, atol=0.08)
    np.testing.assert_array_equal(signs, random_signs(jax.random.key(0), (4000, 3)))
    assert not np.array_equal(signs, random_signs(jax.random.key(1), (4000, 3)))
