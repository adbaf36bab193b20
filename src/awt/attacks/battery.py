"""Throws attacks at a network, each at the points still standing, and keeps for every point what broke it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from awt.attacks.attacker import Attacker, Points, fold_in
from awt.attacks.ball import Ball
from awt.attacks.objectives import fooled
from awt.attacks.outcome import NATURAL, STANDING, Outcome
from awt.errors import InputError
from awt.models.compact import compact
from awt.models.network import Network, Weights, nonzero

Report = Callable[[str, int, int, int], None]  # the attack, its try, of how many, points still standing


@dataclass(frozen=True)
class Victim:
    """What is attacked; with a `surrogate`, attacks are made against that one and tried on this."""

    network: Network
    weights: Weights
    surrogate: "Victim | None" = None

    @classmethod
    def narrow(cls, network: Network, weights: Weights) -> "Victim":
        """Leaves out units that zeros cut off, but no pixels: attacks may move those that the network does not see."""
        reduced = compact(network, weights, nonzero(weights), pixels=False)
        return cls(reduced.network, reduced.weights(weights))


def begin(victim: Victim, x: np.ndarray, y: np.ndarray) -> Outcome:
    """Before any attack: points that are wrong as they are."""
    logits = np.asarray(_answers(victim.network, victim.weights, x))
    right = (logits.argmax(axis=1) == y) & np.isfinite(logits).all(axis=1)
    return Outcome(np.where(right, STANDING, NATURAL), np.array(x), np.zeros(len(y), np.float32))


def strike(
    victim: Victim,
    ball: Ball,
    attack: Attacker,
    number: int,
    x: np.ndarray,
    y: np.ndarray,
    keys: jax.Array,
    before: Outcome,
    report: Report = lambda *_: None,
) -> Outcome:
    """One attack, the `number`-th of its suite, on what is still standing; keys are one a point, whatever the batch."""
    if ball.norm not in attack.norms:
        raise InputError(f"the attack {attack.name} is not defined for {ball.norm}, only for {', '.join(attack.norms)}")
    found = Outcome(before.by.copy(), before.moved.copy(), before.size.copy())
    if ball.eps == 0.0:
        return found
    source = victim.surrogate or victim
    ranked = _ranked(victim.network, victim.weights, x, y)
    tries = attack.tries(ranked.shape[1] + 1)
    keys = fold_in(keys, number)
    for turn, rank in enumerate(tries):
        left = np.flatnonzero(found.standing)
        report(attack.name, turn, len(tries), len(left))
        if len(left) == 0:
            break
        padded = np.resize(left, bucket(len(left), len(y)))
        points = Points(
            jnp.asarray(x[padded]),
            jnp.asarray(y[padded]),
            fold_in(keys[padded], turn),
            ranked[padded, (rank or 1) - 1],
            jnp.arange(len(padded)) < len(left),
        )
        moved = _try(source.network, ball, attack, source.weights, points)
        broken, size = _judge(victim.network, ball, victim.weights, points.x, points.y, moved)
        hit = np.flatnonzero(np.asarray(broken)[: len(left)])
        found.by[left[hit]] = number
        found.moved[left[hit]] = np.asarray(moved)[hit]
        found.size[left[hit]] = np.asarray(size)[hit]
    return found


def throw(
    victim: Victim, ball: Ball, attacks: Sequence[Attacker], x: np.ndarray, y: np.ndarray, key: jax.Array
) -> Outcome:
    """A whole suite."""
    outcome = begin(victim, x, y)
    keys = keys_of(key, np.arange(len(y)))
    for number, attack in enumerate(attacks):
        outcome = strike(victim, ball, attack, number, x, y, keys, outcome)
    return outcome


def keys_of(key: jax.Array, numbers: np.ndarray) -> jax.Array:
    """A key a point, of the point's number."""
    return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.asarray(numbers))


def bucket(left: int, whole: int) -> int:
    """The batch for so many points: eighths of the whole, below that halves, so that few programs are compiled."""
    size = -(-whole // 8)
    if left > size:
        return min(-(-left // size) * size, whole)
    while size // 2 >= max(left, 8):
        size //= 2
    return size


@partial(jax.jit, static_argnames="network")
def _answers(network: Network, weights: Weights, x: jax.Array) -> jax.Array:
    return network.apply(weights, x)


@partial(jax.jit, static_argnames="network")
def _ranked(network: Network, weights: Weights, x: jax.Array, y: jax.Array) -> jax.Array:
    """The wrong classes by their logits, the highest first."""
    logits = network.apply(weights, x)
    wrong = jnp.where(jax.nn.one_hot(y, logits.shape[1], dtype=bool), -jnp.inf, logits)
    return jnp.argsort(-wrong, axis=1)[:, :-1]


@partial(jax.jit, static_argnames=("network", "attack"))
def _try(network: Network, ball: Ball, attack: Attacker, weights: Weights, points: Points) -> jax.Array:
    return ball.project(points.x, attack(partial(network.apply, weights), ball, points))


@partial(jax.jit, static_argnames="network")
def _judge(
    network: Network, ball: Ball, weights: Weights, x: jax.Array, y: jax.Array, moved: jax.Array
) -> tuple[jax.Array, jax.Array]:
    return fooled(network.apply(weights, moved), y), ball.size(moved - x)
