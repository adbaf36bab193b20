"""Choosing weights: how many each scope gives to a layer, and the best-scored that many; always exact."""

import math
from collections.abc import Mapping
from typing import Literal

import jax
import jax.numpy as jnp
import numpy as np

from awt.errors import InputError
from awt.keys import key
from awt.loop import Row
from awt.models.network import Masks, Network, Weights

Scope = Literal["layer", "global", "erk"]
Shapes = Mapping[str, tuple[int, ...]]


def total_kept(shapes: Shapes, density: float) -> int:
    """⌊p·Σsize + ½⌋, which must leave every layer a weight."""
    kept = math.floor(density * sum(map(math.prod, shapes.values())) + 0.5)
    if kept < len(shapes):
        raise InputError(
            f"tickets.densities: {density} keeps {kept} weights, fewer than the {len(shapes)} layers of the network"
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


def annealed(shapes: Shapes, density: float, scope: Scope, updates: int, share: float) -> np.ndarray:
    """`counts` by mask of a search, [updates + 1, …]: the first mask, and after each update.

    With a share above 0 the density falls from 1 along a cubic, over this share of the updates, to the one asked for.
    """
    total_kept(shapes, density)  # else a density on the way would be called too low
    ends = [update / (share * updates) if share * updates else 1.0 for update in range(updates + 1)]
    return np.stack([counts(shapes, _fallen(1.0, density, end), scope) for end in ends])


def dropped_late(shapes: Shapes, density: float, scope: Scope, updates: int, share: float, rounds: int) -> np.ndarray:
    """`counts` by mask, as `annealed`, of a search in rounds: `in_rounds` from each to the next, the first number of it
    being the first mask's, along a cubic over the last share of the updates of each round."""
    total_kept(shapes, density)

    def density_at(update: int) -> float:
        number = min(update * rounds // updates, rounds - 1)
        along = update * rounds / updates - number
        before, after = (density ** ((number + step) / (rounds + 1)) for step in (1, 2))
        return _fallen(before, after, 1.0 + (along - 1.0) / share if share else float(along == 1.0))

    return np.stack(
        [counts(shapes, density_at(update) if updates else density, scope) for update in range(updates + 1)]
    )


def _fallen(before: float, after: float, along: float) -> float:
    """On the way from one density to another, from 0 to 1 along it."""
    return after + (before - after) * (1.0 - min(max(along, 0.0), 1.0)) ** 3


def in_rounds(shapes: Shapes, density: float, scope: Scope, rounds: int) -> np.ndarray:
    """`counts` after each round, [rounds, …]: the density falls geometrically from 1 to the one asked for."""
    total_kept(shapes, density)
    return np.stack([counts(shapes, density ** (number / rounds), scope) for number in range(1, rounds + 1)])


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
    """The `kept` highest, by bisection over the bits of the lowest of them: sorting takes 30 times as long on CPUs."""
    bits = jax.lax.bitcast_convert_type(score.astype(jnp.float32) + 0.0, jnp.uint32)  # + 0.0: -0 is 0
    top = jnp.uint32(1 << 31)
    order = jnp.where(bits >= top, ~bits, bits | top)  # whole numbers in the order of the scores

    def try_bit(number: int, lowest: jax.Array) -> jax.Array:
        raised = lowest | (top >> number)
        return jnp.where(jnp.sum(order >= raised) >= kept, raised, lowest)

    lowest = jax.lax.fori_loop(0, 32, try_bit, jnp.uint32(0))
    higher, equal = order > lowest, order == lowest
    return higher | (equal & (jnp.cumsum(equal) <= kept - jnp.sum(higher)))


def uniform(network: Network, seed: int) -> Masks:
    """Scores by chance."""
    return {
        name: jax.random.uniform(key(seed, "random mask", name), shape) for name, shape in network.kernel_shapes.items()
    }


def layer_counts(mask: Masks) -> jax.Array:
    """How many weights each layer of a mask keeps, as `select` takes it."""
    return jnp.stack([jnp.sum(mask[name]) for name in sorted(mask)])


def shares(mask: Masks) -> Row:
    """The share of weights kept, whole and by layer."""
    kept = {name: int(np.sum(np.asarray(layer))) for name, layer in mask.items()}
    whole = sum(kept.values()) / sum(layer.size for layer in mask.values())
    return {"kept": whole} | {f"kept {name}": kept[name] / mask[name].size for name in sorted(mask)}


def magnitudes(weights: Weights) -> Masks:
    return {name: jnp.abs(layer["kernel"]) for name, layer in weights.items()}


def changed(mask: Masks, before: Masks) -> float:
    """The share of the kept weights that are not the ones kept before."""
    now, then = ({name: np.asarray(kept) for name, kept in masks.items()} for masks in (mask, before))
    fresh = sum(int((now[name] & ~then[name]).sum()) for name in now)
    return fresh / sum(int(kept.sum()) for kept in now.values())
