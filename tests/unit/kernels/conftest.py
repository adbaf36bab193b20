"""Oracles for kernels: the whole Jacobian, in double precision, of the function that training sees."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.artifacts import encode_json, encode_npy, write
from awt.kernels.tiles import INDEX, Gram, Index
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


@pytest.fixture
def stored(tmp_path: Path) -> Callable[..., Gram]:
    """Writes [n, n', k, k] or [n, n'] as tiles in a folder of its own, and opens it."""

    def store(whole: np.ndarray, side: int, symmetric: bool = True, classes: int = 3) -> Gram:
        shape = "full" if whole.ndim == 4 else "trace"
        index = Index(*whole.shape[:2], side, symmetric, shape, whole.shape[2] if whole.ndim == 4 else classes)
        folder = tmp_path / f"gram{len(list(tmp_path.iterdir()))}"
        write(folder / INDEX, encode_json(index.as_json()))
        for tile in index.tiles():
            block = whole[slice(*tile.rows), slice(*tile.columns)]
            write(folder / tile.name, encode_npy(block.astype(np.float32)))
        return Gram(folder)

    return store


@pytest.fixture(scope="session")
def random_gram() -> Callable[..., np.ndarray]:
    """A positive semidefinite Gram tensor, [n, n, k, k] or class-traced, or one between two sets, in float32."""

    def make(points: int, classes: int = 0, others: int | None = None, seed: int = 0, features: int = 40) -> np.ndarray:
        rng = np.random.default_rng([points, classes, seed])
        left = rng.normal(size=(points, max(classes, 1), features))
        right = left if others is None else rng.normal(size=(others, max(classes, 1), features))
        found = np.einsum("nkp,mlp->nmkl", left, right).astype(np.float32)
        return found if classes else found[:, :, 0, 0]

    return make
