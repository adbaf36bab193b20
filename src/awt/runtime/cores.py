"""Giving each worker process of a machine cores of its own, which is what limits JAX's CPU threads."""

import contextlib
import fcntl
import os
import tempfile
from pathlib import Path

_held: list[int] = []  # locks live as long as the process: the kernel frees them even after kill -9


def pin(count: int) -> None:
    """Pins this process to `count` cores that no other worker of this user has, once; 0 leaves it free.

    Must run before JAX is imported, which sizes its thread pool by the affinity it finds. When too few cores are
    free (idle workers keep theirs), the process stays unpinned: slower, but never wrong.
    """
    if count <= 0 or _held or not hasattr(os, "sched_setaffinity"):
        return
    folder = Path(tempfile.gettempdir()) / f"awt-cores-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    cores: set[int] = set()
    for core in sorted(os.sched_getaffinity(0)):
        if len(cores) == count:
            break
        lock = os.open(folder / str(core), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(lock)
            continue
        _held.append(lock)
        cores.add(core)
    if len(cores) < count:
        for lock in _held:
            os.close(lock)
        _held.clear()
        return
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cores)
