"""Relaxed masks, as Concrete Ticket Search has them: weights stay, the chance that each is kept is learnt.

A mask is drawn from the binary Concrete distribution of the logits at every step; reverse KL brings the outputs under
it to the dense network's. Instead of a balanced penalty, the logits are shifted so that the expected density is the
annealed one. The ticket is the largest logits.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from awt.attacks.ball import Ball
from awt.attacks.pgd import pgd
from awt.keys import generator, key
from awt.models.network import Masks, Network, Weights
from awt.params import Attack
from awt.runtime.resume import Loop, Row, run
from awt.tickets.distances import Batches, reverse_kl
from awt.tickets.masks import annealed, magnitudes, select
from awt.tickets.setting import Setting, Ticket

TEMPERATURE = 2.0 / 3.0


class Recipe(NamedTuple):
    network: Network
    threat: Ball
    attack: Attack
    learning_rate: float
    mask_every: int


class Logits(NamedTuple):
    scores: Masks
    shift: jax.Array  # to the expected density
    optimiser: Any
    loss: jax.Array


def concrete(setting: Setting) -> Ticket:
    search = setting.search
    assert setting.teacher is not None
    assert setting.outputs is not None
    recipe = Recipe(setting.network, setting.threat, search.attack, search.learning_rate, search.mask_every)
    (x, y), teacher = setting.batches, setting.teacher
    number = len(x)
    updates = search.epochs * number // search.mask_every
    shares = annealed(setting.network.kernel_shapes, setting.density, "global", updates, search.anneal)[:, 0]
    sizes = magnitudes(teacher)
    total = sum(size.size for size in sizes.values())
    batches = Batches(x, y, setting.outputs, jnp.zeros((number, 0)))
    scores = {name: (size - size.mean()) / size.std() for name, size in sizes.items()}
    optimiser = jax.jit(optax.adam(search.learning_rate).init)(scores)
    wanted = jnp.asarray(shares / total, jnp.float32)
    state = Logits(scores, _shift(scores, wanted[0]), optimiser, jnp.zeros(()))
    noise_key, attack_key = key(setting.seed, "concrete", "noise"), key(setting.seed, "concrete", "attack")

    def advance(state: Logits, epoch: int, start: int, stop: int) -> Logits:
        order = generator(setting.seed, "search", "order", epoch).permutation(number)
        keys = jax.random.fold_in(noise_key, epoch), jax.random.fold_in(attack_key, epoch)
        return _advance(recipe, wanted, teacher, batches, state, order, keys, epoch * number, start, stop)

    def close_epoch(state: Logits, epoch: int) -> tuple[Logits, Row]:
        return state._replace(loss=jnp.zeros(())), {"loss": float(state.loss) / number}

    state, _ = run(Loop(search.epochs, number, advance, close_epoch), state, setting.context)
    return Ticket(select(state.scores, setting.kept))


@partial(jax.jit, static_argnames="recipe")
def _advance(
    recipe: Recipe,
    wanted: jax.Array,
    weights: Weights,
    batches: Batches,
    state: Logits,
    order: jax.Array,
    keys: tuple[jax.Array, jax.Array],
    steps_before: int,
    start: int,
    stop: int,
) -> Logits:
    noise_key, attack_key = keys
    optimiser = optax.adam(recipe.learning_rate)

    def step(number: int, state: Logits) -> Logits:
        index = order[number]
        batch: Batches = jax.tree.map(lambda array: array[index], batches)
        noise = _logistic(jax.random.fold_in(noise_key, index), state.scores)

        def sparse(scores: Masks, x: jax.Array) -> jax.Array:
            soft = {
                name: jax.nn.sigmoid((score + state.shift + noise[name]) / TEMPERATURE)
                for name, score in scores.items()
            }
            kept = {name: layer | {"kernel": layer["kernel"] * soft[name]} for name, layer in weights.items()}
            return recipe.network.apply(kept, x)

        here = jax.random.fold_in(attack_key, index)
        moved = pgd(partial(sparse, state.scores), recipe.threat, recipe.attack, batch.x, batch.y, here)
        value, gradient = jax.value_and_grad(lambda scores: reverse_kl(sparse(scores, moved), batch.outputs))(
            state.scores
        )
        updates, optimiser_state = optimiser.update(gradient, state.optimiser)
        scores = optax.apply_updates(state.scores, updates)
        done = steps_before + number + 1
        shift = jax.lax.cond(
            done % recipe.mask_every == 0,
            lambda: _shift(scores, wanted[done // recipe.mask_every]),
            lambda: state.shift,
        )
        return Logits(scores, shift, optimiser_state, state.loss + value)

    return jax.lax.fori_loop(start, stop, step, state)


def _logistic(key: jax.Array, like: Masks) -> Masks:
    keys = jax.random.split(key, len(like))
    return {name: jax.random.logistic(own, score.shape) for own, (name, score) in zip(keys, like.items(), strict=True)}


@jax.jit
def _shift(scores: Masks, density: jax.Array) -> jax.Array:
    """The shift of all logits under which the expected density is the one asked for, by bisection."""
    flat = jnp.concatenate([score.ravel() for score in scores.values()])

    def halve(_: int, bounds: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        low, high = bounds
        middle = (low + high) / 2
        enough = jnp.mean(jax.nn.sigmoid(flat + middle)) > density
        return jnp.where(enough, low, middle), jnp.where(enough, middle, high)

    low, high = jax.lax.fori_loop(0, 40, halve, (-flat.max() - 20.0, -flat.min() + 20.0))
    return (low + high) / 2
