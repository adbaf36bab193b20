"""Tangent kernels of networks and of any function apply(params, x), and their products with vectors."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import ArrayLike

from awt.api.arguments import (
    Function,
    answers,
    ball_around,
    checked_batch,
    function_of,
    images,
    labels_of,
    mask_of,
    plain,
)
from awt.api.wrapped import Wrapped
from awt.attacks.ball import Threat
from awt.attacks.examples import attacked_points
from awt.attacks.pgd import Attack
from awt.errors import InputError
from awt.kernels.estimators import Masked, differentiated
from awt.kernels.exact import Shape, tangent_kernel
from awt.kernels.jacobians import jacobian_kernel
from awt.kernels.probe import pulled, pushed
from awt.kernels.tiles import transposed
from awt.models.layers import Conv
from awt.models.network import Masks, Network, Weights, apply_mask
from awt.params.checking import checked

AT_ONCE = 256  # points
NUMBERS = 2**27  # of a block's Jacobians: half a gigabyte


def ntk(
    f: Function,
    params: Any,
    x: ArrayLike,
    other: ArrayLike | None = None,
    *,
    mask: Masks | None = None,
    projected: bool = True,
    shape: Shape = "full",
    batch: int | None = None,
) -> np.ndarray:
    """Computes the tangent kernel Θ(x, other) = ∇f(x) ∇f(other)ᵀ, exactly.

    That of awt's own networks is computed from their layers, that of other functions from Jacobians.

    Args:
      f: a network, or any function apply(params, x) of points [n, …] to outputs [n, classes], of each by itself.
      params: the network's weights, or what the function takes.
      other: the second set of points, for example adversarial ones, which make the kernel a mixed one; none: x again.
      mask: of a sparse network, f(m⊙θ); by layer, as `find_ticket` gives it.
      projected: with a mask, gradients through kept weights only, which is what governs the sparse network's training.
      shape: "full" for [n, n', k, k], "trace" for its trace over the k classes, [n, n'], "diagonal" for Θ(x_i, other_i)
        at each class, [n, k].
      batch: points at a time; without, as many as fit.

    Returns: the kernel in single precision.
    """
    network, weights = function_of(f, params)
    if shape not in get_args(Shape):
        raise InputError(f"shape: {shape!r}; it should be one of {', '.join(get_args(Shape))}")
    rows = _points(network, x, "x")
    classes = answers(network, weights, rows)
    columns = rows if other is None else _points(network, other, "other")
    if columns.shape[1:] != rows.shape[1:]:
        raise InputError(f"other: points of shape {list(columns.shape[1:])}; those of x have {list(rows.shape[1:])}")
    subject = Masked(network, weights, mask_of(network, mask), projected)
    size = _batch(batch, subject, classes)
    if shape == "diagonal":
        if len(columns) != len(rows):
            raise InputError(f"other: {len(columns)} points; with shape 'diagonal' as many as x has, {len(rows)}")
        return _by_rows(subject, rows, columns, classes, size)
    return _by_tiles(subject, rows, None if other is None else columns, classes, size, shape)


def mtk(
    f: Function,
    params: Any,
    x: ArrayLike,
    y: ArrayLike,
    threat: Threat,
    *,
    mask: Masks | None = None,
    projected: bool = True,
    shape: Shape = "full",
    attack: Attack | Mapping[str, Any] | None = None,
    seed: int = 0,
    batch: int | None = None,
) -> np.ndarray:
    """Computes the mixed tangent kernel Θ(x, x̃) of points and their adversarial examples under the same network.

    With points of your own in place of x̃ it is `ntk(f, params, x, points)`.

    Args:
      y: labels, 0..classes-1.
      threat: the perturbations that are allowed.
      attack: how projected gradient descent looks for them, e.g. {"steps": 20}.
      seed: of its random starts.
      f, params, x, mask, projected, shape, batch: as in `ntk`.
    """
    network, weights = function_of(f, params)
    network, points = images(network, x)
    labels = labels_of(y, len(points), answers(network, weights, points))
    ball, how = ball_around(threat, network, points), checked(Attack, plain(attack or {}), "attack")
    kept = mask_of(network, mask)
    attacked = weights if kept is None else apply_mask(weights, kept)
    adversarial = attacked_points(network, ball, how, attacked, points, labels, seed)
    return ntk(network, weights, points, adversarial, mask=kept, projected=projected, shape=shape, batch=batch)


def ntk_product(
    f: Function,
    params: Any,
    x: ArrayLike,
    other: ArrayLike | None,
    vector: ArrayLike,
    *,
    mask: Masks | None = None,
    projected: bool = True,
    batch: int = AT_ONCE,
) -> np.ndarray:
    """Computes Θ(x, other) v, [n, k], without the kernel: at the cost of a few passes through the network.

    Args:
      other: the second set of points; none: x again.
      vector: v, [n', k].
      batch: points at a time.
      f, params, x, mask, projected: as in `ntk`.
    """
    network, weights = function_of(f, params)
    rows = _points(network, x, "x")
    classes = answers(network, weights, rows)
    columns = rows if other is None else _points(network, other, "other")
    along = np.asarray(vector, np.float32)
    if along.shape != (len(columns), classes):
        raise InputError(
            f"vector: shape {list(along.shape)}; it should be {[len(columns), classes]}, points and classes"
        )
    arguments = network, weights, mask_of(network, mask), projected
    size = checked_batch(batch)
    tangents = [
        _pulled(*arguments, _piece(columns, start, size), _with_zeros(along[start : start + size], size, len(columns)))
        for start in range(0, len(columns), size)
    ]
    tangent = jax.tree.map(lambda *parts: sum(parts[1:], start=parts[0]), *tangents)
    product = [
        np.asarray(_pushed(*arguments, _piece(rows, start, size), tangent)) for start in range(0, len(rows), size)
    ]
    return np.concatenate(product)[: len(rows)]


def _points(network: Network, x: ArrayLike, name: str) -> np.ndarray:
    """Images for awt's own networks; of other functions, what they take."""
    if not isinstance(network, Wrapped):
        return images(network, x, name)[1]
    points = np.asarray(x)
    if points.ndim < 1 or not points.size:
        raise InputError(f"{name}: shape {list(points.shape)}; it should be points, [n, …]")
    return points


def _batch(batch: int | None, subject: Masked, classes: int) -> int:
    """The points of a block: as many as their Jacobians leave room for."""
    if batch is not None:
        return checked_batch(batch)
    if isinstance(subject.network, Wrapped):
        numbers = sum(leaf.size for leaf in jax.tree.leaves(subject.weights))
    else:  # only where weights are shared, the layers' structure needs gradients of weights
        convolutions = [layer for layer in subject.network.weighted if isinstance(layer, Conv)]
        numbers = sum(math.prod(layer.kernel_shape) for layer in convolutions)
    return max(1, min(AT_ONCE, NUMBERS // max(1, classes * numbers)))


def _piece(points: np.ndarray, start: int, size: int) -> np.ndarray:
    """Some points; the last piece repeats its last point, so that one compiled program does them all."""
    piece = points[start : start + size]
    missing = min(size, len(points)) - len(piece)
    return np.concatenate([piece, np.repeat(piece[-1:], missing, axis=0)])


def _with_zeros(vector: np.ndarray, size: int, points: int) -> np.ndarray:
    return np.pad(vector, [(0, min(size, points) - len(vector)), (0, 0)])


def _by_rows(subject: Masked, x: np.ndarray, other: np.ndarray, classes: int, size: int) -> np.ndarray:
    kernel = np.empty((len(x), classes), np.float32)
    for start in range(0, len(x), size):
        block = _block(*_unpacked(subject), _piece(x, start, size), _piece(other, start, size), "diagonal")
        kernel[start : start + size] = np.asarray(block)[: len(x) - start]
    return kernel


def _by_tiles(
    subject: Masked, x: np.ndarray, other: np.ndarray | None, classes: int, size: int, shape: Shape
) -> np.ndarray:
    """Of one set of points, the tiles on and above the diagonal say all."""
    columns = x if other is None else other
    kernel = np.empty((len(x), len(columns), *((classes, classes) if shape == "full" else ())), np.float32)
    for start in range(0, len(x), size):
        for across in range(0 if other is not None else start, len(columns), size):
            tile = _block(*_unpacked(subject), _piece(x, start, size), _piece(columns, across, size), shape)
            part = np.asarray(tile)[: len(x) - start, : len(columns) - across]
            kernel[start : start + size, across : across + size] = part
            if other is None and across > start:
                kernel[across : across + size, start : start + size] = transposed(part)
    return kernel


def _unpacked(subject: Masked) -> tuple[Network, Weights, Masks | None, bool]:
    return subject.network, subject.weights, subject.mask, subject.projected


@partial(jax.jit, static_argnames=("network", "projected", "shape"))
def _block(
    network: Network,
    weights: Weights,
    mask: Masks | None,
    projected: bool,
    x: jax.Array,
    other: jax.Array,
    shape: Shape,
) -> jax.Array:
    if isinstance(network, Wrapped):
        return jacobian_kernel(Masked(network, weights, mask, projected), x, other, shape)
    return tangent_kernel(network, weights, x, other, mask, projected, shape)


@partial(jax.jit, static_argnames=("network", "projected"))
def _pulled(
    network: Network, weights: Weights, mask: Masks | None, projected: bool, points: jax.Array, vector: jax.Array
) -> Weights:
    function, at = differentiated(Masked(network, weights, mask, projected))
    tangent: Weights = pulled(function, at, jnp.asarray(points), vector)
    return tangent


@partial(jax.jit, static_argnames=("network", "projected"))
def _pushed(
    network: Network, weights: Weights, mask: Masks | None, projected: bool, points: jax.Array, tangent: Weights
) -> jax.Array:
    function, at = differentiated(Masked(network, weights, mask, projected))
    return pushed(function, at, jnp.asarray(points), tangent)
