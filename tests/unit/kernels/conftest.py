"""Oracles for kernels: the whole Jacobian, in double precision, of the function that training sees."""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from awt.models.network import Masks, Network, Weights, apply_mask

Function = Callable[[Any, jax.Array], jax.Array]


@pytest.fixture
def double() -> Any:
    """Turns double precision on, and trees of single-precision arrays into double."""
    with jax.enable_x64(True):
        yield partial(jax.tree.map, lambda array: jnp.asarray(array, jnp.float64))


@pytest.fixture(scope="session")
def jacobian_gram() -> Callable[..., jax.Array]:
    """Θ(x, other) [n, n', k, k] as the product of two whole Jacobians."""

    def gram(function: Function, weights: Weights, x: jax.Array, other: jax.Array) -> jax.Array:
        def rows(points: jax.Array) -> jax.Array:
            leaves = jax.tree.leaves(jax.jacobian(function)(weights, points))
            return jnp.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1)

        return jnp.einsum("nkp,mlp->nmkl", rows(x), rows(other))

    return gram


@pytest.fixture(scope="session")
def sparse_function() -> Callable[..., tuple[Function, Weights]]:
    """The function of which a sparse network's kernel is the tangent kernel, and the weights at which.

    Projected: w ↦ f(m⊙w), whose gradients run through kept weights only. Otherwise f itself, at m⊙w.
    """

    def make(network: Network, weights: Weights, mask: Masks | None, projected: bool) -> tuple[Function, Weights]:
        if mask is None:
            return network.apply, weights
        if projected:
            return lambda w, x: network.apply(apply_mask(w, mask), x), weights
        return network.apply, apply_mask(weights, mask)

    return make
