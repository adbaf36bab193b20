"""The set of allowed perturbations: an ℓ∞ or ℓ2 ball, in pixels or in standard deviations, clipped to [0, 1]."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from awt.params import Threat


@dataclass(frozen=True)
class Ball:
    """x + r with ‖r / unit‖ ≤ eps, unit per channel: ones for pixels, the data's std otherwise."""

    norm: str
    eps: float
    unit: tuple[float, ...]
    clip: bool

    def random(self, key: jax.Array, x: jax.Array) -> jax.Array:
        """A point drawn uniformly from the ball around each x (before clipping)."""
        if self.norm == "linf":
            return self.project(x, x + jax.random.uniform(key, x.shape, minval=-self.eps, maxval=self.eps) * self._unit)
        direction_key, radius_key = jax.random.split(key)
        # divided by the unit, which `steepest` multiplies by: no channel is preferred
        direction = self.steepest(jax.random.normal(direction_key, x.shape) / self._unit)
        share = jax.random.uniform(radius_key, (x.shape[0],)) ** (1.0 / x[0].size)
        return self.project(x, x + self.eps * share.reshape(-1, 1, 1, 1) * direction)

    def steepest(self, gradient: jax.Array) -> jax.Array:
        """The perturbation of size 1 that follows a gradient (with respect to pixels) furthest."""
        inner = gradient * self._unit
        if self.norm == "linf":
            return jnp.sign(inner) * self._unit
        return inner / jnp.maximum(_length(inner), 1e-12) * self._unit

    def project(self, x: jax.Array, moved: jax.Array) -> jax.Array:
        """The nearest allowed point to `moved` around x (for ℓ2 with clipping: an allowed point)."""
        radius = self.eps * self._unit
        if self.norm == "linf":
            moved = jnp.clip(moved, x - radius, x + radius)
        else:
            length = _length((moved - x) / self._unit)
            moved = jnp.where(length > self.eps, x + (moved - x) * (self.eps / jnp.maximum(length, 1e-12)), moved)
        return jnp.clip(moved, 0.0, 1.0) if self.clip else moved

    @property
    def _unit(self) -> jax.Array:
        return jnp.asarray(self.unit)


def ball(threat: Threat, std: np.ndarray) -> Ball:
    """The ball of the parameters, on data with a standard deviation per channel."""
    unit = tuple(float(value) or 1.0 for value in std) if threat.eps_unit == "std" else (1.0,) * len(std)
    return Ball(threat.norm, threat.eps, unit, threat.clip)


def _length(x: jax.Array) -> jax.Array:
    return jnp.sqrt(jnp.sum(x * x, axis=(1, 2, 3), keepdims=True))
