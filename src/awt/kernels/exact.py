"""Exact tangent kernels from the layers' structure: what a layer saw times what was back-propagated to it.

Costs do not depend on the density. With a layer's inputs a, and δ^k what is back-propagated to it from output k:

- dense, unmasked: (a·a' + 1) (δ^k·δ'^l);
- dense, masked: Σ_j ([(a∘a')ᵀ m]_j + 1) δ^k_j δ'^l_j, a few rows of points at a time;
- convolution: weight gradients of each point and output, Σ_p a_p δ^k_p over positions p (patches a_p), are small where
  weights are shared; their products over the kept weights. Before a max-pooling only the maxima's δ are not zero, and
  with few weights a channel it pays to sum over these alone.
"""

import math
from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from awt.models.network import Masks, Network, Weights, apply_mask

Shape = Literal["full", "trace", "diagonal"]

PAIRS = 256  # pairs of points at a time in a masked dense layer: enough for a matrix product, few for the caches


def tangent_kernel(
    network: Network,
    weights: Weights,
    x: jax.Array,
    other: jax.Array | None = None,
    mask: Masks | None = None,
    projected: bool = True,
    shape: Shape = "full",
) -> jax.Array:
    """Θ(x, other): natural (NTK) for natural points, mixed (MTK) when `other` are adversarial examples.

    Args:
      other: the second set of points; None: the first again.
      mask: of a sparse network; its kernel is that of f(m⊙θ).
      projected: gradients through kept weights only, which is what governs the sparse network's training.
      shape: "full" for [n, n', k, k]; "trace" for its trace over classes, [n, n']; "diagonal" for the entries
        Θ(x_i, other_i)[c, c] alone, [n, k].
    """
    if mask is not None:
        weights = apply_mask(weights, mask)
    left = _factors(network, weights, x)
    right = left if other is None else _factors(network, weights, other)
    layer_kernel = {"full": _full, "trace": _trace, "diagonal": _diagonal}[shape]
    parts = []
    for layer in network.weighted:
        kept = None if mask is None or not projected else mask[layer.name].reshape(-1, layer.units)
        parts.append(layer_kernel(left[layer.name], right[layer.name], kept))
    kernel = sum(parts[1:], start=parts[0])
    return kernel.transpose(0, 2, 1, 3) if shape == "full" else kernel


Factors = tuple[jax.Array, jax.Array]
"""Of a dense layer, inputs [n, in] and δ [n, k, out]; of a convolution, weight gradients [n, k, in, out] and bias
gradients [n, k, out], "in" being an entry of a patch."""


def _factors(network: Network, weights: Weights, x: jax.Array) -> dict[str, Factors]:
    shapes = jax.eval_shape(lambda: network.tapped(weights, x, {})[1])
    taps = {
        layer.name: jnp.zeros(_tap_shape(shapes[layer.name].shape, layer.units), x.dtype) for layer in network.weighted
    }
    logits, pull, features = jax.vjp(lambda taps: network.tapped(weights, x, taps), taps, has_aux=True)
    n, k = logits.shape
    (deltas,) = jax.vmap(pull)(jnp.broadcast_to(jnp.eye(k)[:, None, :], (k, n, k)))
    return {name: _layer_factors(features[name], delta) for name, delta in deltas.items()}


def _tap_shape(features: tuple[int, ...], units: int) -> tuple[int, ...]:
    return (*features[: min(len(features) - 1, 3)], units)


def _layer_factors(features: jax.Array, delta: jax.Array) -> Factors:
    if features.ndim == 2:
        return features, delta.transpose(1, 0, 2)
    k, n, *_, units = delta.shape
    delta = delta.reshape(k, n, -1, units)
    if features.ndim == 5:  # each unit its own patch, and the bias last
        gradients = jnp.einsum("npio,knpo->nkio", features.reshape(n, -1, *features.shape[3:]), delta)
        return gradients[:, :, :-1], gradients[:, :, -1]
    patches = features.reshape(n, -1, features.shape[-1])
    gradients = jnp.einsum("npi,npko->niko", patches, delta.transpose(1, 2, 0, 3))
    return gradients.transpose(0, 2, 1, 3), delta.sum(axis=2).transpose(1, 0, 2)


def _full(left: Factors, right: Factors, kept: jax.Array | None) -> jax.Array:
    """[n, k, n', l]"""
    (a, delta), (b, gamma) = left, right
    if a.ndim == 4:
        # as matrices: products of more axes would be transposed in memory first
        kernel = _rows(_masked(a, kept), 2) @ _rows(b, 2).T + _rows(delta, 2) @ _rows(gamma, 2).T
        return kernel.reshape(*a.shape[:2], *b.shape[:2])
    if kept is None:
        return (a @ b.T + 1.0)[:, None, :, None] * jnp.einsum("nkj,mlj->nkml", delta, gamma)
    kernel = _by_points(left, b, kept, lambda inner, delta: jnp.einsum("mlj,kj->mlk", inner[:, None] * gamma, delta))
    return kernel.transpose(0, 3, 1, 2)


def _trace(left: Factors, right: Factors, kept: jax.Array | None) -> jax.Array:
    """[n, n']"""
    (a, delta), (b, gamma) = left, right
    if a.ndim == 4:
        return _rows(_masked(a, kept), 1) @ _rows(b, 1).T + _rows(delta, 1) @ _rows(gamma, 1).T
    if kept is None:
        return (a @ b.T + 1.0) * (_rows(delta, 1) @ _rows(gamma, 1).T)
    return _by_points(left, b, kept, lambda inner, delta: jnp.einsum("mj,kj,mkj->m", inner, delta, gamma))


def _diagonal(left: Factors, right: Factors, kept: jax.Array | None) -> jax.Array:
    """[n, k]"""
    (a, delta), (b, gamma) = left, right
    if a.ndim == 4:
        return jnp.sum(_masked(a, kept) * b, axis=(2, 3)) + jnp.sum(delta * gamma, axis=2)
    if kept is None:
        return (jnp.sum(a * b, axis=1) + 1.0)[:, None] * jnp.sum(delta * gamma, axis=2)
    inner = (a * b) @ kept.astype(a.dtype) + 1.0
    return jnp.einsum("nj,nkj->nk", inner, delta * gamma)


def _by_points(
    left: Factors, b: jax.Array, kept: jax.Array, product: Callable[[jax.Array, jax.Array], jax.Array]
) -> jax.Array:
    """A masked dense layer's kernel, a few points of the left at a time: `product` of [(a∘b)ᵀ m] + 1, [n', out], the 1
    for the bias, and of the point's δ [k, out]."""
    mask = kept.astype(b.dtype)

    def point(a_delta: Factors) -> jax.Array:
        a, delta = a_delta
        return product((a * b) @ mask + 1.0, delta)

    return jax.lax.map(point, left, batch_size=max(1, PAIRS // len(b)))


def _masked(gradients: jax.Array, kept: jax.Array | None) -> jax.Array:
    return gradients if kept is None else gradients * kept


def _rows(array: jax.Array, axes: int) -> jax.Array:
    """As a matrix: the first axes as its rows."""
    return array.reshape(math.prod(array.shape[:axes]), -1)
