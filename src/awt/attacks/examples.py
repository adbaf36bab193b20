"""Adversarial examples of a network near any number of points, as its mixed kernel has them."""

import jax
import numpy as np

from awt.attacks.ball import Ball
from awt.attacks.pgd import Attack, attacked
from awt.keys import key
from awt.loop import UNWATCHED, Watch
from awt.models.network import Network, Weights

ATTACKED_AT_ONCE = 256


def attacked_points(
    network: Network,
    ball: Ball,
    attack: Attack,
    weights: Weights,
    x: np.ndarray,
    y: np.ndarray,
    seed: int,
    watch: Watch = UNWATCHED,
    at_once: int = ATTACKED_AT_ONCE,
) -> np.ndarray:
    base, size = key(seed, "gram", "attack"), min(len(x), at_once)
    adversarial = np.empty_like(x)
    for number, start in enumerate(range(0, len(x), size)):
        some = slice(start, start + size)
        points, labels = padded(x[some], size), padded(y[some], size)
        moved, _ = attacked(network, ball, attack, weights, points, labels, jax.random.fold_in(base, number))
        adversarial[some] = np.asarray(moved)[: len(x[some])]
        watch.progress(min(start + size, len(x)), len(x))
        watch.check_stop()
    return adversarial


def padded(array: np.ndarray, length: int) -> np.ndarray:
    """With zeros after its last row, so that one compiled program serves ragged pieces as well."""
    return np.pad(array, [(0, length - len(array))] + [(0, 0)] * (array.ndim - 1))
