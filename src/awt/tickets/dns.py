"""Dynamic network surgery (Guo et al., 2016): prunes and splices while training adversarially.

Gradients at the pruned network reach all weights, pruned ones too, which may so grow back; every so many steps the mask
becomes the largest |w|, at a density annealed to the one asked for. The ticket starts from the weights so trained.
Its curve shows how far it goes from the dense network as initialised, which it does not look at.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from awt.attacks.pgd import pgd
from awt.kernels.dense_side import HELD_OUT_BATCHES, held_out_side
from awt.keys import key
from awt.models.network import Masks, Weights, apply_mask
from awt.runtime.resume import Loop, Row, run
from awt.tickets.distances import Batches, Gauge
from awt.tickets.masks import annealed, changed, magnitudes, select, shares
from awt.tickets.setting import Setting, Ticket
from awt.training.adversarial import Recipe, shuffled_batches


class Surgery(NamedTuple):
    weights: Weights
    optimiser: Any
    mask: Masks
    mask_before: Masks  # at the start of the epoch, for the share that changed


def dns(setting: Setting) -> Ticket:
    search = setting.search
    recipe = Recipe(setting.network, setting.threat, search.attack, search.teacher_rate)
    x, y = jnp.asarray(setting.dataset.train_x), jnp.asarray(setting.dataset.train_y)
    steps = len(y) // search.batch
    updates = search.epochs * steps // search.mask_every
    kept = jnp.asarray(annealed(setting.network.kernel_shapes, setting.density, search.scope, updates, search.anneal))
    attack_key = key(setting.seed, "dns", "attack")

    def advance(state: Surgery, epoch: int, start: int, stop: int) -> Surgery:
        batches = shuffled_batches(setting.seed, epoch, len(y), search.batch)
        here = jax.random.fold_in(attack_key, epoch)
        return _advance(recipe, search.mask_every, kept, x, y, batches, here, state, epoch * steps, start, stop)

    measure = _measure(setting)

    def close_epoch(state: Surgery, epoch: int) -> tuple[Surgery, Row]:
        row = measure(state.weights, state.mask) | {"changed": changed(state.mask, state.mask_before)}
        return state._replace(mask_before=state.mask), row | shares(state.mask)

    mask = select(magnitudes(setting.initial), kept[0])
    optimiser = jax.jit(optax.adam(search.teacher_rate).init)(setting.initial)
    state = Surgery(setting.initial, optimiser, mask, mask)
    first = {"epoch": 0.0, **measure(state.weights, mask), "changed": 0.0, **shares(mask)}
    state, rows = run(Loop(search.epochs, steps, advance, close_epoch), state, setting.context)
    return Ticket(state.mask, [first, *rows], start=apply_mask(state.weights, state.mask))


def _measure(setting: Setting) -> Callable[[Weights, Masks], Row]:
    """The distances from the dense network at its initial weights, as the curves of searches have them."""
    x, y = (part[:HELD_OUT_BATCHES] for part in setting.batches)
    common = setting.network, setting.threat, setting.search.attack
    outputs, views = held_out_side(*common, setting.initial, x, y, setting.seed)
    return Gauge(*common, projected=True).on(Batches(x, y, outputs, views), setting.seed)


@partial(jax.jit, static_argnames=("recipe", "mask_every"))
def _advance(
    recipe: Recipe,
    mask_every: int,
    kept: jax.Array,
    x: jax.Array,
    y: jax.Array,
    batches: jax.Array,
    attack_key: jax.Array,
    state: Surgery,
    steps_before: int,
    start: int,
    stop: int,
) -> Surgery:
    optimiser = optax.adam(recipe.learning_rate)

    def step(number: int, state: Surgery) -> Surgery:
        batch_x, batch_y = x[batches[number]], y[batches[number]]
        pruned = apply_mask(state.weights, state.mask)
        here = jax.random.fold_in(attack_key, number)
        moved = pgd(partial(recipe.network.apply, pruned), recipe.threat, recipe.attack, batch_x, batch_y, here)

        def loss(weights: Weights) -> jax.Array:
            logits = recipe.network.apply(weights, moved)
            return optax.softmax_cross_entropy_with_integer_labels(logits, batch_y).mean()

        gradient = jax.grad(loss)(pruned)  # at m⊙w, with respect to all of it
        updates, optimiser_state = optimiser.update(gradient, state.optimiser)
        weights = optax.apply_updates(state.weights, updates)
        done = steps_before + number + 1
        mask = jax.lax.cond(
            done % mask_every == 0,
            lambda: select(magnitudes(weights), kept[done // mask_every]),
            lambda: state.mask,
        )
        return Surgery(weights, optimiser_state, mask, state.mask_before)

    return jax.lax.fori_loop(start, stop, step, state)
