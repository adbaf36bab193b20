"""Adversarial training of a masked network from its initial weights."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from awt.attacks.ball import Ball, ball
from awt.attacks.objectives import Logits
from awt.attacks.pgd import Attack, pgd
from awt.data.dataset import Dataset
from awt.errors import InputError
from awt.keys import generator, key
from awt.loop import UNWATCHED, Loop, Row, Watch, run
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.training.devices import placed, shared
from awt.training.objectives.objective import Goal, objective
from awt.training.objectives.pgd import OBJECTIVE as PGD
from awt.training.options import Training

_PGD = Goal(PGD)


@dataclass(frozen=True)
class Program:
    """What the compiled training step is specialised to."""

    network: Network
    threat: Ball
    attack: Attack
    learning_rate: float
    goal: Goal = _PGD
    extra_threats: tuple[Ball, ...] = ()  # each step meets one of all by chance
    schedule: str = "constant"
    decay: float = 0.0
    warmup: int = 0  # steps over which ε rises from 0
    steps: int = 0  # of the whole run; for schedules
    devices: int = 1  # that share a batch

    @property
    def optimiser(self) -> optax.GradientTransformation:
        rate: optax.ScalarOrSchedule = self.learning_rate
        if self.schedule == "cosine":
            rate = optax.cosine_decay_schedule(self.learning_rate, self.steps)
        elif self.schedule == "steps":
            drops = {int(0.75 * self.steps): 0.1, int(0.9 * self.steps): 0.1}
            rate = optax.piecewise_constant_schedule(self.learning_rate, drops)
        if self.decay == 0:
            return optax.adam(rate)
        return optax.adamw(rate, weight_decay=self.decay, mask=_kernels)


def _kernels(weights: Weights) -> dict[str, dict[str, bool]]:
    """What decays: biases do not."""
    return {name: {part: part == "kernel" for part in layer} for name, layer in weights.items()}


class TrainingState(NamedTuple):
    """The state of a training run; loss and hits are sums over the epoch so far."""

    weights: Weights
    optimiser: Any
    loss: jax.Array
    hits: jax.Array


class Kept(NamedTuple):
    """A run, and its weights after the epoch of the best robust validation accuracy (where asked for)."""

    training: TrainingState
    best: Weights
    best_value: jax.Array


def train(
    network: Network,
    initial: Weights,
    mask: Masks,
    dataset: Dataset,
    threat: Ball,
    options: Training,
    seed: int,
    watch: Watch = UNWATCHED,
) -> tuple[Weights, list[Row]]:
    """Trains f(m⊙θ) from θ₀; returns weights whose pruned entries are exactly 0, and a row of figures an epoch."""
    steps = len(dataset.train_y) // options.batch
    if steps == 0:
        raise InputError(f"retrain.batch: {options.batch} is more than the {len(dataset.train_y)} training points")
    program = program_of(network, threat, dataset, options, steps)
    keeps_best = options.keep_epoch == "best"
    first = start(program, initial, mask)
    state = Kept(first, first.weights if keeps_best else {}, jnp.array(-1.0))
    x, y = (placed(jnp.asarray(part), program.devices) for part in (dataset.train_x, dataset.train_y))
    attack_key = key(seed, "retrain", "attack")
    validate = _validation(program, dataset, key(seed, "retrain", "validation"))

    def advance(state: Kept, epoch: int, start: int, stop: int) -> Kept:
        batches = shuffled_batches(seed, epoch, len(y), options.batch)
        here = jax.random.fold_in(attack_key, epoch)
        done = epoch * steps
        return state._replace(
            training=advance_epoch(program, mask, x, y, batches, here, state.training, start, stop, done)
        )

    def close_epoch(state: Kept, epoch: int) -> tuple[Kept, Row]:
        training, points = state.training, steps * options.batch
        row = {"loss": float(training.loss) / points, "train_adversarial": float(training.hits) / points}
        row |= validate(training.weights)
        if keeps_best and row["validation_adversarial"] > float(state.best_value):
            state = state._replace(best=training.weights, best_value=jnp.array(row["validation_adversarial"]))
        fresh = training._replace(loss=jnp.zeros(()), hits=jnp.zeros((), jnp.int32))
        return state._replace(training=fresh), row

    state, rows = run(Loop(options.epochs, steps, advance, close_epoch), state, watch)
    return state.best if keeps_best else state.training.weights, rows


def program_of(network: Network, threat: Ball, dataset: Dataset, options: Training, steps: int) -> Program:
    devices = jax.local_device_count()
    return Program(
        network,
        threat,
        options.attack,
        options.learning_rate,
        _goal(options),
        tuple(ball(other, dataset.std) for other in options.extra_threats),
        options.schedule,
        options.decay,
        round(options.warmup_share * options.epochs * steps),
        options.epochs * steps if options.schedule != "constant" else 0,
        devices if options.batch % devices == 0 else 1,
    )


def _goal(options: Training) -> Goal:
    chosen = objective(options.objective)
    return Goal(chosen, chosen.options(**options.objective_options), options.label_smoothing)


def shuffled_batches(seed: int, epoch: int, points: int, batch: int) -> np.ndarray:
    """Point indices [steps, batch] in an epoch's own order; the ragged rest is left out."""
    steps = points // batch
    return generator(seed, "retrain", "order", epoch).permutation(points)[: steps * batch].reshape(steps, batch)


