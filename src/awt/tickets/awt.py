"""Adversarial winning tickets: the mask under which outputs and tangent kernel stay close to the dense network's.

L = target distance + γ² kernel distance + β‖m⊙w‖², minimised over student weights w with Adam; every so many steps the
mask becomes the largest |w|. As published, with the dense network at its initial weights θ₀, the distances are
(1/N)‖f(θ₀, X̃₀) − f(m⊙w, X̃ˢ)‖² and (1/N²)‖Θ₀(X, X̃₀) − Θˢ(X, X̃ˢ)‖²_F, X̃ˢ attacking the current student. A teacher
trained a little way takes the place of θ₀, there and as the student's first weights; the ticket still trains from θ₀.
With `rewind_rounds` the student starts as the ticket will, at θ₀ under the teacher's largest weights, and again after
each round, at the end of which weights are dropped: those are kept that the ticket itself learns to use, not those that
are left of the teacher.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from annotated_types import Ge, Le

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, pgd
from awt.kernels.cost import product_flops, view_flops
from awt.kernels.estimators import Estimator, Masked, estimator, residual
from awt.keys import generator, key
from awt.loop import Loop, Row, run
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.models.size import Problem
from awt.options import options
from awt.tickets.dense_side import HELD_OUT, HELD_OUT_BATCHES, batch_key, search_key
from awt.tickets.distances import DISTANCES, TARGETS, Batches, Gauge, student_function
from awt.tickets.masks import annealed, changed, dropped_late, in_rounds, magnitudes, select, shares, uniform
from awt.tickets.method import Method, Needs, Positive, Rate, Teacher, Views
from awt.tickets.searching import Searching, step_flops
from awt.tickets.setting import Setting, Ticket
from awt.training.cost import attack_passes


@options
class Options(Searching):
    learning_rate: Rate = 5e-4  # of the student's Adam
    teacher_epochs: Annotated[int, Ge(0)] = 0  # of adversarial training that the matched network has behind it
    teacher_rate: Rate = 1e-3
    target: Literal["squared", "reverse_kl", "loss_gradient", "labels"] = "squared"  # labels: matches no outputs
    gamma: Annotated[float, Ge(0)] = 1e-2  # the kernel distance's weight, squared in the loss
    distance: Literal["frobenius", "cosine"] = "frobenius"  # of kernels
    estimator: Literal["probe", "residual", "full", "diagonal"] = "probe"  # how kernels are seen
    probes: Positive = 2  # probe only: random vectors a step
    projected: bool = True  # gradients of the sparse kernel through kept weights only
    decay: Annotated[float, Ge(0)] = 0.0  # of the student's weights, divided by the density
    initial_mask: Literal["magnitude", "random"] = "magnitude"
    mask_every: Positive = 100  # steps between two choices of the mask
    anneal_share: Annotated[float, Ge(0), Le(1)] = 0.0  # without rewinds: of the search, over which the density falls
    rewind_rounds: Annotated[int, Ge(0)] = 0  # rounds, each begun at the initial weights; 0: one, from the teacher's
    drop_share: Annotated[float, Ge(0), Le(1)] = 0.1  # with rewinds: the last part of a round, where weights drop
    start: Literal["rewind", "searched"] = "rewind"  # what retraining starts from

    def __post_init__(self) -> None:
        if self.rewind_rounds > self.epochs:
            raise ValueError(f"`rewind_rounds`: {self.rewind_rounds} do not fit in `epochs`: {self.epochs}")


@dataclass(frozen=True)
class Program:
    """What the compiled search step is specialised to; densities, weights and data are ordinary arguments."""

    network: Network
    threat: Ball
    attack: Attack
    learning_rate: float
    mask_every: int
    target: str
    distance: str
    estimator: Estimator
    projected: bool
    match_kernel: bool


class Student(NamedTuple):
    """The state of a search."""

    weights: Weights
    optimiser: Any
    mask: Masks
    mask_before: Masks  # at the start of the epoch, for the share that changed


class Pressure(NamedTuple):
    """What differs between searches of a grid, as numbers: they share one compiled program."""

    kept: jax.Array  # by mask: the first, and after each so many steps
    gamma: float
    decay: float


def awt(setting: Setting, options: Options) -> Ticket:
    assert setting.teacher is not None
    assert setting.outputs is not None
    program = Program(
        setting.network,
        setting.threat,
        options.attack,
        options.learning_rate,
        options.mask_every,
        options.target,
        options.distance,
        estimator(options.estimator, options.probes),
        options.projected,
        match_kernel=options.gamma > 0,
    )
    (x, y), outputs, views = setting.batches, setting.outputs, setting.views["search"]
    number = len(outputs)
    updates = options.epochs * number // options.mask_every
    asked = setting.network.kernel_shapes, setting.density, options.scope
    if options.rewind_rounds:
        kept = jnp.asarray(dropped_late(*asked, updates, options.drop_share, options.rewind_rounds))
    else:
        kept = jnp.asarray(annealed(*asked, updates, options.anneal_share))
    rewound = _rewound(options, jnp.asarray(in_rounds(*asked, options.rewind_rounds + 1)))
    pressure = Pressure(kept, options.gamma, options.decay / setting.density)
    views_at = lru_cache(1)(lambda number: jnp.asarray(views[number]))  # to the device once an epoch at most
    scores = {"magnitude": magnitudes(setting.teacher), "random": uniform(setting.network, setting.seed)}
    mask = select(scores[options.initial_mask], kept[0])
    begin = jax.jit(optax.adam(options.learning_rate).init)
    first_weights = apply_mask(setting.initial, mask) if options.rewind_rounds else setting.teacher
    student = Student(first_weights, begin(first_weights), mask, mask)
    attack_key = key(setting.seed, "search", "attack")

    def advance(state: Student, epoch: int, start: int, stop: int) -> Student:
        batches = Batches(x, y, outputs, views_at(epoch % len(views)))
        order = generator(setting.seed, "search", "order", epoch).permutation(number)
        keys = search_key(setting.seed, epoch), jax.random.fold_in(attack_key, epoch)
        return _advance(program, pressure, batches, state, order, keys, epoch * number, start, stop)

    held_out = Batches(x, y, outputs, jnp.asarray(setting.views["held_out"]))
    measure = Gauge(setting.network, setting.threat, options.attack, options.projected).on(held_out, setting.seed)

    def close_epoch(state: Student, epoch: int) -> tuple[Student, Row]:
        if epoch + 1 in rewound:
            state = state._replace(mask=select(magnitudes(state.weights), rewound[epoch + 1]))
        row = measure(state.weights, state.mask) | {"changed": changed(state.mask, state.mask_before)}
        row |= shares(state.mask)
        if epoch + 1 in rewound:
            weights = apply_mask(setting.initial, state.mask)
            state = state._replace(weights=weights, optimiser=begin(weights))
        return state._replace(mask_before=state.mask), row

    first = {"epoch": 0.0, **measure(student.weights, student.mask), "changed": 0.0, **shares(mask)}
    student, rows = run(Loop(options.epochs, number, advance, close_epoch), student, setting.watch)
    start = apply_mask(student.weights, student.mask) if options.start == "searched" else None
    return Ticket(student.mask, [first, *rows], start)


def _rewound(options: Options, kept: jax.Array) -> dict[int, jax.Array]:
    """What is kept after each epoch that ends a round but the last; `kept` is by round, the teacher's first."""
    return {
        round(options.epochs * number / options.rewind_rounds): kept[number]
        for number in range(1, options.rewind_rounds)
    }


