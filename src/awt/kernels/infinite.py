"""The kernels of infinitely wide networks in closed form, from the layers of a network of the project's own.

Under `init: ntk` a layer scales unit-normal weights by √(2 / inputs); its bias starts at 0 and is trained unscaled. As
widths grow, the outputs at initialisation become a Gaussian process, independent by class, whose covariance is the NNGP
kernel; and the tangent kernel becomes the NTK times the identity over classes, whatever the weights.
"""

import math
from functools import cache
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from awt.errors import InputError
from awt.kernels._neural_tangents import AnalyticKernels, StaxLayer, analytic_kernels, stax
from awt.models.layers import Conv, Dense, Flatten, Layer, MaxPool, Normalise, Relu
from awt.models.network import Network

Pooling = Literal["average"]

WEIGHT_VARIANCE = 2.0  # of a weight times the number of inputs
TILE_ENTRIES = 2**24  # of the covariances between positions of a tile's points: 128 MiB, in a handful of arrays


class Kernels(NamedTuple):
    """Of an infinitely wide network, between two sets of points: [n, n'] each, the same for every class."""

    ntk: np.ndarray
    nngp: np.ndarray


def infinite_kernels(
    network: Network, x: ArrayLike, other: ArrayLike | None = None, pooling: Pooling | None = None
) -> Kernels:
    """The kernels of the network as its widths go to infinity, between x and `other`, or x and itself without one.

    They are computed in double precision, as the NTK of a point with itself is off by 2e-4 in single, and in tiles, so
    that memory does not grow with the points but for the result: a convolutional network's kernels take the covariances
    between all positions of two points.

    Args:
      network: with `init: ntk`; the others have no limit, since their tangent kernel grows with the width.
      pooling: "average" to let average-pooling stand in for max-pooling, which has no kernel in closed form.
    """
    kernels = _kernels(network, pooling)
    with jax.enable_x64(True):
        rows = _inputs(network, x, "x")
        columns = rows if other is None else _inputs(network, other, "other")
        if rows.shape[1:] != columns.shape[1:]:
            raise InputError(
                f"other: points of shape {list(columns.shape[1:])}; those of x have {list(rows.shape[1:])}"
            )
        side = min(_tile_side(network, rows), max(len(rows), len(columns)))
        found = np.empty((2, len(rows), len(columns)))
        for start in range(0, len(rows), side):
            stop = min(start + side, len(rows))
            first = start if other is None else 0  # of one set, the part above the diagonal says all
            part = np.asarray(kernels(_padded(rows[start:stop], side), _padded(columns[first:], side), side))
            part = part[:, : stop - start, : len(columns) - first]
            found[:, start:stop, first:] = part
            if other is None:
                found[:, first:, start:stop] = part.swapaxes(1, 2)
    return Kernels(*found)


@cache
def _kernels(network: Network, pooling: Pooling | None) -> AnalyticKernels:
    """Of normalised inputs; kept, because it holds the compiled programs."""
    if pooling not in (None, "average"):
        raise InputError(f'pooling: {pooling!r} has no infinite-width kernel in closed form; allowed: "average"')
    layers = network.layers[1:] if isinstance(network.layers[0], Normalise) else network.layers
    return analytic_kernels(part for layer in layers for part in _parts(layer, pooling))


def _inputs(network: Network, x: ArrayLike, name: str) -> np.ndarray:
    """Points as the layers after normalisation see them; refused if the network would not take them."""
    points = jnp.asarray(x, jnp.float64)
    if not points.size:
        raise InputError(f"{name}: shape {list(points.shape)} holds no points; pass at least one")
    try:
        jax.eval_shape(lambda points: network.apply(network.initialise(0), points), points)
    except (TypeError, ValueError, IndexError):
        first = network.weighted[0]
        raise InputError(
            f"{name}: shape {list(points.shape)} does not fit the network; it should be [n, height, width, channels], "
            f"with {first.inputs} inputs to {first.name}"
        ) from None
    normalise = network.layers[0]
    return np.asarray(normalise(points) if isinstance(normalise, Normalise) else points)


