"""Exact tangent kernels from the layers' structure: what a layer saw times what was back-propagated to it.

Costs do not depend on the density. With a layer's inputs a, and δ^k what is back-propagated to it from output k:

- dense, unmasked: (a·a' + 1) (δ^k·δ'^l);
- dense, masked: Σ_j ([(a∘a')ᵀ m]_j + 1) δ^k_j δ'^l_j, a few rows of points at a time;
- convolution: weight gradients of each point and output, Σ_p a_p δ^k_p over positions p (patches a_p), are small where
  weights are shared; their products over the kept weights.
"""

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
"""Of a dense layer, inputs [n, in] and δ [n, k, out]; of a convolution, weight gradients [n, in, k, out] and bias
gradients [n, k, out], "in" being an entry of a patch."""


def _factors(network: Network, weights: Weights, x: jax.Array) -> dict[str, Factors]:
    shapes = jax.eval_shape(lambda: network.tapped(weights, x, {})[1])
    taps = {
        layer.name: jnp.zeros((*shapes[layer.name].shape[:-1], layer.units), shapes[layer.name].dtype)
        for layer in network.weighted
    }
    logits, pull, features = jax.vjp(lambda taps: network.tapped(weights, x, taps), taps, has_aux=True)
    n, k = logits.shape
    (deltas,) = jax.vmap(pull)(jnp.broadcast_to(jnp.eye(k)[:, None, :], (k, n, k)))
    return {name: _layer_factors(features[name], delta) for name, delta in deltas.items()}


def _layer_factors(features: jax.Array, delta: jax.Array) -> Factors:
    if features.ndim == 2:
        return features, delta.transpose(1, 0, 2)
    patches = features.reshape(len(features), -1, features.shape[-1])
    delta = delta.reshape(*delta.shape[:2], -1, delta.shape[-1]).transpose(1, 2, 0, 3)  # [n, p, k, out]
    return jnp.einsum("npi,npko->niko", patches, delta), delta.sum(axis=1)


def _full(left: Factors, right: Factors, kept: jax.Array | None) -> jax.Array:
    """[n, k, n', l]"""
    (a, delta), (b, gamma) = left, right
    if a.ndim == 4:
        over_weights = jnp.einsum("niko,milo->nkml", _masked(a, kept), b)
        return over_weights + jnp.einsum("nko,mlo->nkml", delta, gamma)
    if kept is None:
        return (a @ b.T + 1.0)[:, None, :, None] * jnp.einsum("nkj,mlj->nkml", delta, gamma)
    mask = kept.astype(a.dtype)

    def row(a_delta: Factors) -> jax.Array:
        a, delta = a_delta
        inner = (a * b) @ mask + 1.0  # [n', out], the 1 for the bias
        return jnp.einsum("kmj,mlj->kml", inner * delta[:, None, :], gamma)

    return jax.lax.map(row, (a, delta), batch_size=max(1, PAIRS // len(b)))


def _trace(left: Factors, right: Factors, kept: jax.Array | None) -> jax.Array:
    """[n, n']"""
    (a, delta), (b, gamma) = left, right
    if a.ndim == 4:
        return jnp.einsum("niko,miko->nm", _masked(a, kept), b) + jnp.einsum("nko,mko->nm", delta, gamma)
    if kept is None:
        return (a @ b.T + 1.0) * jnp.einsum("nkj,mkj->nm", delta, gamma)
    mask = kept.astype(a.dtype)

    def row(a_delta: Factors) -> jax.Array:
        a, delta = a_delta
        inner = (a * b) @ mask + 1.0
        return jnp.einsum("mj,kj,mkj->m", inner, delta, gamma)

    return jax.lax.map(row, (a, delta), batch_size=max(1, PAIRS // len(b)))


def _diagonal(left: Factors, right: Factors, kept: jax.Array | None) -> jax.Array:
    """[n, k]"""
    (a, delta), (b, gamma) = left, right
    if a.ndim == 4:
        return jnp.einsum("niko,niko->nk", _masked(a, kept), b) + jnp.einsum("nko,nko->nk", delta, gamma)
    if kept is None:
        return (jnp.sum(a * b, axis=1) + 1.0)[:, None] * jnp.sum(delta * gamma, axis=2)
    inner = (a * b) @ kept.astype(a.dtype) + 1.0
    return jnp.einsum("nj,nkj->nk", inner, delta * gamma)


def _masked(gradients: jax.Array, kept: jax.Array | None) -> jax.Array:
    return gradients if kept is None else gradients * kept[:, None, :]
