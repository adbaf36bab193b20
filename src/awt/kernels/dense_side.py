"""The dense network's side of the search, computed once per initialisation and shared by every mask search.

Batches are a fixed partition of the training set, so that what the search compares against (adversarial examples of
the dense network, its outputs on them, the views of its kernel that the estimator compares) can be computed ahead.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from awt.artifacts import Buffer, decode_npz, encode_npz
from awt.attacks.ball import Ball, ball
from awt.attacks.pgd import attacked
from awt.data.dataset import decode
from awt.errors import InputError
from awt.kernels.estimators import Estimator, Masked, Probe, estimator, residual
from awt.keys import generator, key
from awt.models.network import Network, Weights, decode_weights, encode_weights
from awt.models.zoo import build
from awt.params import Attack, Model, Threat
from awt.runtime import Context

HELD_OUT_BATCHES = 8
HELD_OUT = Probe(8)  # the curves' estimator, whichever the search uses


def initial_weights(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: θ₀ of a seed."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    return {"initial.npz": encode_weights(build(Model.of(params["model"]), dataset).initialise(params["seed"]))}


def dense_side(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: by batch, adversarial examples of the dense network (the teacher's weights) and its outputs on them."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(Model.of(params["model"]), dataset)
    threat = ball(Threat.of(params["threat"]), dataset.std)
    attack = Attack.of(params["attack"])
    weights = decode_weights(inputs["teacher"], "teacher")
    indices = partition(len(dataset.train_y), params["batch"], params["seed"])
    base = key(params["seed"], "dense side", "attack")
    adversarial, outputs = [], []
    for number, batch in enumerate(indices):
        x, y = dataset.train_x[batch], dataset.train_y[batch]
        moved, logits = attacked(network, threat, attack, weights, x, y, jax.random.fold_in(base, number))
        adversarial.append(np.asarray(moved))
        outputs.append(np.asarray(logits))
        context.progress(number + 1, len(indices))
        context.check_stop()
    return {"dense.npz": encode_npz({"adversarial": np.stack(adversarial), "outputs": np.stack(outputs)})}


def partition(points: int, batch: int, seed: int) -> np.ndarray:
    """The fixed batches as point indices [batches, batch]; the ragged rest is left out."""
    if batch > points:
        raise InputError(f"search.batch: {batch} is more than the {points} training points")
    order = generator(seed, "partition").permutation(points)
    return order[: points // batch * batch].reshape(-1, batch)


def kernel_views(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: views of the dense kernel Θ(X, X̃) for the search, by epoch (one for all where the estimator has no fresh
    ones; none where the search does not match kernels) and batch, and for the curves, of some batches."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(Model.of(params["model"]), dataset)
    weights = decode_weights(inputs["teacher"], "teacher")
    side = decode_npz(inputs["dense"], "dense.npz")
    seed, chosen = params["seed"], estimator(params["estimator"], params["probes"])
    indices = partition(len(dataset.train_y), params["batch"], seed)
    outputs = jnp.asarray(side["outputs"])
    batches = _Batches(
        jnp.asarray(dataset.train_x[indices]),
        jnp.asarray(side["adversarial"]),
        jax.vmap(residual)(outputs, jnp.asarray(dataset.train_y[indices])),
    )
    epochs = 0 if not params["matched"] else params["epochs"] if chosen.fresh else 1
    found = []
    for epoch in range(epochs):
        found.append(np.asarray(_views(chosen, network, weights, batches, search_key(seed, epoch))))
        context.progress(epoch + 1, epochs)
        context.check_stop()
    first = jax.tree.map(lambda array: array[:HELD_OUT_BATCHES], batches)
    held_out = _views(HELD_OUT, network, weights, first, held_out_key(seed))
    search = np.stack(found) if found else np.zeros((1, len(indices), 0), np.float32)
    return {"views.npz": encode_npz({"search": search, "held_out": np.asarray(held_out)})}


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
    batches = _Batches(x, moved, jax.vmap(residual)(outputs, y))
    return outputs, _views(HELD_OUT, network, weights, batches, held_out_key(seed))


class _Batches(NamedTuple):
    """By batch: points, their adversarial selves, the dense network's residuals on these."""

    x: jax.Array
    moved: jax.Array
    residual: jax.Array


@partial(jax.jit, static_argnames=("chosen", "network"))
def _views(chosen: Estimator, network: Network, weights: Weights, batches: _Batches, key: jax.Array) -> jax.Array:
    """The dense network's views by batch."""

    def batch(numbered: tuple[jax.Array, _Batches]) -> jax.Array:
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
