"""When cells are done that workers take one after the other, each compiling what it has not compiled yet."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from awt.runtime.executor import Executor
from awt.runtime.machines import Machine
from awt.runtime.options import Resources


class Job(NamedTuple):
    seconds: float
    programs: tuple[str, ...] = ()


@dataclass
class Workers:
    """So many processes at work side by side, and what each has compiled; they last from one wave to the next."""

    number: int
    compile_seconds: float = 0.0
    _compiled: list[set[str]] = field(default_factory=list)

    def wall(self, jobs: Sequence[Job]) -> float:
        """Seconds until the last of a wave is done, never less than the longest of them."""
        self._compiled += [set() for _ in range(min(self.number, len(jobs)) - len(self._compiled))]
        free = [(0.0, worker) for worker in range(len(self._compiled))]
        heapq.heapify(free)
        last = 0.0
        for job in jobs:
            at, worker = heapq.heappop(free)
            fresh = set(job.programs) - self._compiled[worker]
            self._compiled[worker] |= fresh
            done = at + job.seconds + len(fresh) * self.compile_seconds
            heapq.heappush(free, (done, worker))
            last = max(last, done)
        return last


def at_once(executor: Executor, machines: Sequence[Machine], kind: str) -> int:
    """How many cells of a kind an executor runs at once; the serial one, one."""
    return 1 if executor.runtime.executor == "serial" else slots(machines, executor.wanted(kind))


def slots(machines: Sequence[Machine], wanted: Resources) -> int:
    """How many cells of these resources run at once."""
    return sum(_fitting(machine, wanted) for machine in machines)


def _fitting(machine: Machine, wanted: Resources) -> int:
    asked = ((machine.cpus, wanted.cpus), (machine.gpus, wanted.gpus or 0), (machine.memory, wanted.memory_gb * 2**30))
    return min(int(there / amount) for there, amount in asked if amount > 0)
