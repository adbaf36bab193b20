"""What all attacks have in common: how they are called, and what they keep of the points that they try."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, cast

import jax
import jax.numpy as jnp

from awt.attacks.ball import Ball
from awt.attacks.objectives import Logits
from awt.loading import load


class Points(NamedTuple):
    """What is attacked: images with labels, a key a point, and for targeted attacks the class to reach.

    Points that are not `live` only fill the batch.
    """

    x: jax.Array
    y: jax.Array
    keys: jax.Array
    target: jax.Array
    live: jax.Array


class Attacker(Protocol):
    """An attack with its settings: hashable, so that it can be a static argument of jit."""

    @property
    def name(self) -> str: ...

    @property
    def norms(self) -> tuple[str, ...]:
        """For which it is defined."""
        ...

    def tries(self, classes: int) -> list[int | None]:
        """Its tries: of a targeted one the rank of the class to reach, among the wrong ones by their logits."""
        ...

    def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
        """A try: for each point an allowed one, that fools the network where one was found."""
        ...


def make(attack: str, settings: Mapping[str, Any]) -> Attacker:
    """The attack that `module:name` names, a class or a function, with its settings."""
    return cast(Attacker, load(attack)(**settings))


class Best(NamedTuple):
    """Of the points tried, the first that fooled the network; until there is one, that of the highest value."""

    x: jax.Array
    value: jax.Array
    broken: jax.Array

    @classmethod
    def start(cls, points: Points) -> "Best":
        return cls(points.x, jnp.full(len(points.y), -jnp.inf), ~points.live)

    def seen(self, x: jax.Array, value: jax.Array, broken: jax.Array) -> "Best":
        better = ~self.broken & (broken | (value > self.value))
        return Best(
            jnp.where(by_point(better), x, self.x),
            jnp.where(better, value, self.value),
            self.broken | broken,
        )


def in_turn(targets: int, restarts: int, classes: int) -> list[int | None]:
    """The tries of an attack towards so many classes one after the other, or with 0 towards none."""
    ranks: list[int | None] = [*range(1, min(targets, classes - 1) + 1)] if targets else [None]
    return ranks * restarts


def by_point(value: jax.Array) -> jax.Array:
    """[n] as [n, 1, 1, 1]."""
    return value.reshape(-1, 1, 1, 1)


def total_by_point(value: jax.Array) -> jax.Array:
    """Σ over [n, …] to [n]: as a product of matrices, which XLA vectorises on CPUs, unlike a sum (4 times as fast)."""
    flat = value.reshape(len(value), -1)
    return jnp.matmul(flat, jnp.ones((flat.shape[1], 1), flat.dtype), precision="highest")[:, 0]


def fold_in(keys: jax.Array, number: int | jax.Array) -> jax.Array:
    return jax.vmap(jax.random.fold_in, (0, None))(keys, number)


def random_start(ball: Ball, points: Points) -> jax.Array:
    """A random point of each ball; of its own key, so that it does not depend on the others of the batch."""
    return jax.vmap(lambda key, x: ball.random(key, x[None])[0])(points.keys, points.x)
