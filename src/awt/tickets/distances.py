"""How far a sparse network is from the dense one, in outputs and in tangent kernel: what searches minimise, and what
their curves show."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, pgd
from awt.kernels.estimators import Masked, cosine_distance, mean_and_error, residual, squared_distances
from awt.keys import key
from awt.loop import Row
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.tickets.dense_side import HELD_OUT, batch_key, held_out_key


def target_distance(outputs: jax.Array, dense_outputs: jax.Array, y: jax.Array | None = None) -> jax.Array:
    """(1/N)‖f − fˢ‖²."""
    return jnp.sum((outputs - dense_outputs) ** 2) / len(outputs)


def reverse_kl(outputs: jax.Array, dense_outputs: jax.Array, y: jax.Array | None = None) -> jax.Array:
    """(1/N) Σ KL(pˢ‖p): what the sparse network is sure of must be so for the dense one."""
    sparse, dense = jax.nn.log_softmax(outputs), jax.nn.log_softmax(dense_outputs)
    return jnp.sum(jnp.exp(sparse) * (sparse - dense)) / len(outputs)


def loss_gradient_distance(outputs: jax.Array, dense_outputs: jax.Array, y: jax.Array | None = None) -> jax.Array:
    """(1/N)‖∇_f ℓ(f) − ∇_f ℓ(fˢ)‖² of the cross-entropy: the labels cancel."""
    return target_distance(jax.nn.softmax(outputs), jax.nn.softmax(dense_outputs))


def cross_entropy(outputs: jax.Array, dense_outputs: jax.Array, y: jax.Array) -> jax.Array:
    """Of the labels: the student learns what the dense network does, not from it."""
    return optax.softmax_cross_entropy_with_integer_labels(outputs, y).mean()


def kernel_distances(views: jax.Array, dense_views: jax.Array) -> jax.Array:
    """(1/N²)‖Θ₀ − Θˢ‖²_F, an estimate a view."""
    return squared_distances(views, dense_views) / views.shape[1] ** 2


TARGETS = {
    "squared": target_distance,
    "reverse_kl": reverse_kl,
    "loss_gradient": loss_gradient_distance,
    "labels": cross_entropy,
}
DISTANCES = {"frobenius": lambda views, dense: kernel_distances(views, dense).mean(), "cosine": cosine_distance}


class Batches(NamedTuple):
    """Fixed batches with the dense network's side; the leading axis is the batch."""

    x: jax.Array
    y: jax.Array
    outputs: jax.Array
    views: jax.Array  # of the dense kernel, [batches, views, …]


@dataclass(frozen=True)
class Gauge:
    """What the compiled measurement is specialised to."""

    network: Network
    threat: Ball
    attack: Attack
    projected: bool

    def on(self, batches: Batches, seed: int) -> Callable[[Weights, Masks], Row]:
        """Measures a student on the first batches, those that there are views of, with probes that no search sees: the
        published distances, whatever the search minimises, and its accuracy on the same (attacked) points."""
        batches = jax.tree.map(lambda array: array[: len(batches.views)], batches)
        keys = held_out_key(seed), key(seed, "search", "held-out attack")

        def measure(weights: Weights, mask: Masks) -> Row:
            targets, kernels, right = _measured(self, batches, keys, weights, mask)
            distance, error = mean_and_error(np.asarray(kernels, np.float64).mean(axis=0))  # one estimate a probe
            return {
                "accuracy": float(np.mean(np.asarray(right, np.float64))),
                "target_distance": float(np.mean(np.asarray(targets, np.float64))),
                "kernel_distance": distance,
                "kernel_distance_error": error,
            }

        return measure


@partial(jax.jit, static_argnames="gauge")
def _measured(
    gauge: Gauge, batches: Batches, keys: tuple[jax.Array, jax.Array], weights: Weights, mask: Masks
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Target distance by batch, kernel distance by batch and probe, share of points classified right by batch."""
    views_key, attack_key = keys
    function = student_function(gauge.network, mask)

    def batch(number_batch: tuple[jax.Array, Batches]) -> tuple[jax.Array, jax.Array, jax.Array]:
        number, batch = number_batch
        attack_here = jax.random.fold_in(attack_key, number)
        moved = pgd(partial(function, weights), gauge.threat, gauge.attack, batch.x, batch.y, attack_here)
        subject = Masked(gauge.network, weights, mask, gauge.projected)
        direction = residual(batch.outputs, batch.y)
        views = HELD_OUT.views(subject, batch.x, moved, batch_key(views_key, number), direction)
        outputs = function(weights, moved)
        right = jnp.mean(outputs.argmax(axis=1) == batch.y)
        return target_distance(outputs, batch.outputs), kernel_distances(views, batch.views), right

    return jax.lax.map(batch, (jnp.arange(len(batches.x)), batches))


def student_function(network: Network, mask: Masks) -> Callable[[Weights, jax.Array], jax.Array]:
    return lambda weights, x: network.apply(apply_mask(weights, mask), x)
