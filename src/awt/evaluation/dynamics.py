"""A dense network and its ticket trained side by side, with the same batches: how far apart they go, epoch by epoch.

Theorem 2 of the paper bounds E‖f_t(x) − f_tˢ(x)‖² by 4(α + 4 C ε)²: α² is the search's loss at (m, θ₀) with the whole
kernel, C the largest slope of the outputs along inputs, over time and points (‖∂f/∂x‖ in the norm dual to the ball's,
outputs summed in squares; its second-order constant is 0 for ReLU networks).
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, pgd
from awt.data.dataset import Dataset
from awt.kernels.exact import tangent_kernel
from awt.keys import key
from awt.loop import UNWATCHED, Loop, Row, Watch, run
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.training.adversarial import TrainingState, advance_epoch, program_of, shuffled_batches, start
from awt.training.options import Training

GAMMA = 1e-3  # the published weight of the kernel distance, whatever the search was told


class Look(NamedTuple):
    """What figures are taken on: the network under its threat, the points, the initial weights."""

    network: Network
    threat: Ball
    attack: Attack
    x: jax.Array
    y: jax.Array
    key: jax.Array
    initial: Weights


class Pair(NamedTuple):
    dense: TrainingState
    sparse: TrainingState
    slope: jax.Array  # the largest so far


def side_by_side(
    network: Network,
    initial: Weights,
    mask: Masks,
    dataset: Dataset,
    threat: Ball,
    options: Training,
    points: int,
    seed: int,
    watch: Watch = UNWATCHED,
) -> pd.DataFrame:
    """Trains the dense network and the masked one with the same batches; a row of figures at the start and after each
    epoch, on the first test points."""
    masks = {"dense": network.everything(), "sparse": mask}
    steps = len(dataset.train_y) // options.batch
    program = program_of(network, threat, dataset, options, steps)
    x, y = jnp.asarray(dataset.train_x), jnp.asarray(dataset.train_y)
    test_x, test_y = (jnp.asarray(part[:points]) for part in (dataset.test_x, dataset.test_y))
    attack_key = key(seed, "retrain", "attack")
    look = Look(network, threat, options.attack, test_x, test_y, key(seed, "dynamics"), initial)
    measure, alpha = partial(_measure, look), _alpha(look, masks["sparse"])

    def advance(pair: Pair, epoch: int, begin: int, stop: int) -> Pair:
        batches = shuffled_batches(seed, epoch, len(y), options.batch)
        here = jax.random.fold_in(attack_key, epoch)

        def on(state: TrainingState, mask: Masks) -> TrainingState:
            return advance_epoch(program, mask, x, y, batches, here, state, begin, stop, epoch * steps)

        return pair._replace(dense=on(pair.dense, masks["dense"]), sparse=on(pair.sparse, masks["sparse"]))

    def close_epoch(pair: Pair, epoch: int) -> tuple[Pair, Row]:
        row = measure(pair.dense.weights, pair.sparse.weights)
        return pair._replace(slope=jnp.maximum(pair.slope, row["slope"])), row

    first = {name: start(program, initial, mask) for name, mask in masks.items()}
    beginning = measure(first["dense"].weights, first["sparse"].weights)
    pair = Pair(first["dense"], first["sparse"], jnp.asarray(beginning["slope"]))
    pair, rows = run(Loop(options.epochs, steps, advance, close_epoch), pair, watch)
    table = pd.DataFrame([{"epoch": 0, **beginning}, *rows])
    table["alpha"] = alpha
    table["bound"] = 4 * (alpha + 4 * float(pair.slope) * threat.eps) ** 2
    return table


def _measure(look: Look, dense: Weights, sparse: Weights) -> Row:
    found = _figures(*look[:-1], dense, sparse)
    row = {name: float(value) for name, value in found.items()}
    for name, weights in (("dense", dense), ("sparse", sparse)):
        row[f"lazy_{name}"] = lazy_ratio(weights, look.initial)
    return row


@partial(jax.jit, static_argnames=("network", "threat", "attack"))
def _figures(
    network: Network,
    threat: Ball,
    attack: Attack,
    x: jax.Array,
    y: jax.Array,
    attack_key: jax.Array,
    dense: Weights,
    sparse: Weights,
) -> dict[str, jax.Array]:
    moved = {
        name: pgd(partial(network.apply, weights), threat, attack, x, y, attack_key)
        for name, weights in (("dense", dense), ("sparse", sparse))
    }
    gap = network.apply(dense, x) - network.apply(sparse, x)
    attacked_gap = network.apply(dense, moved["dense"]) - network.apply(sparse, moved["sparse"])
    found = {
        "gap": jnp.mean(jnp.sum(gap**2, axis=1)),
        "gap_adversarial": jnp.mean(jnp.sum(attacked_gap**2, axis=1)),
    }
    slopes = []
    for name, weights in (("dense", dense), ("sparse", sparse)):
        found[f"natural_{name}"] = jnp.mean(network.apply(weights, x).argmax(axis=1) == y)
        found[f"adversarial_{name}"] = jnp.mean(network.apply(weights, moved[name]).argmax(axis=1) == y)
        jacobian = input_jacobian(network, weights, x)
        along = jnp.einsum("nkhwc,nhwc->nk", jacobian, moved[name] - x)
        found[f"stability_{name}"] = jnp.mean(jnp.linalg.norm(along, axis=1))
        slopes.append(dual_slope(threat, jacobian).max())
    for layers in range(1, len(network.weighted)):
        # the first layers of the one, the rest of the other
        for name, (head, tail) in {"dense_first": (dense, sparse), "sparse_first": (sparse, dense)}.items():
            logits = network.apply(grafted(network, head, tail, layers), x)
            found[f"graft_{name}_{layers}"] = jnp.mean(logits.argmax(axis=1) != y)
    return found | {"slope": jnp.maximum(*slopes)}


def grafted(network: Network, head: Weights, tail: Weights, layers: int) -> Weights:
    """A network of the first layers of one and the rest of another."""
    names = [layer.name for layer in network.weighted]
    return {name: (head if number < layers else tail)[name] for number, name in enumerate(names)}


def input_jacobian(network: Network, weights: Weights, x: jax.Array) -> jax.Array:
    """∂f/∂x, [n, classes, height, width, channels]."""
    logits, pull = jax.vjp(partial(network.apply, weights), x)
    each = jnp.eye(logits.shape[1])
    rows = jax.lax.map(lambda output: pull(jnp.broadcast_to(output, logits.shape))[0], each)
    return jnp.moveaxis(rows, 0, 1)


def dual_slope(threat: Ball, jacobian: jax.Array) -> jax.Array:
    """How fast outputs can change for a perturbation of size 1 in the ball's norm, at most: [n]."""
    scaled = jnp.abs(jacobian * threat.units)
    axes = (2, 3, 4)
    by_output = {
        "linf": lambda: scaled.sum(axis=axes),
        "l2": lambda: jnp.sqrt((scaled**2).sum(axis=axes)),
        "l1": lambda: scaled.max(axis=axes),
    }[threat.norm]()
    return jnp.sqrt(jnp.sum(by_output**2, axis=1))


