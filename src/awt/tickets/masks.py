"""Choosing weights: how many each scope gives to a layer, and the best-scored that many; always exact."""

import math
from collections.abc import Mapping
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from awt.errors import InputError
from awt.models.network import Masks, Weights

Scope = Literal["layer", "global", "erk"]
Shapes = Mapping[str, tuple[int, ...]]


def total_kept(shapes: Shapes, density: float) -> int:
    """⌊p·Σsize + ½⌋, which must leave every layer a weight."""
    kept = math.floor(density * sum(map(math.prod, shapes.values())) + 0.5)
    if kept < len(shapes):
        raise InputError(
            f"search.densities: {density} keeps {kept} weights, fewer than the {len(shapes)} layers of the network"
        )
    return kept


def counts(shapes: Shapes, density: float, scope: Scope) -> np.ndarray:
    """How many weights are kept: one number for `global`, otherwise one a layer, in the order of their names."""
    shapes = dict(sorted(shapes.items()))  # the order in which JAX hands `select` its layers: dense10 before dense2
    total = total_kept(shapes, density)
    if scope == "global":
        return np.array([total], np.int32)
    sizes = np.array([math.prod(shape) for shape in shapes.values()])
    shares = sizes * density if scope == "layer" else _erdos_renyi(shapes, total)
    return _largest_remainder(shares, sizes, total)


def _erdos_renyi(shapes: Shapes, total: int) -> np.ndarray:
    """Erdős–Rényi-kernel shares: a layer's density goes with Σ(dimensions)/Π(dimensions), full layers capped."""
    sizes = np.array([math.prod(shape) for shape in shapes.values()], float)
    raw = np.array([float(sum(shape)) for shape in shapes.values()])  # size × Σ/Π
    full = np.zeros(len(sizes), bool)
    while not full.all():
        share = (total - sizes[full].sum()) / raw[~full].sum()
        over = ~full & (raw * share > sizes)
        if not over.any():
            return np.where(full, sizes, raw * share)
        full |= over
    return sizes


def _largest_remainder(shares: np.ndarray, sizes: np.ndarray, total: int) -> np.ndarray:
    """Whole numbers near the shares, within 1..size, of exactly the total; ties go to the earlier layer."""
    whole = np.clip(np.floor(shares), 1, sizes).astype(int)
    while whole.sum() != total:
        rest = shares - whole
        if whole.sum() < total:
            rest[whole >= sizes] = -np.inf
            whole[np.argmax(rest)] += 1
        else:
            rest[whole <= 1] = np.inf
            whole[np.argmin(rest)] -= 1
    return whole.astype(np.int32)


@jax.jit
def select(scores: Masks, kept: jax.Array) -> Masks:
    """The mask of the highest scores: `kept`, of `counts`, is one number for the whole network, or one a layer.

    Of equal scores the earlier wins. Over the whole network each layer's best weight is kept first, so that no layer
    ends empty. `kept` may be traced: other densities do not recompile.
    """
    if kept.shape[0] == len(scores) and len(scores) > 1:
        return {
            name: _top(score.ravel(), kept[number]).reshape(score.shape)
            for number, (name, score) in enumerate(scores.items())
        }
    flat = jnp.concatenate([_raise_best(score.ravel()) for score in scores.values()])
    chosen = _top(flat, kept[0])
    mask, start = {}, 0
    for name, score in scores.items():
        mask[name] = chosen[start : start + score.size].reshape(score.shape)
        start += score.size
    return mask


def _raise_best(score: jax.Array) -> jax.Array:
    return score.at[jnp.argmax(score)].set(jnp.inf)


def _top(score: jax.Array, kept: jax.Array) -> jax.Array:
    order = jnp.argsort(-score, stable=True)
    return jnp.zeros(score.shape, bool).at[order].set(jnp.arange(score.size) < kept)


def magnitudes(weights: Weights) -> Masks:
    return {name: jnp.abs(layer["kernel"]) for name, layer in weights.items()}
