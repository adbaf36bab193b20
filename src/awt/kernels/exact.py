"""Exact tangent kernels from the layers' structure: what a layer saw times what was back-propagated to it.

Costs do not depend on the density. For a dense layer with inputs a and back-propagated δ (METHOD: masked kernels),
Σ_j ([(a∘a')ᵀ m]_j + 1) δ^k_j δ'^l_j; for a convolution, per-example weight gradients contracted over kept weights.
"""

from typing import Literal

import jax
import jax.numpy as jnp

from awt.models.network import Masks, Network, Weights, apply_mask

Classes = Literal["full", "trace"]


def tangent_kernel(
    network: Network,
    weights: Weights,
    x: jax.Array,
    other: jax.Array,
    mask: Masks | None = None,
    projected: bool = True,
    shape: Classes = "full",
) -> jax.Array:
    """Θ(x, other): natural (NTK) for natural points, mixed (MTK) when `other` are adversarial examples.

    Args:
      mask: of a sparse network; its kernel is that of f(m⊙θ).
      projected: gradients through kept weights only, which is what governs the sparse network's training.
      shape: "full" for [n, n', k, k], "trace" for its trace over classes, [n, n'].
    """
    if mask is not None:
        weights = apply_mask(weights, mask)
    kept = mask if projected else None
    left, right = _factors(network, weights, x), _factors(network, weights, other)
    parts = [_layer_kernel(left[name], right[name], None if kept is None else kept[name], shape) for name in left]
    return sum(parts[1:], start=parts[0])


Factors = tuple[jax.Array, jax.Array]
"""A layer's input features, dense [n, in] or of a convolution [n, p, in], and its δ, [k, n, out] or [k, n, p, out]."""


def _factors(network: Network, weights: Weights, x: jax.Array) -> dict[str, Factors]:
    shapes = jax.eval_shape(lambda: _layer_outputs(network, weights, x))
    taps = {name: jnp.zeros(shape.shape, shape.dtype) for name, shape in shapes.items()}
    logits, pull, features = jax.vjp(lambda taps: network.tapped(weights, x, taps), taps, has_aux=True)
    n, k = logits.shape
    basis = jnp.broadcast_to(jnp.eye(k)[:, None, :], (k, n, k))
    (deltas,) = jax.vmap(pull)(basis)
    return {name: (_flat(features[name], 1), _flat(deltas[name], 2)) for name in deltas}


def _layer_outputs(network: Network, weights: Weights, x: jax.Array) -> dict[str, jax.Array]:
    _, features = network.tapped(weights, x, {})
    return {name: features[name] @ weights[name]["kernel"].reshape(features[name].shape[-1], -1) for name in features}


def _flat(array: jax.Array, leading: int) -> jax.Array:
    """Folds height and width, if there are any, into one axis of positions."""
    if array.ndim <= leading + 1:
        return array
    return array.reshape(*array.shape[:leading], -1, array.shape[-1])


def _layer_kernel(left: Factors, right: Factors, kept: jax.Array | None, classes: Classes) -> jax.Array:
    if left[0].ndim == 3:
        return _convolution_kernel(left, right, kept, classes)
    return _dense_kernel(left, right, kept, classes)


def _dense_kernel(left: Factors, right: Factors, kept: jax.Array | None, classes: Classes) -> jax.Array:
    (a, delta), (b, gamma) = left, right
    n, units = delta.shape[1:]
    if kept is None:
        inner = a @ b.T + 1.0  # [n, n'], the 1 for the bias
        if classes == "trace":
            return inner * jnp.einsum("knj,kmj->nm", delta, gamma)
        return inner[:, :, None, None] * jnp.einsum("knj,lmj->nmkl", delta, gamma)
    pairs = (a[:, None, :] * b[None, :, :]).reshape(n * b.shape[0], -1)
    inner = (pairs @ kept.astype(a.dtype) + 1.0).reshape(n, b.shape[0], units)  # [n, n', out]
    if classes == "trace":
        return jnp.einsum("nmj,nmj->nm", inner, jnp.einsum("knj,kmj->nmj", delta, gamma))
    weighted = inner[:, :, None, :] * delta.transpose(1, 0, 2)[:, None, :, :]  # [n, n', k, out]
    return jnp.einsum("nmkj,lmj->nmkl", weighted, gamma)


def _convolution_kernel(left: Factors, right: Factors, kept: jax.Array | None, classes: Classes) -> jax.Array:
    rows, columns = _weight_gradients(*left, kept), _weight_gradients(*right, kept)  # [n, k, in * out + out]
    if classes == "trace":
        return jnp.einsum("nkp,mkp->nm", rows, columns)
    return jnp.einsum("nkp,mlp->nmkl", rows, columns)


def _weight_gradients(patches: jax.Array, delta: jax.Array, kept: jax.Array | None) -> jax.Array:
    kernel = jnp.einsum("npi,knpo->nkio", patches, delta)
    if kept is not None:
        kernel = kernel * kept.reshape(kernel.shape[2:])
    bias = delta.sum(axis=2).transpose(1, 0, 2)
    return jnp.concatenate([kernel.reshape(*kernel.shape[:2], -1), bias], axis=-1)