@partial(jax.jit, static_argnames="program")
def _advance(
    program: Program,
    pressure: Pressure,
    batches: Batches,
    student: Student,
    order: jax.Array,
    keys: tuple[jax.Array, jax.Array],
    steps_before: int,
    start: int,
    stop: int,
) -> Student:
    """Steps start..stop of an epoch, wholly on the device."""
    views_key, attack_key = keys
    optimiser = optax.adam(program.learning_rate)

    def step(number: int, student: Student) -> Student:
        index = order[number]
        batch: Batches = jax.tree.map(lambda array: array[index], batches)
        function = student_function(program.network, student.mask)
        moved = pgd(
            partial(function, student.weights),
            program.threat,
            program.attack,
            batch.x,
            batch.y,
            jax.random.fold_in(attack_key, index),
        )

        def loss(weights: Weights) -> jax.Array:
            value = TARGETS[program.target](function(weights, moved), batch.outputs, batch.y)
            if program.match_kernel:
                subject = Masked(program.network, weights, student.mask, program.projected)
                views = program.estimator.views(
                    subject, batch.x, moved, batch_key(views_key, index), residual(batch.outputs, batch.y)
                )
                value += pressure.gamma**2 * DISTANCES[program.distance](views, batch.views)
            kept = apply_mask(weights, student.mask)
            return value + pressure.decay * sum(jnp.sum(layer["kernel"] ** 2) for layer in kept.values())

        updates, state = optimiser.update(jax.grad(loss)(student.weights), student.optimiser)
        # a pruned weight keeps its stored value: Adam's momentum must not carry it on
        weights = optax.apply_updates(student.weights, apply_mask(updates, student.mask))
        done = steps_before + number + 1
        mask = jax.lax.cond(
            done % program.mask_every == 0,
            lambda: select(magnitudes(weights), pressure.kept[done // program.mask_every]),
            lambda: student.mask,
        )
        return Student(weights, state, mask, student.mask_before)

    return jax.lax.fori_loop(start, stop, step, student)


def needs(options: Options) -> Needs:
    views = Views(options.estimator, options.probes, options.epochs, matched=options.gamma > 0)
    return Needs(teacher=Teacher(options.teacher_epochs, options.teacher_rate), outputs=True, views=views)


def flops(options: Options, eps: float, problem: Problem) -> float:
    """The steps with what they see of the kernel; before them and after each epoch, distances on held-out batches."""
    points, total = problem.points(options.batch), step_flops(options, eps, problem)
    if options.gamma > 0:
        seen = view_flops(options.estimator, options.probes, options.batch, problem, gradient=True)
        total += options.epochs * points * seen
    distances = (attack_passes(options.attack, eps) + 1) * problem.forward + product_flops(problem, HELD_OUT.probes)
    return total + (options.epochs + 1) * min(HELD_OUT_BATCHES * options.batch, points) * distances


METHOD = Method(awt, Options, needs, gives_start=lambda options: options.start == "searched", flops=flops)
