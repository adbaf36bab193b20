"""Tangent kernels of any function, of whose layers nothing is known: products of its Jacobians by point."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from awt.kernels.estimators import Masked, differentiated
from awt.kernels.exact import Shape

# of a leaf's Jacobians, [n, k, p] and [n', k, p]
_AXES = {"full": "nkp,mlp->nmkl", "trace": "nkp,mkp->nm", "diagonal": "nkp,nkp->nk"}


def jacobian_kernel(masked: Masked, x: jax.Array, other: jax.Array | None = None, shape: Shape = "full") -> jax.Array:
    """Θ(x, other) as `tangent_kernel` has it; all Jacobians are in memory at once."""
    function, at = differentiated(masked)
    left = jax.tree.leaves(_jacobians(function, at, x))
    right = left if other is None else jax.tree.leaves(_jacobians(function, at, other))
    parts = [
        jnp.einsum(_AXES[shape], _rows(one), _rows(two), precision="highest")
        for one, two in zip(left, right, strict=True)
    ]
    return sum(parts[1:], start=parts[0])


def _jacobians(function: Callable[[Any, jax.Array], jax.Array], at: Any, x: jax.Array) -> Any:
    """By leaf, [n, k, …]."""
    return jax.vmap(lambda point: jax.jacrev(lambda weights: function(weights, point[None])[0])(at))(x)


def _rows(jacobian: jax.Array) -> jax.Array:
    return jacobian.reshape(*jacobian.shape[:2], -1)
