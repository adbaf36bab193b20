"""The set of allowed perturbations: an ℓ∞, ℓ2 or ℓ1 ball, in pixels or in standard deviations, clipped to [0, 1]."""

from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge

from awt.options import options


@options
class Threat:
    """What a network must withstand, as a user says it."""

    norm: Literal["linf", "l2", "l1"] = "linf"
    eps: Annotated[float, Ge(0)]
    eps_unit: Literal["pixel", "std"] = "pixel"
    clip: bool = True


@partial(jax.tree_util.register_dataclass, data_fields=["eps"], meta_fields=["norm", "unit", "clip"])
@dataclass(frozen=True)
class Ball:
    """x + r with ‖r / unit‖ ≤ eps, unit per channel: ones for pixels, the data's std otherwise.

    A static argument of jit, or an ordinary one: then eps is an array, and other sizes do not recompile.
    """

    norm: str
    eps: float
    unit: tuple[float, ...]
    clip: bool

    def size(self, r: jax.Array) -> jax.Array:
        """‖r / unit‖ by point, [n]."""
        return _size(self.norm, r / self.units)[:, 0, 0, 0]

    def scaled(self, share: jax.Array) -> "Ball":
        """With a share of eps, as an array."""
        return Ball(self.norm, self.eps * share, self.unit, self.clip)  # type: ignore[arg-type]

    def random(self, key: jax.Array, x: jax.Array) -> jax.Array:
        """A point drawn uniformly from the ball around each x (before clipping)."""
        if self.norm == "linf":
            return self.project(x, x + jax.random.uniform(key, x.shape, minval=-self.eps, maxval=self.eps) * self.units)
        direction_key, radius_key = jax.random.split(key)
        if self.norm == "l2":
            direction = jax.random.normal(direction_key, x.shape)
        else:  # of independent Laplace variables the share of each in their sum is uniform on the sphere of ℓ1
            direction = jax.random.laplace(direction_key, x.shape)
        share = jax.random.uniform(radius_key, (x.shape[0], 1, 1, 1)) ** (1.0 / x[0].size)
        return self.project(x, x + self.eps * share * self.units * direction / _size(self.norm, direction))

    def steepest(self, gradient: jax.Array) -> jax.Array:
        """The perturbation of size 1 that follows a gradient (with respect to pixels) furthest.

        In ℓ1 that is a single pixel; a hundredth of them, the first ones, share the step here.
        """
        inner = gradient * self.units
        if self.norm == "linf":
            return jnp.sign(inner) * self.units
        if self.norm == "l2":
            return inner / jnp.maximum(_size("l2", inner), 1e-12) * self.units
        return self.sparse(inner, jnp.full(len(inner), 0.01)) * self.units

    def sparse(self, inner: jax.Array, share: jax.Array) -> jax.Array:
        """Signs of the largest entries, this share of them by point (at least one), scaled to ℓ1 size 1."""
        flat = jnp.abs(inner).reshape(len(inner), -1)
        rank = jnp.clip(jnp.ceil(share * flat.shape[1]).astype(int), 1, flat.shape[1])
        least = jnp.take_along_axis(jnp.sort(flat, axis=1), flat.shape[1] - rank[:, None], axis=1)
        signs = jnp.sign(inner) * (jnp.abs(inner) >= least.reshape(-1, 1, 1, 1))
        return signs / jnp.maximum(_size("l1", signs), 1.0)

    def project(self, x: jax.Array, moved: jax.Array) -> jax.Array:
        """The nearest allowed point to `moved` around x (for ℓ2 with clipping: an allowed point)."""
        radius = self.eps * self.units
        if self.norm == "linf":
            moved = jnp.clip(moved, x - radius, x + radius)
        elif self.norm == "l2":
            length = _size("l2", (moved - x) / self.units)
            moved = jnp.where(length > self.eps, x + (moved - x) * (self.eps / jnp.maximum(length, 1e-12)), moved)
        else:
            moved = self._project_sum(x, moved)
        return jnp.clip(moved, *self.box)

    @property
    def box(self) -> tuple[float, float]:
        """The least and the largest value of a pixel."""
        return (0.0, 1.0) if self.clip else (-jnp.inf, jnp.inf)

    def _project_sum(self, x: jax.Array, moved: jax.Array) -> jax.Array:
        """ℓ1 with the box, exactly: all sizes are reduced by one number, found by bisection, and clipped."""
        low, high = ((bound - x) / self.units for bound in self.box)
        r = (moved - x) / self.units

        def reduced(by: jax.Array) -> jax.Array:
            return jnp.clip(jnp.sign(r) * jnp.maximum(jnp.abs(r) - by, 0.0), low, high)

        def halve(_: int, ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            few, enough = ends
            middle = 0.5 * (few + enough)
            inside = _size("l1", reduced(middle)) <= self.eps
            return jnp.where(inside, few, middle), jnp.where(inside, middle, enough)

        most = _size("linf", r)
        _, by = jax.lax.fori_loop(0, 30, halve, (jnp.zeros_like(most), most))
        inside = _size("l1", jnp.clip(r, low, high)) <= self.eps
        return jnp.where(inside, moved, x + reduced(by) * self.units)

    @property
    def units(self) -> jax.Array:
        return jnp.asarray(self.unit)


def ball(threat: Threat, std: np.ndarray) -> Ball:
    """The ball of a threat, on data with a standard deviation per channel."""
    unit = tuple(float(value) or 1.0 for value in std) if threat.eps_unit == "std" else (1.0,) * len(std)
    return Ball(threat.norm, threat.eps, unit, threat.clip)


def _size(norm: str, r: jax.Array) -> jax.Array:
    """The norm by point, [n, 1, 1, 1]."""
    if norm == "linf":
        by_row = jnp.max(jnp.abs(r), axis=1, keepdims=True)
        # apart: XLA would make one reduction of the two, of single numbers on CPUs, in twice the time
        by_row = jax.lax.optimization_barrier(by_row)  # type: ignore[no-untyped-call]
        return jnp.max(by_row, axis=(2, 3), keepdims=True)
    if norm == "l2":
        return jnp.sqrt(jnp.sum(r * r, axis=(1, 2, 3), keepdims=True))
    return jnp.sum(jnp.abs(r), axis=(1, 2, 3), keepdims=True)
