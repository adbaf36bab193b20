"""Data parallelism over the devices of one process: each computes on its part of a batch, all hold the weights."""

from typing import Any, cast

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def placed(array: jax.Array, devices: int) -> jax.Array:
    """On all devices, once and for all, where several share the work."""
    return array if devices == 1 else jax.device_put(array, _sharding(devices))


def shared(batch: jax.Array, devices: int) -> jax.Array:
    """Cut into as many parts as there are devices: what follows is computed where its part is."""
    if devices == 1:
        return batch
    constrain: Any = jax.lax.with_sharding_constraint
    return cast(jax.Array, constrain(batch, _sharding(devices, "batch")))


def _sharding(devices: int, *axes: str) -> NamedSharding:
    mesh = Mesh(np.array(jax.local_devices()[:devices]), ("batch",))
    return NamedSharding(mesh, PartitionSpec(*axes))  # type: ignore[no-untyped-call]
