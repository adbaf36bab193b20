"""Dynamic network surgery (Guo et al., 2016): prunes and splices while training adversarially.

Gradients at the pruned network reach all weights, pruned ones too, which may so grow back; every so many steps the mask
becomes the largest |w|, at a density annealed to the one asked for. The ticket starts from the weights so trained.
Its curve shows how far it goes from the dense network as initialised, which it does not look at.
"""

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from annotated_types import Ge, Le

from awt.attacks.pgd import pgd
from awt.keys import key
from awt.loop import Loop, Row, run
from awt.models.network import Masks, Weights, apply_mask
from awt.options import options
from awt.tickets.dense_side import HELD_OUT_BATCHES, held_out_side
from awt.tickets.distances import Batches, Gauge
from awt.tickets.masks import annealed, changed, magnitudes, select, shares
from awt.tickets.method import Method, Positive
from awt.tickets.searching import Searching, step_flops
from awt.tickets.setting import Setting, Ticket
from awt.training.adversarial import Program, shuffled_batches


@options
class Options(Searching):
    mask_every: Positive = 100  # steps between two choices of the mask
    anneal_share: Annotated[float, Ge(0), Le(1)] = 0.0  # of the search, over which the density falls from 1; 0: at once


class Surgery(NamedTuple):
    weights: Weights
    optimiser: Any
    mask: Masks
    mask_before: Masks  # at the start of the epoch, for the share that changed


def dns(setting: Setting, options: Options) -> Ticket:
    program = Program(setting.network, setting.threat, options.attack, options.learning_rate)
    x, y = jnp.asarray(setting.dataset.train_x), jnp.asarray(setting.dataset.train_y)
    steps = len(y) // options.batch
    updates = options.epochs * steps // options.mask_every
    kept = jnp.asarray(
        annealed(setting.network.kernel_shapes, setting.density, options.scope, updates, options.anneal_share)
    )
    attack_key = key(setting.seed, "dns", "attack")

    def advance(state: Surgery, epoch: int, start: int, stop: int) -> Surgery:
        batches = shuffled_batches(setting.seed, epoch, len(y), options.batch)
        here = jax.random.fold_in(attack_key, epoch)
        return _advance(program, options.mask_every, kept, x, y, batches, here, state, epoch * steps, start, stop)

    measure = _measure(setting, options)

    def close_epoch(state: Surgery, epoch: int) -> tuple[Surgery, Row]:
        row = measure(state.weights, state.mask) | {"changed": changed(state.mask, state.mask_before)}
        return state._replace(mask_before=state.mask), row | shares(state.mask)

    mask = select(magnitudes(setting.initial), kept[0])
    optimiser = jax.jit(optax.adam(options.learning_rate).init)(setting.initial)
    state = Surgery(setting.initial, optimiser, mask, mask)
    first = {"epoch": 0.0, **measure(state.weights, mask), "changed": 0.0, **shares(mask)}
    state, rows = run(Loop(options.epochs, steps, advance, close_epoch), state, setting.watch)
    return Ticket(state.mask, [first, *rows], start=apply_mask(state.weights, state.mask))


def _measure(setting: Setting, options: Options) -> Callable[[Weights, Masks], Row]:
    """The distances from the dense network at its initial weights, as the curves of searches have them."""
    x, y = (part[:HELD_OUT_BATCHES] for part in setting.batches)
    common = setting.network, setting.threat, options.attack
    outputs, views = held_out_side(*common, setting.initial, x, y, setting.seed)
    return Gauge(*common, projected=True).on(Batches(x, y, outputs, views), setting.seed)


@partial(jax.jit, static_argnames=("program", "mask_every"))
def _advance(
    program: Program,
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
    optimiser = optax.adam(program.learning_rate)

    def step(number: int, state: Surgery) -> Surgery:
        batch_x, batch_y = x[batches[number]], y[batches[number]]
        pruned = apply_mask(state.weights, state.mask)
        here = jax.random.fold_in(attack_key, number)
        moved = pgd(partial(program.network.apply, pruned), program.threat, program.attack, batch_x, batch_y, here)

        def loss(weights: Weights) -> jax.Array:
            logits = program.network.apply(weights, moved)
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


METHOD = Method(dns, Options, gives_start=lambda options: True, flops=step_flops)
