"""Giving each process that computes cells as many cores as it may use, which is what sizes JAX's thread pool."""

import fcntl
import os
import tempfile
from pathlib import Path

from awt.errors import InputError

_pinned: list[int] = []  # the cores of this process
_locks: list[int] = []  # live as long as the process: the kernel frees them even after kill -9


def pin(count: int) -> None:
    """Pins this process to `count` cores, preferably ones that no other process of awt has.

    Must run before JAX is imported, which sizes its threads by the affinity it finds; their number decides the last
    bits of some sums, so it must be the same wherever a cell runs. A process keeps its cores: another count is refused.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    if _pinned:
        if len(_pinned) != count:
            raise InputError(
                f"runtime.resources: this process already computes with {len(_pinned)} cores, not {count}: "
                "with the serial executor all kinds of a stage's cells need the same cpus"
            )
        return
    cores = sorted(os.sched_getaffinity(0))
    if count > len(cores):
        raise InputError(f"runtime.resources: a cell asks for {count} cpus, but only {len(cores)} are here")
    free = [core for core in cores if _lock(core, count)]
    # with too few free ones the rest is shared: slower, but with the same number of threads
    shared = [core for core in cores if core not in free]
    offset = os.getpid() % max(len(shared), 1)
    _pinned.extend((free + shared[offset:] + shared[:offset])[:count])
    os.sched_setaffinity(0, _pinned)


def available() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _lock(core: int, wanted: int) -> bool:
    """Whether this core is now ours; no more than wanted are taken."""
    if len(_locks) >= wanted:
        return False
    folder = Path(tempfile.gettempdir()) / f"awt-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    lock = os.open(folder / str(core), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return False
    _locks.append(lock)
    return True
