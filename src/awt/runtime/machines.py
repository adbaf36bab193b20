"""What the machines that cells run on have."""

import os
from pathlib import Path
from typing import NamedTuple

from awt.runtime import cores, device

_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container


class Machine(NamedTuple):
    cpus: float
    gpus: float
    memory: float  # bytes


def here() -> Machine:
    return Machine(cores.available(), len(device.local_gpus()), _memory())


def _memory() -> float:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _LIMIT.read_text().strip() if _LIMIT.exists() else ""
    return min(memory, int(limit)) if limit.isdigit() else memory