def lazy_ratio(weights: Weights, initial: Weights) -> float:
    """Σ‖W_t − W_0‖ / Σ‖W_0‖ over layers, of the weights that are not pruned."""
    moved = began = 0.0
    for name, layer in weights.items():
        now, then = (np.asarray(part[name]["kernel"], np.float64) for part in (weights, initial))
        kept = np.asarray(layer["kernel"]) != 0
        moved += float(np.linalg.norm((now - then)[kept]))
        began += float(np.linalg.norm(then[kept]))
    return moved / began


def _alpha(look: Look, mask: Masks) -> float:
    """√L of the published search at (m, θ₀): both distances whole, on the points."""
    network, threat, attack, x, y, attack_key, initial = look

    @jax.jit
    def seen(weights: Weights, masked: Masks | None) -> tuple[jax.Array, jax.Array]:
        moved = pgd(partial(network.apply, weights), threat, attack, x, y, attack_key)
        return network.apply(weights, moved), tangent_kernel(network, weights, x, moved, masked, True)

    (outputs, kernel), (sparse_outputs, sparse_kernel) = seen(initial, None), seen(apply_mask(initial, mask), mask)
    number = len(y)
    target = float(jnp.sum((outputs - sparse_outputs) ** 2)) / number
    return float(np.sqrt(target + GAMMA**2 * float(jnp.sum((kernel - sparse_kernel) ** 2)) / number**2))
