"""Giving each process that computes cells as many cores as it may use, which is what sizes JAX's thread pool."""

import fcntl
import os
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from awt.errors import InputError

PATIENCE = 1.0  # seconds to wait for a core of one's own: the workers of the stage before may not be gone yet

_allowed: list[int] = []  # the cores that this process found open to it
_pinned: list[int] = []  # those it keeps to
_locks: dict[int, int] = {}  # live as long as the process: the kernel frees them even after kill -9


def pin(count: int) -> None:
    """Pins this process to `count` cores, preferably ones that no other process of awt has.

    Must run before JAX is imported, which sizes its threads by the affinity it finds; their number decides the last
    bits of some sums, so it must be the same wherever a cell runs. A process keeps its number of cores: another is
    refused. Called again it moves from cores that it shares to ones that have become free.
    """
    if not hasattr(os, "sched_setaffinity"):
        return
    if _pinned and len(_pinned) != count:
        raise InputError(
            f"runtime.resources: this process already computes with {len(_pinned)} cores, not {count}: "
            "with the serial executor all kinds of a stage's cells need the same cpus"
        )
    if not _pinned:
        cores = sorted(os.sched_getaffinity(0))
        if count > len(cores):
            raise InputError(f"runtime.resources: a cell asks for {count} cpus, but only {len(cores)} are here")
        _allowed.extend(cores)
    deadline = time.monotonic() + (0.0 if _pinned else PATIENCE)
    while not _lock_cores(count) and time.monotonic() < deadline:
        time.sleep(0.1)
    # with too few free ones the rest is shared: slower, but with the same number of threads
    shared = [core for core in _allowed if core not in _locks]
    offset = os.getpid() % max(len(shared), 1)
    _keep_to((sorted(_locks) + shared[offset:] + shared[:offset])[:count])


def _keep_to(cores: list[int]) -> None:
    before, threads = set(_pinned), [0]
    if before == set(cores):
        return
    if before:  # all threads that were pinned with this one, JAX's too
        threads = [int(path.name) for path in Path("/proc/self/task").iterdir()]
    for thread in threads:
        with suppress(ProcessLookupError):  # it may have ended
            if not before or os.sched_getaffinity(thread) == before:
                os.sched_setaffinity(thread, cores)
    _pinned[:] = cores


def available() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _lock_cores(wanted: int) -> bool:
    """Takes free cores, no more than wanted; whether there are as many now."""
    folder = Path(tempfile.gettempdir()) / f"awt-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    for core in _allowed:
        if core in _locks or len(_locks) >= wanted:
            continue
        lock = os.open(folder / str(core), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _locks[core] = lock
        except OSError:
            os.close(lock)
    return len(_locks) >= wanted
