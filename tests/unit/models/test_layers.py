"""Layers compute what they name, whichever way they do it, and give gradients by the rules they state."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from awt.models.layers import Conv, Dense, MaxPool, Normalise

few = settings(deadline=None, max_examples=6)
small = st.integers(1, 5)
INITS = ["glorot", "he", "lecun", "ntk"]


def normal(seed: int, *shape: int) -> jax.Array:
    return jnp.asarray(np.random.default_rng([seed, len(shape)]).normal(size=shape), jnp.float32)


def assert_trees_close(one, other, tolerance=1e-5):
    for a, b in zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


@few
@given(st.integers(1, 4), small, small, small, small, st.sampled_from(["glorot", "ntk"]))
@example(3, 4, 4, 2, 3, "ntk")
@example(2, 5, 3, 1, 2, "glorot")  # an even kernel pads unevenly
def test_convolution_by_shifts_is_the_convolution_in_values_and_gradients(size, height, width, inputs, units, init):
    layer = Conv("conv", inputs, units, size, init)
    weights = {"kernel": normal(0, *layer.kernel_shape), "bias": normal(1, units)}
    x = normal(2, 2, height, width, inputs)

    direction = normal(3, 2, height, width, units)

    def by_shifts(weights, x):
        return layer.features(x) @ weights["kernel"].reshape(-1, units) + weights["bias"]

    @jax.jit
    def values_and_gradients():
        found = []
        for function in (by_shifts, layer.convolve, layer.apply):
            values, pull = jax.vjp(function, weights, x)
            found.append((values, pull(direction)))
        return found

    shifts, convolution, applied = values_and_gradients()
    assert_trees_close(shifts, convolution)
    assert_trees_close(applied, convolution)


@pytest.mark.parametrize("height", [4, 5])
@pytest.mark.parametrize("width", [4, 7])
def test_max_pool_gives_the_gradient_of_ties_to_the_first(height, width):
    x = jnp.asarray(np.random.default_rng(0).integers(0, 2, (3, height, width, 2)), jnp.float32)  # ties abound

    def reference(x):
        return jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    direction = normal(0, 3, height // 2, width // 2, 2)

    @jax.jit
    def value_and_gradient(x):
        pairs = [jax.vjp(function, x) for function in (MaxPool(), reference)]
        return [(value, pull(direction)[0]) for value, pull in pairs]

    found, expected = value_and_gradient(x)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


def test_max_pool_of_equal_values_moves_one_of_four():
    gradient = jax.grad(lambda x: MaxPool()(x).sum())(jnp.zeros((1, 2, 2, 1)))
    np.testing.assert_array_equal(gradient[0, :, :, 0], [[1, 0], [0, 0]])


@pytest.mark.parametrize(
    ("layer", "fan_in", "fan_out"),
    [(lambda init: Dense("d", 400, 150, init), 400, 150), (lambda init: Conv("c", 40, 80, 3, init), 360, 720)],
    ids=["dense", "conv"],
)
@pytest.mark.parametrize("init", INITS)
def test_initial_kernels_have_the_variance_that_their_name_says(layer, fan_in, fan_out, init):
    variance = {"glorot": 2 / (fan_in + fan_out), "he": 2 / fan_in, "lecun": 1 / fan_in, "ntk": 1.0}[init]
    weights = layer(init).initialise(jax.random.PRNGKey(0))
    kernel = np.asarray(weights["kernel"], float)
    assert abs(kernel.mean()) < 5 * math.sqrt(variance / kernel.size)
    np.testing.assert_allclose(kernel.var(), variance, rtol=0.04)  # over five standard errors of 28800 draws
    np.testing.assert_array_equal(weights["bias"], 0)


@pytest.mark.parametrize("make", [lambda init: Dense("d", 48, 3, init), lambda init: Conv("c", 3, 4, 3, init)])
def test_ntk_moves_the_scale_of_he_from_the_weights_into_the_forward_pass(make):
    ntk, he = make("ntk"), make("he")
    weights = {"kernel": normal(0, *ntk.kernel_shape), "bias": normal(1, ntk.units)}
    scaled = weights | {"kernel": weights["kernel"] * math.sqrt(2 / math.prod(ntk.kernel_shape[:-1]))}
    x = normal(2, 2, 48) if isinstance(ntk, Dense) else normal(2, 2, 4, 4, 3)
    np.testing.assert_allclose(ntk.apply(weights, x), he.apply(scaled, x), rtol=1e-5, atol=1e-5)


def test_normalise_works_by_channel():
    x = jnp.ones((1, 2, 2, 2)) * jnp.array([0.5, 0.9])
    found = Normalise((0.5, 0.1), (0.2, 0.4))(x)
    np.testing.assert_allclose(found, jnp.ones((1, 2, 2, 2)) * jnp.array([0.0, 2.0]), atol=1e-6)
