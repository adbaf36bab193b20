"""Attacks on any function, and what they leave of its accuracy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from awt.api.arguments import Function, answers, ball_around, checked_batch, function_of, images, labels_of, mask_of
from awt.api.wrapped import Wrapped
from awt.attacks.attacker import make
from awt.attacks.ball import Ball, Threat
from awt.attacks.battery import Victim, begin, keys_of, strike
from awt.attacks.outcome import NATURAL, Outcome
from awt.attacks.registry import check, resolved
from awt.attacks.registry import suite as attacks_of
from awt.errors import InputError
from awt.evaluation.sanity import Curves, examine
from awt.evaluation.scores import flags, wilson
from awt.keys import key
from awt.models.network import Masks, apply_mask

Settings = Mapping[str, Mapping[str, Any]]
AT_ONCE = 512  # points


class Accuracy(NamedTuple):
    """A share of points, and its 95 % confidence interval after Wilson."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, right: np.ndarray) -> "Accuracy":
        return cls(float(right.mean()), *wilson(int(right.sum()), len(right)))

    def __str__(self) -> str:
        return f"{self.share:.1%} ({self.low:.1%} to {self.high:.1%})"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Accuracy on natural points and after each suite; signs that the robust one is not to be believed."""

    natural: Accuracy
    robust: dict[str, Accuracy]
    flags: list[str]
    curves: Curves
    """Accuracy against ε and against the number of steps."""
    outcomes: dict[str, Outcome]

    def __str__(self) -> str:
        lines = [f"natural {self.natural}", *(f"{suite} {accuracy}" for suite, accuracy in self.robust.items())]
        return "\n".join([*lines, *(f"not to be believed: {flag}" for flag in self.flags)])


class _Target(NamedTuple):
    victim: Victim
    ball: Ball
    x: np.ndarray
    y: np.ndarray


def attack(
    f: Function,
    params: Any,
    x: ArrayLike,
    y: ArrayLike,
    threat: Threat,
    suite: str | Sequence[str] = "pgd100",
    *,
    mask: Masks | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    batch: int = AT_ONCE,
) -> Outcome:
    """Attacks a network or any function apply(params, x), each attack on the points that those before it left standing.

    Args:
      f: a network, or any function of points [n, …] in [0, 1] to logits [n, classes].
      params: the network's weights, or what the function takes.
      y: labels, 0..classes-1.
      threat: the perturbations that are allowed.
      suite: "pgd100", "quick", "autoattack", an attack such as "square", "module:name" of your own, or several of them.
      mask: of a sparse network.
      settings: changes to single attacks, e.g. {"square": {"queries": 1000}}.
      seed: of their random choices.
      batch: points at a time.

    Returns: by point `by`, the number of the attack that broke it (-1: it was wrong before, -2: it still stands), the
      image `moved` that did, and the perturbation's `size`.
    """
    names = _names(suite, settings or {})
    target = _target(f, params, x, y, threat, mask)
    outcome = _strike_all(target, names, settings or {}, seed, batch)
    outcome.moved = outcome.moved.reshape(np.shape(x))
    return outcome


def evaluate(
    f: Function,
    params: Any,
    x: ArrayLike,
    y: ArrayLike,
    threat: Threat,
    suites: str | Sequence[str] = ("pgd100",),
    *,
    mask: Masks | None = None,
    settings: Settings | None = None,
    seed: int = 0,
    sanity_points: int = 256,
    batch: int = AT_ONCE,
) -> Evaluation:
    """Measures natural and robust accuracy, and looks for signs that the network is only hard to attack.

    Args:
      suites: one or several, each on all points.
      sanity_points: how many points, the first ones, are looked at for hidden gradients; 0: none.
      f, params, x, y, threat, mask, settings, seed, batch: as in `attack`.

    Returns: an Evaluation, which can be printed.
    """
    asked = (suites,) if isinstance(suites, str) else tuple(suites)
    if not asked:
        raise InputError("suites: none; name one at least, e.g. pgd100 or autoattack")
    names = {suite: _names(suite, settings or {}) for suite in asked}
    target = _target(f, params, x, y, threat, mask)
    outcomes = {suite: _strike_all(target, attacks, settings or {}, seed, batch) for suite, attacks in names.items()}
    signs, curves = _examined(target, sanity_points, seed)
    for suite, attacks in names.items():
        signs += flags({f"{suite}/by": outcomes[suite].by}, suite, attacks)
    natural = Accuracy.of(next(iter(outcomes.values())).by != NATURAL)
    robust = {suite: Accuracy.of(outcome.standing) for suite, outcome in outcomes.items()}
    for outcome in outcomes.values():
        outcome.moved = outcome.moved.reshape(np.shape(x))
    return Evaluation(natural, robust, list(dict.fromkeys(signs)), curves, outcomes)


def _names(suite: str | Sequence[str], settings: Settings) -> tuple[str, ...]:
    asked = (suite,) if isinstance(suite, str) else tuple(suite)
    if not asked:
        raise InputError("suite: no attack at all; name one, e.g. pgd100 or autoattack")
    check(asked, settings, section="")
    return tuple(attack for name in asked for attack in attacks_of(name))


def _target(f: Function, params: Any, x: ArrayLike, y: ArrayLike, threat: Threat, mask: Masks | None) -> _Target:
    network, weights = function_of(f, params)
    network, points = images(network, x)
    labels = labels_of(y, len(points), answers(network, weights, points))
    kept = mask_of(network, mask)
    left = weights if kept is None else apply_mask(weights, kept)
    victim = Victim(network, left) if isinstance(network, Wrapped) else Victim.narrow(network, left)
    return _Target(victim, ball_around(threat, network, points), points, labels)


def _strike_all(target: _Target, names: Sequence[str], settings: Settings, seed: int, batch: int) -> Outcome:
    """All attacks in turn, some points at a time: what becomes of a point does not depend on the others."""
    checked_batch(batch)
    attackers = [make(*resolved(name, settings.get(name, {}))) for name in names]
    parts = []
    for start in range(0, len(target.y), batch):
        numbers = np.arange(start, min(start + batch, len(target.y)))
        x, y = target.x[numbers], target.y[numbers]
        outcome = begin(target.victim, x, y)
        for number, attacker in enumerate(attackers):
            keys = keys_of(key(seed, "evaluate", attacker.name), numbers)
            outcome = strike(target.victim, target.ball, attacker, number, x, y, keys, outcome)
        parts.append(outcome)
    by, moved, size = (np.concatenate([getattr(part, name) for part in parts]) for name in ("by", "moved", "size"))
    return Outcome(by, moved, size)


def _examined(target: _Target, points: int, seed: int) -> tuple[list[str], Curves]:
    if points == 0:
        return [], {"eps": [], "steps": []}
    x, y = target.x[:points], target.y[:points]
    return examine(target.victim, target.ball, x, y, keys_of(key(seed, "sanity"), np.arange(len(y))))