@partial(jax.jit, static_argnames="program")
def start(program: Program, initial: Weights, mask: Masks) -> TrainingState:
    weights = apply_mask(initial, mask)
    return TrainingState(weights, program.optimiser.init(weights), jnp.zeros(()), jnp.zeros((), jnp.int32))


@partial(jax.jit, static_argnames="program")
def advance_epoch(
    program: Program,
    mask: Masks,
    x: jax.Array,
    y: jax.Array,
    batches: jax.Array,
    attack_key: jax.Array,
    state: TrainingState,
    start: int,
    stop: int,
    steps_before: int = 0,
) -> TrainingState:
    """Steps start..stop of an epoch, wholly on the device."""
    optimiser = program.optimiser

    def function(weights: Weights, x: jax.Array) -> jax.Array:
        return program.network.apply(apply_mask(weights, mask), x)

    def step(number: int, state: TrainingState) -> TrainingState:
        batch_x, batch_y = (shared(part[batches[number]], program.devices) for part in (x, y))
        here = jax.random.fold_in(attack_key, number)
        moved = _attacked(program, partial(function, state.weights), batch_x, batch_y, here, steps_before + number)

        def loss(weights: Weights) -> tuple[jax.Array, jax.Array]:
            return program.goal.loss(function, weights, batch_x, moved, batch_y)

        (value, logits), gradient = jax.value_and_grad(loss, has_aux=True)(state.weights)
        updates, optimiser_state = optimiser.update(gradient, state.optimiser, state.weights)
        weights = optax.apply_updates(state.weights, updates)
        hits = jnp.sum(logits.argmax(axis=-1) == batch_y)
        return TrainingState(weights, optimiser_state, state.loss + value * len(batch_y), state.hits + hits)

    return jax.lax.fori_loop(start, stop, step, state)


def _attacked(
    program: Program, logits: Logits, x: jax.Array, y: jax.Array, key: jax.Array, number: jax.Array | int
) -> jax.Array:
    """The batch after the attack of the step's threat."""
    balls = (program.threat, *program.extra_threats)
    if program.warmup > 0:
        share = jnp.minimum((number + 1) / program.warmup, 1.0)
        balls = tuple(ball.scaled(share) for ball in balls)
    attacks = [partial(program.goal.attacked, logits, ball, program.attack) for ball in balls]
    if len(attacks) == 1:
        return attacks[0](x, y, key)
    chosen = jax.random.randint(jax.random.fold_in(key, 1), (), 0, len(attacks))
    return jax.lax.switch(chosen, attacks, x, y, key)


def _validation(program: Program, dataset: Dataset, attack_key: jax.Array) -> Callable[[Weights], Row]:
    """Natural and adversarial accuracy on the validation part; NaN where there is none."""
    x, y = jnp.asarray(dataset.validation_x), jnp.asarray(dataset.validation_y)

    def validate(weights: Weights) -> Row:
        if len(y) == 0:
            return {"validation_natural": float("nan"), "validation_adversarial": float("nan")}
        natural, adversarial = _hits(program, weights, x, y, attack_key)
        return {
            "validation_natural": float(natural) / len(y),
            "validation_adversarial": float(adversarial) / len(y),
        }

    return validate


@partial(jax.jit, static_argnames="program")
def _hits(
    program: Program, weights: Weights, x: jax.Array, y: jax.Array, key: jax.Array
) -> tuple[jax.Array, jax.Array]:
    function = partial(program.network.apply, weights)
    moved = pgd(function, program.threat, program.attack, x, y, key)
    return jnp.sum(function(x).argmax(-1) == y), jnp.sum(function(moved).argmax(-1) == y)
