"""Iterative magnitude pruning (Cosentino et al., 2019): train adversarially, prune the smallest, rewind, again.

All rounds together take the search's epochs; the density falls geometrically from round to round.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from awt.errors import InputError
from awt.keys import key
from awt.models.network import Masks
from awt.runtime.resume import Loop, Row, run
from awt.tickets.masks import in_rounds, magnitudes, select, shares
from awt.tickets.setting import Setting, Ticket
from awt.training.adversarial import Recipe, State, advance_epoch, shuffled_batches, start


class Round(NamedTuple):
    training: State
    mask: Masks


def imp(setting: Setting) -> Ticket:
    search = setting.search
    if search.rounds > search.epochs:
        raise InputError(f"search.rounds: {search.rounds} trainings do not fit in search.epochs: {search.epochs}")
    recipe = Recipe(setting.network, setting.threat, search.attack, search.teacher_rate)
    x, y = jnp.asarray(setting.dataset.train_x), jnp.asarray(setting.dataset.train_y)
    ends = {round(search.epochs * (number + 1) / search.rounds): number for number in range(search.rounds)}
    kept = jnp.asarray(in_rounds(setting.network.kernel_shapes, setting.density, search.scope, search.rounds))
    attack_key = key(setting.seed, "imp", "attack")

    def advance(state: Round, epoch: int, begin: int, stop: int) -> Round:
        batches = shuffled_batches(setting.seed, epoch, len(y), search.batch)
        here = jax.random.fold_in(attack_key, epoch)
        return state._replace(
            training=advance_epoch(recipe, state.mask, x, y, batches, here, state.training, begin, stop)
        )

    def close_epoch(state: Round, epoch: int) -> tuple[Round, Row]:
        row = {"loss": float(state.training.loss) / (len(y) // search.batch * search.batch)}
        if epoch + 1 not in ends:
            clean = state.training._replace(loss=jnp.zeros(()), hits=jnp.zeros((), jnp.int32))
            return state._replace(training=clean), row | shares(state.mask)
        # pruned weights are 0 and stay last
        mask = select(magnitudes(state.training.weights), kept[ends[epoch + 1]])
        return Round(start(recipe, setting.initial, mask), mask), row | shares(mask)

    first = setting.network.everything()
    loop = Loop(search.epochs, len(y) // search.batch, advance, close_epoch)
    state, _ = run(loop, Round(start(recipe, setting.initial, first), first), setting.context)
    return Ticket(state.mask)
