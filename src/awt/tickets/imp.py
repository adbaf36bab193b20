"""Iterative magnitude pruning (Cosentino et al., 2019): train adversarially, prune the smallest, rewind, again.

All rounds together take the search's epochs; the density falls geometrically from round to round.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from awt.keys import key
from awt.loop import Loop, Row, run
from awt.models.network import Masks
from awt.options import options
from awt.tickets.masks import in_rounds, magnitudes, select, shares
from awt.tickets.method import Method, Positive
from awt.tickets.searching import Searching, step_flops
from awt.tickets.setting import Setting, Ticket
from awt.training.adversarial import Program, TrainingState, advance_epoch, shuffled_batches, start


@options
class Options(Searching):
    rounds: Positive = 4  # of training and pruning, all together of so many epochs

    def __post_init__(self) -> None:
        if self.rounds > self.epochs:
            raise ValueError(f"`rounds`: {self.rounds} trainings do not fit in `epochs`: {self.epochs}")


class Round(NamedTuple):
    training: TrainingState
    mask: Masks


def imp(setting: Setting, options: Options) -> Ticket:
    program = Program(setting.network, setting.threat, options.attack, options.learning_rate)
    x, y = jnp.asarray(setting.dataset.train_x), jnp.asarray(setting.dataset.train_y)
    ends = {round(options.epochs * (number + 1) / options.rounds): number for number in range(options.rounds)}
    kept = jnp.asarray(in_rounds(setting.network.kernel_shapes, setting.density, options.scope, options.rounds))
    attack_key = key(setting.seed, "imp", "attack")

    def advance(state: Round, epoch: int, begin: int, stop: int) -> Round:
        batches = shuffled_batches(setting.seed, epoch, len(y), options.batch)
        here = jax.random.fold_in(attack_key, epoch)
        return state._replace(
            training=advance_epoch(program, state.mask, x, y, batches, here, state.training, begin, stop)
        )

    def close_epoch(state: Round, epoch: int) -> tuple[Round, Row]:
        row = {"loss": float(state.training.loss) / (len(y) // options.batch * options.batch)}
        if epoch + 1 not in ends:
            clean = state.training._replace(loss=jnp.zeros(()), hits=jnp.zeros((), jnp.int32))
            return state._replace(training=clean), row | shares(state.mask)
        # pruned weights are 0 and stay last
        mask = select(magnitudes(state.training.weights), kept[ends[epoch + 1]])
        return Round(start(program, setting.initial, mask), mask), row | shares(mask)

    first = setting.network.everything()
    loop = Loop(options.epochs, len(y) // options.batch, advance, close_epoch)
    state, _ = run(loop, Round(start(program, setting.initial, first), first), setting.watch)
    return Ticket(state.mask)


METHOD = Method(imp, Options, flops=step_flops)
