"""The probe estimator: a tangent kernel times a vector, without the kernel, for any network.

For random signs v, E‖(Θ − Θˢ)v‖² = ‖Θ − Θˢ‖_F²; Θ(x, x̃)v is one VJP at x̃ and one JVP at x.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

Function = Callable[[Any, jax.Array], jax.Array]


def kernel_product(function: Function, weights: Any, x: jax.Array, other: jax.Array, vector: jax.Array) -> jax.Array:
    """Θ(x, other) v for v [n', k]: [n, k]. With function w ↦ f(m⊙w) this is the projected kernel."""
    return pushed(function, weights, x, pulled(function, weights, other, vector))


def pulled(function: Function, weights: Any, other: jax.Array, vector: jax.Array) -> Any:
    """J(other)ᵀ v: of the weights' form. Over parts of the points, the sum is that of them all."""
    _, pull = jax.vjp(lambda w: function(w, other), weights)
    (tangent,) = pull(vector)
    return tangent


def pushed(function: Function, weights: Any, x: jax.Array, tangent: Any) -> jax.Array:
    """J(x) u for u of the weights' form: [n, k]."""
    _, product = jax.jvp(lambda w: function(w, x), (weights,), (tangent,))
    return product


def random_signs(key: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    return jax.random.rademacher(key, shape, dtype=jnp.float32)
