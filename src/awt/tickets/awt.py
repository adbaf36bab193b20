"""Adversarial winning tickets: the mask under which outputs and tangent kernel stay close to the dense network's.

L = target distance + γ² kernel distance + β‖m⊙w‖², minimised over student weights w with Adam; every so many steps the
mask becomes the largest |w|. As published, with the dense network at its initial weights θ₀, the distances are
(1/N)‖f(θ₀, X̃₀) − f(m⊙w, X̃ˢ)‖² and (1/N²)‖Θ₀(X, X̃₀) − Θˢ(X, X̃ˢ)‖²_F, X̃ˢ attacking the current student. A teacher
trained a little way takes the place of θ₀, there and as the student's first weights; the ticket still trains from θ₀.
With `rewinds` the student starts as the ticket will, at θ₀ under the teacher's largest weights, and again after each
round, at the end of which weights are dropped: those are kept that the ticket itself learns to use, not those that are
left of the teacher.
"""

from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from awt.attacks.ball import Ball
from awt.attacks.pgd import pgd
from awt.kernels.dense_side import batch_key, search_key
from awt.kernels.estimators import Estimator, Masked, estimator, residual
from awt.keys import generator, key
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.params import Attack, Search
from awt.runtime.resume import Loop, Row, run
from awt.tickets.distances import DISTANCES, TARGETS, Batches, Gauge, student_function
from awt.tickets.masks import annealed, changed, dropped_late, in_rounds, magnitudes, select, shares, uniform
from awt.tickets.setting import Setting, Ticket


@dataclass(frozen=True)
class Recipe:
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


def awt(setting: Setting) -> Ticket:
    search = setting.search
    assert setting.teacher is not None
    assert setting.outputs is not None
    recipe = Recipe(
        setting.network,
        setting.threat,
        search.attack,
        search.learning_rate,
        search.mask_every,
        search.target,
        search.distance,
        estimator(search.estimator, search.probes),
        search.projected,
        match_kernel=search.gamma > 0,
    )
    (x, y), outputs, views = setting.batches, setting.outputs, setting.views["search"]
    number = len(outputs)
    updates = search.epochs * number // search.mask_every
    asked = setting.network.kernel_shapes, setting.density, search.scope
    if search.rewinds:
        kept = jnp.asarray(dropped_late(*asked, updates, search.drop, search.rewinds))
    else:
        kept = jnp.asarray(annealed(*asked, updates, search.anneal))
    rewound = _rewound(search, jnp.asarray(in_rounds(*asked, search.rewinds + 1)))
    pressure = Pressure(kept, search.gamma, search.decay / setting.density)
    views_at = lru_cache(1)(lambda number: jnp.asarray(views[number]))  # to the device once an epoch at most
    scores = {"magnitude": magnitudes(setting.teacher), "random": uniform(setting.network, setting.seed)}
    mask = select(scores[search.initial_mask], kept[0])
    begin = jax.jit(optax.adam(search.learning_rate).init)
    first_weights = apply_mask(setting.initial, mask) if search.rewinds else setting.teacher
    student = Student(first_weights, begin(first_weights), mask, mask)
    attack_key = key(setting.seed, "search", "attack")

    def advance(state: Student, epoch: int, start: int, stop: int) -> Student:
        batches = Batches(x, y, outputs, views_at(epoch % len(views)))
        order = generator(setting.seed, "search", "order", epoch).permutation(number)
        keys = search_key(setting.seed, epoch), jax.random.fold_in(attack_key, epoch)
        return _advance(recipe, pressure, batches, state, order, keys, epoch * number, start, stop)

    held_out = Batches(x, y, outputs, jnp.asarray(setting.views["held_out"]))
    measure = Gauge(setting.network, setting.threat, search.attack, search.projected).on(held_out, setting.seed)

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
    student, rows = run(Loop(search.epochs, number, advance, close_epoch), student, setting.context)
    start = apply_mask(student.weights, student.mask) if search.start == "searched" else None
    return Ticket(student.mask, [first, *rows], start)


def _rewound(search: Search, kept: jax.Array) -> dict[int, jax.Array]:
    """What is kept after each epoch that ends a round but the last; `kept` is by round, the teacher's first."""
    return {round(search.epochs * number / search.rewinds): kept[number] for number in range(1, search.rewinds)}


@partial(jax.jit, static_argnames="recipe")
def _advance(
    recipe: Recipe,
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
    optimiser = optax.adam(recipe.learning_rate)

    def step(number: int, student: Student) -> Student:
        index = order[number]
        batch: Batches = jax.tree.map(lambda array: array[index], batches)
        function = student_function(recipe.network, student.mask)
        moved = pgd(
            partial(function, student.weights),
            recipe.threat,
            recipe.attack,
            batch.x,
            batch.y,
            jax.random.fold_in(attack_key, index),
        )

        def loss(weights: Weights) -> jax.Array:
            value = TARGETS[recipe.target](function(weights, moved), batch.outputs, batch.y)
            if recipe.match_kernel:
                subject = Masked(recipe.network, weights, student.mask, recipe.projected)
                views = recipe.estimator.views(
                    subject, batch.x, moved, batch_key(views_key, index), residual(batch.outputs, batch.y)
                )
                value += pressure.gamma**2 * DISTANCES[recipe.distance](views, batch.views)
            kept = apply_mask(weights, student.mask)
            return value + pressure.decay * sum(jnp.sum(layer["kernel"] ** 2) for layer in kept.values())

        updates, state = optimiser.update(jax.grad(loss)(student.weights), student.optimiser)
        # a pruned weight keeps its stored value: Adam's momentum must not carry it on
        weights = optax.apply_updates(student.weights, apply_mask(updates, student.mask))
        done = steps_before + number + 1
        mask = jax.lax.cond(
            done % recipe.mask_every == 0,
            lambda: select(magnitudes(weights), pressure.kept[done // recipe.mask_every]),
            lambda: student.mask,
        )
        return Student(weights, state, mask, student.mask_before)

    return jax.lax.fori_loop(start, stop, step, student)
