"""The code that a process runs: a worker computes with the driver's, or not at all."""

import functools
import socket
from collections.abc import Mapping
from pathlib import Path

import awt
from awt.errors import InputError
from awt.runtime.cell import fingerprint

SHORT = 16  # digits of a digest: told apart by accident they need not be by an enemy, and every task carries them


@functools.cache
def here() -> Mapping[str, str]:
    """Digests of awt's parts (modules and sub-packages) as they lie on the disk when this is first called."""
    package = Path(awt.__file__).parent
    parts = [path for path in package.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    return {path.name: fingerprint([path])[:SHORT] for path in sorted(parts)}


def check(drivers: Mapping[str, str]) -> None:
    """Refuses to compute with other code than the driver's: the result would be kept under a wrong key."""
    own = here()
    if own == drivers:
        return
    differing = sorted(name for name in own.keys() | drivers.keys() if own.get(name) != drivers.get(name))
    raise InputError(
        f"{socket.gethostname()} has other code than the driver in {Path(awt.__file__).parent} "
        f"({', '.join(differing)} differ): was it changed during the run? Run again, with the same code everywhere"
    )
