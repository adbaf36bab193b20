"""Estimators of the distance between a dense and a sparse network's kernels on a batch, behind one interface.

An estimator looks at a kernel through linear views, and compares views instead of kernels: the squared distance of a
view of Θ and the same view of Θˢ, or its mean over several, is the estimate. The dense network's views of a batch can
therefore be stored, and no estimator but `full` ever needs a Gram tensor.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from awt.kernels.exact import tangent_kernel
from awt.kernels.probe import kernel_product, random_signs
from awt.models.network import Masks, Network, Weights, apply_mask


@dataclass(frozen=True)
class Masked:
    """A network whose kernel is looked at: under a mask, or, without one, dense."""

    network: Network
    weights: Weights
    mask: Masks | None = None
    projected: bool = True


@dataclass(frozen=True)
class Full:
    """‖Θ − Θˢ‖²_F itself."""

    fresh = False  # one view, whatever the key

    def views(self, masked: Masked, x: jax.Array, moved: jax.Array, key: jax.Array, residual: jax.Array) -> jax.Array:
        """[1, n, n', k, k]"""
        return tangent_kernel(masked.network, masked.weights, x, moved, masked.mask, masked.projected)[None]


@dataclass(frozen=True)
class Diagonal:
    """The part of ‖Θ − Θˢ‖²_F on the entries Θ(x_i, x̃_i)[c, c]."""

    fresh = False

    def views(self, masked: Masked, x: jax.Array, moved: jax.Array, key: jax.Array, residual: jax.Array) -> jax.Array:
        """[1, n, k]"""
        kept = masked.mask, masked.projected
        return tangent_kernel(masked.network, masked.weights, x, moved, *kept, shape="diagonal")[None]


@dataclass(frozen=True)
class Probe:
    """‖(Θ − Θˢ)v‖² for random signs v: unbiased for ‖Θ − Θˢ‖²_F, for any network, at the cost of passes through it."""

    probes: int
    fresh = True  # other signs under another key: a search cannot fit them

    def views(self, masked: Masked, x: jax.Array, moved: jax.Array, key: jax.Array, residual: jax.Array) -> jax.Array:
        """[probes, n, k]"""
        vectors = random_signs(key, (self.probes, *residual.shape))
        function, at = differentiated(masked)
        return jax.vmap(partial(kernel_product, function, at, x, moved))(vectors)


@dataclass(frozen=True)
class Residual:
    """‖(Θ − Θˢ)r‖² along r = ∇_f ℓ of the dense network, the one direction in which its training moves first."""

    fresh = False

    def views(self, masked: Masked, x: jax.Array, moved: jax.Array, key: jax.Array, residual: jax.Array) -> jax.Array:
        """[1, n, k]"""
        function, at = differentiated(masked)
        return kernel_product(function, at, x, moved, residual)[None]


Estimator = Full | Diagonal | Probe | Residual


def estimator(name: str, probes: int) -> Estimator:
    """The one that the parameters name."""
    found: dict[str, Estimator] = {
        "full": Full(),
        "diagonal": Diagonal(),
        "probe": Probe(probes),
        "residual": Residual(),
    }
    return found[name]


def residual(outputs: jax.Array, y: jax.Array) -> jax.Array:
    """∇_f ℓ of the cross-entropy at the dense network's outputs, [n, k]: a batch's shape for the views of it and, for
    `Residual`, the direction; the same for both networks."""
    return jax.nn.softmax(outputs) - jax.nn.one_hot(y, outputs.shape[-1])


def cosine_distance(views: jax.Array, dense_views: jax.Array) -> jax.Array:
    """1 − Tr(ΘΘˢᵀ)/(‖Θ‖‖Θˢ‖), as the views see it: blind to the kernel's scale."""
    scale = jnp.sqrt(jnp.sum(views**2) * jnp.sum(dense_views**2))
    return 1.0 - jnp.sum(views * dense_views) / jnp.maximum(scale, 1e-30)


def squared_distances(views: jax.Array, dense_views: jax.Array) -> jax.Array:
    """An estimate for each view."""
    return jnp.sum((views - dense_views) ** 2, axis=tuple(range(1, views.ndim)))


def mean_and_error(estimates: np.ndarray) -> tuple[float, float]:
    """The mean of independent estimates and its standard error, which is not known (nan) of a single one."""
    values = np.asarray(estimates, np.float64)
    error = float(values.std(ddof=1) / len(values) ** 0.5) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def differentiated(masked: Masked) -> tuple[Callable[[Weights, jax.Array], jax.Array], Weights]:
    """What is differentiated, and where: w ↦ f(m⊙w) at w has gradients through kept weights only, f at m⊙w has all."""
    network, weights, mask = masked.network, masked.weights, masked.mask
    if mask is None:
        return network.apply, weights
    if masked.projected:
        return lambda weights, x: network.apply(apply_mask(weights, mask), x), weights
    return network.apply, apply_mask(weights, mask)
