"""Relaxed masks, as Concrete Ticket Search has them: weights stay, the chance that each is kept is learnt.

A mask is drawn from the binary Concrete distribution of the logits at every step; reverse KL brings the outputs under
it to the dense network's. Instead of a balanced penalty, the logits are shifted so that the expected density is the
annealed one. The ticket is the largest logits.
"""

from functools import partial
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from annotated_types import Ge, Le

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, pgd
from awt.keys import generator, key
from awt.loop import Loop, Row, run
from awt.models.network import Masks, Network, Weights
from awt.options import options
from awt.tickets.distances import Batches, reverse_kl
from awt.tickets.masks import annealed, magnitudes, select
from awt.tickets.method import Method, Needs, Positive, Rate, Teacher
from awt.tickets.searching import Searching, step_flops
from awt.tickets.setting import Setting, Ticket

TEMPERATURE = 2.0 / 3.0


@options
class Options(Searching):
    mask_every: Positive = 100  # steps between two shifts of the logits
    anneal_share: Annotated[float, Ge(0), Le(1)] = 0.0  # of the search, over which the density falls from 1; 0: at once
    teacher_epochs: Annotated[int, Ge(0)] = 0
    teacher_rate: Rate = 1e-3


def needs(options: Options) -> Needs:
    return Needs(teacher=Teacher(options.teacher_epochs, options.teacher_rate), outputs=True)


class Program(NamedTuple):
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


def concrete(setting: Setting, options: Options) -> Ticket:
    assert setting.teacher is not None
    assert setting.outputs is not None
    program = Program(setting.network, setting.threat, options.attack, options.learning_rate, options.mask_every)
    (x, y), teacher = setting.batches, setting.teacher
    number = len(x)
    updates = options.epochs * number // options.mask_every
    shares = annealed(setting.network.kernel_shapes, setting.density, "global", updates, options.anneal_share)[:, 0]
    sizes = magnitudes(teacher)
    total = sum(size.size for size in sizes.values())
    batches = Batches(x, y, setting.outputs, jnp.zeros((number, 0)))
    scores = {name: (size - size.mean()) / size.std() for name, size in sizes.items()}
    optimiser = jax.jit(optax.adam(options.learning_rate).init)(scores)
    wanted = jnp.asarray(shares / total, jnp.float32)
    state = Logits(scores, _shift(scores, wanted[0]), optimiser, jnp.zeros(()))
    noise_key, attack_key = key(setting.seed, "concrete", "noise"), key(setting.seed, "concrete", "attack")

    def advance(state: Logits, epoch: int, start: int, stop: int) -> Logits:
        order = generator(setting.seed, "search", "order", epoch).permutation(number)
        keys = jax.random.fold_in(noise_key, epoch), jax.random.fold_in(attack_key, epoch)
        return _advance(program, wanted, teacher, batches, state, order, keys, epoch * number, start, stop)

    def close_epoch(state: Logits, epoch: int) -> tuple[Logits, Row]:
        return state._replace(loss=jnp.zeros(())), {"loss": float(state.loss) / number}

    state, _ = run(Loop(options.epochs, number, advance, close_epoch), state, setting.watch)
    return Ticket(select(state.scores, setting.kept(options.scope)))


@partial(jax.jit, static_argnames="program")
def _advance(
    program: Program,
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
    optimiser = optax.adam(program.learning_rate)

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
            return program.network.apply(kept, x)

        here = jax.random.fold_in(attack_key, index)
        moved = pgd(partial(sparse, state.scores), program.threat, program.attack, batch.x, batch.y, here)
        value, gradient = jax.value_and_grad(lambda scores: reverse_kl(sparse(scores, moved), batch.outputs))(
            state.scores
        )
        updates, optimiser_state = optimiser.update(gradient, state.optimiser)
        scores = optax.apply_updates(state.scores, updates)
        done = steps_before + number + 1
        shift = jax.lax.cond(
            done % program.mask_every == 0,
            lambda: _shift(scores, wanted[done // program.mask_every]),
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


METHOD = Method(concrete, Options, needs, flops=step_flops)
