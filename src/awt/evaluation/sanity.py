"""Signs that a network is not robust but only hard to attack: robust accuracy is not to be believed where one shows.

Gradients that vanish, outputs that are no logits, random or not numbers, a network that answers one class; accuracy
that does not fall as ε grows until it allows everything, or that falls less with more steps. (That the gradient-free
attack breaks what the others could not is seen in the suite's own outcome: `scores.flags`.)
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from awt.attacks.apgd import Apgd
from awt.attacks.ball import Ball
from awt.attacks.battery import Victim, begin, strike
from awt.attacks.objectives import cross_entropy, margin
from awt.attacks.pgd import Pgd
from awt.loop import UNWATCHED, Watch
from awt.models.network import Network, Weights

Curves = dict[str, list[list[float]]]  # by name, pairs of x and the share of points still standing

EPS = (0.25, 0.5, 1.0, 1.5, 2.0, 4.0)  # in units of the threat's
STEPS = (1, 10, 100)
FEW = 0.05  # of the points: below, a sign counts for nothing


def examine(
    victim: Victim, threat: Ball, x: np.ndarray, y: np.ndarray, keys: jax.Array, watch: Watch = UNWATCHED
) -> tuple[list[str], Curves]:
    """Flags, and robust accuracy against ε and against steps; keys are one a point."""
    signs = flags(victim, x, y)
    lines: Curves = {"eps": [], "steps": []}
    if threat.eps > 0:
        lines = curves(victim, threat, x, y, keys, watch)
        signs += curve_flags(**lines)
    return signs, lines


def flags(victim: Victim, x: np.ndarray, y: np.ndarray) -> list[str]:
    """What is wrong with the outputs and their gradients at natural points."""
    logits, again, of_loss, of_margin = map(np.asarray, _look(victim.network, victim.weights, x, y))
    signs = {
        "outputs are not numbers": not np.isfinite(logits).all(),
        "outputs are random": not np.array_equal(logits, again, equal_nan=True),
        "outputs are probabilities": bool(
            (logits >= 0).all() and np.allclose(logits.sum(axis=1), 1.0, atol=1e-4) and len(logits) > 0
        ),
        "one answer for all points": len(np.unique(logits.argmax(axis=1))) == 1 < len(np.unique(y)),
        "gradients are zero": bool((of_margin == 0).mean() > FEW),
        "the cross-entropy's gradient vanishes": bool(((of_loss == 0) & (of_margin > 0)).mean() > FEW),
    }
    return [name for name, seen in signs.items() if seen]


def curves(victim: Victim, threat: Ball, x: np.ndarray, y: np.ndarray, keys: jax.Array, watch: Watch) -> Curves:
    """Robust accuracy against ε, by APGD on the margin, what breaks at a smaller ε being broken; and against the steps
    of PGD, each number of them on its own."""
    found: Curves = {"eps": [], "steps": []}
    start = begin(victim, x, y)
    total = len(EPS) + 1 + len(STEPS)
    outcome = start
    largest = {"linf": 1.0, "l2": x[0].size ** 0.5, "l1": x[0].size}[threat.norm] / min(threat.unit)
    for number, size in enumerate((*(threat.eps * factor for factor in EPS), largest if threat.clip else None)):
        watch.check_stop()
        watch.progress(number, total)
        if size is not None:
            outcome = strike(victim, replace(threat, eps=float(size)), Apgd("dlr", steps=50), 0, x, y, keys, outcome)
            found["eps"].append([float(size), float(outcome.standing.mean())])
    for number, steps in enumerate(STEPS, start=len(EPS) + 1):
        watch.check_stop()
        watch.progress(number, total)
        standing = strike(victim, threat, Pgd(steps=steps), 0, x, y, keys, start).standing
        found["steps"].append([float(steps), float(standing.mean())])
    return found


def curve_flags(eps: list[list[float]], steps: list[list[float]]) -> list[str]:
    found = []
    if eps[-1][0] > 5 * eps[0][0] and eps[-1][1] > FEW:
        found.append("no perturbation is large enough")
    if steps[-1][1] > steps[-2][1] + 0.01:
        found.append("more steps break less")
    return found


@partial(jax.jit, static_argnames="network")
def _look(
    network: Network, weights: Weights, x: jax.Array, y: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Logits twice, and the largest entry of the gradients of cross-entropy and margin, by point."""

    def largest(value: Any) -> jax.Array:
        return jnp.abs(jax.grad(lambda x: value(network.apply(weights, x), y).sum())(x)).max(axis=(1, 2, 3))

    twice = jax.lax.map(lambda _: network.apply(weights, x), jnp.arange(2))
    return twice[0], twice[1], largest(cross_entropy), largest(margin)
