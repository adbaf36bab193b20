"""What attacks raise: functions of logits [n, classes], a value a point, positive or large where a point is fooled."""

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp
import optax

Logits = Callable[[jax.Array], jax.Array]
Loss = Literal["ce", "margin", "dlr", "kl"]
Objective = Callable[[jax.Array], jax.Array]  # logits -> value


def objective(loss: Loss, y: jax.Array, target: jax.Array | None = None, natural: jax.Array | None = None) -> Objective:
    """The loss as a function of the logits; with a `target`, towards that class; `natural` logits are for kl alone."""
    if loss == "kl":
        assert natural is not None
        return lambda logits: kl_divergence(natural, logits)
    if target is not None:
        return {
            "ce": lambda logits: -cross_entropy(logits, target),
            "margin": lambda logits: _of(logits, target) - _of(logits, y),
            "dlr": lambda logits: targeted_dlr(logits, y, target),
        }[loss]
    return {
        "ce": lambda logits: cross_entropy(logits, y),
        "margin": lambda logits: margin(logits, y),
        "dlr": lambda logits: dlr(logits, y),
    }[loss]


def cross_entropy(logits: jax.Array, y: jax.Array) -> jax.Array:
    return optax.softmax_cross_entropy_with_integer_labels(logits, y)


def margin(logits: jax.Array, y: jax.Array) -> jax.Array:
    """max_{i≠y} z_i − z_y: above 0 where the point is fooled."""
    others = jnp.where(jax.nn.one_hot(y, logits.shape[1], dtype=bool), -jnp.inf, logits)
    return others.max(axis=1) - _of(logits, y)


def dlr(logits: jax.Array, y: jax.Array) -> jax.Array:
    """The difference of logits ratio: the margin over z₍₁₎ − z₍₃₎, so that scale does not matter; from 3 classes."""
    first, _, third = _largest(logits, 3)
    return margin(logits, y) / (first - third + 1e-12)


def targeted_dlr(logits: jax.Array, y: jax.Array, target: jax.Array) -> jax.Array:
    """(z_t − z_y) over z₍₁₎ − (z₍₃₎ + z₍₄₎)/2; from 4 classes."""
    first, _, third, fourth = _largest(logits, 4)
    return (_of(logits, target) - _of(logits, y)) / (first - 0.5 * (third + fourth) + 1e-12)


def kl_divergence(logits: jax.Array, other: jax.Array) -> jax.Array:
    """KL(p‖q) of the probabilities that logits stand for."""
    p, q = jax.nn.log_softmax(logits), jax.nn.log_softmax(other)
    return jnp.sum(jnp.exp(p) * (p - q), axis=1)


def fooled(logits: jax.Array, y: jax.Array) -> jax.Array:
    """Whether the answer is wrong: what is not a number is not a right answer, but no success either."""
    return (logits.argmax(axis=1) != y) & jnp.isfinite(logits).all(axis=1)


def _of(logits: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.sum(logits * jax.nn.one_hot(y, logits.shape[1]), axis=1)


def _largest(logits: jax.Array, number: int) -> jax.Array:
    """The largest logits, [number, n]; by products, whose gradients are faster than those of gathers on CPUs."""
    _, places = jax.lax.top_k(jax.lax.stop_gradient(logits), number)
    return jnp.einsum("nc,nkc->kn", logits, jax.nn.one_hot(places, logits.shape[1]))
