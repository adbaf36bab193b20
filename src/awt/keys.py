"""Random keys: every random choice is named, and derived from an explicit seed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import jax


def _words(names: tuple[str | int, ...]) -> int:
    digest = hashlib.sha256("/".join(map(str, names)).encode()).digest()
    return int.from_bytes(digest[:4], "little")


def key(seed: int, *names: str | int) -> jax.Array:
    """A JAX key for one purpose, e.g. `key(seed, "search", "probes")`."""
    import jax  # here, so that host-only code (the data stage) does not wait for it

    return jax.random.fold_in(jax.random.PRNGKey(seed), _words(names))


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """The same for choices made on the host, e.g. the split of a data set."""
    return np.random.Generator(np.random.PCG64([seed, _words(names)]))