def _tile_side(network: Network, x: np.ndarray) -> int:
    convolves = any(isinstance(layer, Conv) for layer in network.layers)
    positions = math.prod(x.shape[1:3]) if convolves else 1
    return max(1, math.isqrt(TILE_ENTRIES) // positions)


def _padded(x: np.ndarray, side: int) -> np.ndarray:
    """The points with the last one repeated, up to a multiple of the tile's side."""
    return np.pad(x, [(0, -len(x) % side), *[(0, 0)] * (x.ndim - 1)], mode="edge")


def _parts(layer: Layer, pooling: Pooling | None) -> tuple[StaxLayer, ...]:
    """A layer's kernels, as layers of neural-tangents' stax."""
    match layer:
        case Dense() | Conv() if layer.init != "ntk":
            raise InputError(f"model.init: {layer.init} has no infinite-width kernel; set model.init: ntk, which has")
        case Dense():
            return stax.Dense(layer.units, math.sqrt(WEIGHT_VARIANCE), b_std=None), _bias()
        case Conv():
            return _convolution(layer), _bias()
        case Relu():
            return (stax.Relu(),)
        case MaxPool() if pooling == "average":
            return (stax.AvgPool((2, 2), strides=(2, 2)),)
        case MaxPool():
            raise InputError(
                "max-pooling has no infinite-width kernel in closed form; "
                'pass pooling="average" for the kernel of the same network with average-pooling'
            )
        case Flatten():
            return (stax.Flatten(),)
    raise InputError(f"{layer} has no infinite-width kernel here; normalisation has to be the first layer")


def _bias() -> StaxLayer:
    """Zero at initialisation, so that the NNGP is as before; 1 more for every pair of points and positions in the NTK.

    The positions of a convolution share their bias, hence pairs of different positions have it too.
    """

    def initialise(key: jax.Array, shape: tuple[int, ...]) -> tuple[tuple[int, ...], jax.Array]:
        return shape, jnp.zeros(shape[-1])

    def apply(bias: jax.Array, x: jax.Array, **_: Any) -> jax.Array:
        return x + bias

    def kernel(k: Any, **_: Any) -> Any:
        return k.replace(ntk=k.ntk + 1.0)

    return stax.layer(lambda: (initialise, apply, kernel))()


def _convolution(layer: Conv) -> StaxLayer:
    """A convolution without its bias, by shifts, as the layer itself computes it.

    The one of stax needs XLA's convolutions, which in double precision crash on CPUs for some shapes (65536 × 8 × 8).
    """

    def initialise(key: jax.Array, shape: tuple[int, ...]) -> tuple[tuple[int, ...], jax.Array]:
        return (*shape[:-1], layer.units), layer.initialise(key)["kernel"]

    def apply(weights: jax.Array, x: jax.Array, **_: Any) -> jax.Array:
        return layer.apply({"kernel": weights, "bias": jnp.zeros(layer.units)}, x)

    def kernel(k: Any, **_: Any) -> Any:
        cov1, cov2, nngp, ntk = (
            WEIGHT_VARIANCE * _window_mean(covariance, layer.size) for covariance in (k.cov1, k.cov2, k.nngp, k.ntk)
        )
        return k.replace(cov1=cov1, cov2=cov2, nngp=nngp, ntk=nngp + ntk, is_gaussian=True, is_input=False)

    every_pair = stax.requires(batch_axis=0, channel_axis=-1, diagonal_spatial=stax.Diagonal(input=stax.Bool.NO))
    return stax.layer(lambda: (initialise, apply, every_pair(kernel)))()


def _window_mean(covariance: jax.Array, size: int) -> jax.Array:
    """Of covariances between positions, [..., h, h, w, w]: the mean over a window that moves both positions alike."""
    if covariance.ndim == 0:  # the NTK of inputs, which no weights came before
        return covariance
    before = (size - 1) // 2
    for axis in (covariance.ndim - 4, covariance.ndim - 2):
        length = covariance.shape[axis]
        pad = [(before, size - 1 - before) if a in (axis, axis + 1) else (0, 0) for a in range(covariance.ndim)]
        padded = jnp.pad(covariance, pad)
        shifts = [jax.lax.slice_in_dim(padded, i, i + length, axis=axis) for i in range(size)]
        shifts = [jax.lax.slice_in_dim(shift, i, i + length, axis=axis + 1) for i, shift in enumerate(shifts)]
        covariance = sum(shifts[1:], start=shifts[0]) / size
    return covariance
