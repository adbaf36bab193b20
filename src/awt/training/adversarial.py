"""PGD adversarial training of a masked network from its initial weights."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from awt.attacks.ball import Ball
from awt.attacks.pgd import pgd
from awt.data.dataset import Dataset
from awt.errors import InputError
from awt.keys import generator, key
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.params import Attack, Retrain
from awt.runtime import Context
from awt.runtime.resume import Loop, Row, run


@dataclass(frozen=True)
class Recipe:
    """What the compiled training step is specialised to."""

    network: Network
    threat: Ball
    attack: Attack
    learning_rate: float


class State(NamedTuple):
    """The state of a training run; loss and hits are sums over the epoch so far."""

    weights: Weights
    optimiser: Any
    loss: jax.Array
    hits: jax.Array


def train(
    network: Network,
    initial: Weights,
    mask: Masks,
    dataset: Dataset,
    threat: Ball,
    retrain: Retrain,
    seed: int,
    context: Context,
) -> tuple[Weights, list[Row]]:
    """Trains f(m⊙θ) from θ₀; returns weights whose pruned entries are exactly 0, and a row of figures an epoch."""
    steps = len(dataset.train_y) // retrain.batch
    if steps == 0:
        raise InputError(f"retrain.batch: {retrain.batch} is more than the {len(dataset.train_y)} training points")
    recipe = Recipe(network, threat, retrain.attack, retrain.learning_rate)
    state = start(recipe, initial, mask)
    x, y = jnp.asarray(dataset.train_x), jnp.asarray(dataset.train_y)
    attack_key = key(seed, "retrain", "attack")
    validate = _validation(recipe, dataset, key(seed, "retrain", "validation"))

    def advance(state: State, epoch: int, start: int, stop: int) -> State:
        batches = shuffled_batches(seed, epoch, len(y), retrain.batch)
        return advance_epoch(recipe, mask, x, y, batches, jax.random.fold_in(attack_key, epoch), state, start, stop)

    def close_epoch(state: State, epoch: int) -> tuple[State, Row]:
        points = steps * retrain.batch
        row = {"loss": float(state.loss) / points, "train_adversarial": float(state.hits) / points}
        fresh = state._replace(loss=jnp.zeros(()), hits=jnp.zeros((), jnp.int32))
        return fresh, row | validate(state.weights)

    state, rows = run(Loop(retrain.epochs, steps, advance, close_epoch), state, context)
    return state.weights, rows


def shuffled_batches(seed: int, epoch: int, points: int, batch: int) -> np.ndarray:
    """Point indices [steps, batch] in an epoch's own order; the ragged rest is left out."""
    steps = points // batch
    return generator(seed, "retrain", "order", epoch).permutation(points)[: steps * batch].reshape(steps, batch)


@partial(jax.jit, static_argnames="recipe")
def start(recipe: Recipe, initial: Weights, mask: Masks) -> State:
    weights = apply_mask(initial, mask)
    return State(weights, optax.adam(recipe.learning_rate).init(weights), jnp.zeros(()), jnp.zeros((), jnp.int32))


@partial(jax.jit, static_argnames="recipe")
def advance_epoch(
    recipe: Recipe,
    mask: Masks,
    x: jax.Array,
    y: jax.Array,
    batches: jax.Array,
    attack_key: jax.Array,
    state: State,
    start: int,
    stop: int,
) -> State:
    """Steps start..stop of an epoch, wholly on the device."""
    optimiser = optax.adam(recipe.learning_rate)

    def function(weights: Weights, x: jax.Array) -> jax.Array:
        return recipe.network.apply(apply_mask(weights, mask), x)

    def step(number: int, state: State) -> State:
        batch_x, batch_y = x[batches[number]], y[batches[number]]
        here = jax.random.fold_in(attack_key, number)
        moved = pgd(partial(function, state.weights), recipe.threat, recipe.attack, batch_x, batch_y, here)

        def loss(weights: Weights) -> tuple[jax.Array, jax.Array]:
            logits = function(weights, moved)
            losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch_y)
            return losses.mean(), jnp.sum(logits.argmax(axis=-1) == batch_y)

        (value, hits), gradient = jax.value_and_grad(loss, has_aux=True)(state.weights)
        updates, optimiser_state = optimiser.update(gradient, state.optimiser)
        weights = optax.apply_updates(state.weights, updates)
        return State(weights, optimiser_state, state.loss + value * len(batch_y), state.hits + hits)

    return jax.lax.fori_loop(start, stop, step, state)


def _validation(recipe: Recipe, dataset: Dataset, attack_key: jax.Array) -> Callable[[Weights], Row]:
    """Natural and adversarial accuracy on the validation part; NaN where there is none."""
    x, y = jnp.asarray(dataset.validation_x), jnp.asarray(dataset.validation_y)

    def validate(weights: Weights) -> Row:
        if len(y) == 0:
            return {"validation_natural": float("nan"), "validation_adversarial": float("nan")}
        natural, adversarial = _hits(recipe, weights, x, y, attack_key)
        return {
            "validation_natural": float(natural) / len(y),
            "validation_adversarial": float(adversarial) / len(y),
        }

    return validate


@partial(jax.jit, static_argnames="recipe")
def _hits(recipe: Recipe, weights: Weights, x: jax.Array, y: jax.Array, key: jax.Array) -> tuple[jax.Array, jax.Array]:
    function = partial(recipe.network.apply, weights)
    moved = pgd(function, recipe.threat, recipe.attack, x, y, key)
    return jnp.sum(function(x).argmax(-1) == y), jnp.sum(function(moved).argmax(-1) == y)
