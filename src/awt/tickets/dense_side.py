"""The dense network's side of the search, computed once per initialisation and shared by every mask search.

Batches are a fixed partition of the training set, so that what the search compares against (adversarial examples of
the dense network, its outputs on them, the views of its kernel that the estimator compares) can be computed ahead.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, attacked
from awt.data.dataset import Dataset
from awt.errors import InputError
from awt.kernels.estimators import Estimator, Masked, Probe, residual
from awt.keys import generator, key
from awt.loop import UNWATCHED, Watch
from awt.models.network import Network, Weights

HELD_OUT_BATCHES = 8
HELD_OUT = Probe(8)  # the curves' estimator, whichever the search uses


class Seen(NamedTuple):
    """By batch: points, their adversarial selves, the dense network's residuals on these."""

    x: jax.Array
    moved: jax.Array
    residual: jax.Array


def partition(points: int, batch: int, seed: int) -> np.ndarray:
    """The fixed batches as point indices [batches, batch]; the ragged rest is left out."""
    if batch > points:
        raise InputError(f"batch: {batch} is more than the {points} training points")
    order = generator(seed, "partition").permutation(points)
    return order[: points // batch * batch].reshape(-1, batch)


def attacked_batches(
    network: Network,
    threat: Ball,
    attack: Attack,
    weights: Weights,
    dataset: Dataset,
    batch: int,
    seed: int,
    watch: Watch = UNWATCHED,
) -> tuple[np.ndarray, np.ndarray]:
    """By fixed batch, adversarial examples of the dense network and its outputs on them."""
    indices = partition(len(dataset.train_y), batch, seed)
    base = key(seed, "dense side", "attack")
    adversarial, outputs = [], []
    for number, points in enumerate(indices):
        x, y = dataset.train_x[points], dataset.train_y[points]
        moved, logits = attacked(network, threat, attack, weights, x, y, jax.random.fold_in(base, number))
        adversarial.append(np.asarray(moved))
        outputs.append(np.asarray(logits))
        watch.progress(number + 1, len(indices))
        watch.check_stop()
    return np.stack(adversarial), np.stack(outputs)


def seen_batches(dataset: Dataset, batch: int, adversarial: np.ndarray, outputs: np.ndarray, seed: int) -> Seen:
    """The fixed batches as views are taken of them; `adversarial` and `outputs` are those of `attacked_batches`."""
    indices = partition(len(dataset.train_y), batch, seed)
    residuals = jax.vmap(residual)(jnp.asarray(outputs), jnp.asarray(dataset.train_y[indices]))
    return Seen(jnp.asarray(dataset.train_x[indices]), jnp.asarray(adversarial), residuals)


def kernel_views(
    chosen: Estimator,
    network: Network,
    weights: Weights,
    batches: Seen,
    epochs: int,
    seed: int,
    watch: Watch = UNWATCHED,
) -> tuple[np.ndarray, np.ndarray]:
    """Views of the dense kernel Θ(X, X̃): for the search, by epoch and batch, and for the curves, of some batches.

    An estimator without fresh views has one epoch's for all. A search that matches no kernels has 0 epochs, and none.
    """
    epochs = epochs if chosen.fresh else min(epochs, 1)
    views = []
    for epoch in range(epochs):
        views.append(np.asarray(_views(chosen, network, weights, batches, search_key(seed, epoch))))
        watch.progress(epoch + 1, epochs)
        watch.check_stop()
    first = jax.tree.map(lambda array: array[:HELD_OUT_BATCHES], batches)
    held_out = _views(HELD_OUT, network, weights, first, held_out_key(seed))
    search = np.stack(views) if views else np.zeros((1, len(batches.x), 0), np.float32)
    return search, np.asarray(held_out)


def held_out_side(
    network: Network, threat: Ball, attack: Attack, weights: Weights, x: jax.Array, y: jax.Array, seed: int
) -> tuple[jax.Array, jax.Array]:
    """Of a network that the kernel stage does not look at, on fixed batches: its outputs when attacked, and the views
    of its kernel that curves need."""

    def batch(numbered: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        number, x, y = numbered
        return attacked(network, threat, attack, weights, x, y, jax.random.fold_in(base, number))

    base = key(seed, "dense side", "attack")
    moved, outputs = jax.lax.map(batch, (jnp.arange(len(x)), x, y))
    batches = Seen(x, moved, jax.vmap(residual)(outputs, y))
    return outputs, _views(HELD_OUT, network, weights, batches, held_out_key(seed))


@partial(jax.jit, static_argnames=("chosen", "network"))
def _views(chosen: Estimator, network: Network, weights: Weights, batches: Seen, key: jax.Array) -> jax.Array:
    """The dense network's views by batch."""

    def batch(numbered: tuple[jax.Array, Seen]) -> jax.Array:
        number, batch = numbered
        dense = Masked(network, weights)
        return chosen.views(dense, batch.x, batch.moved, batch_key(key, number), batch.residual)

    return jax.lax.map(batch, (jnp.arange(len(batches.x)), batches))


def search_key(seed: int, epoch: int) -> jax.Array:
    return key(seed, "probes", epoch)


def held_out_key(seed: int) -> jax.Array:
    return key(seed, "held-out probes")


def batch_key(key: jax.Array, batch: jax.Array) -> jax.Array:
    """Of a batch's views under an epoch's key: the same for the dense and the sparse network."""
    return jax.random.fold_in(key, batch)
