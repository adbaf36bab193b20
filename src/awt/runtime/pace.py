"""How long cells take beside their kin, to tell those that lag behind."""

import statistics
from collections import defaultdict
from dataclasses import dataclass, field

from awt.runtime.cell import Cell

LAG = 4.0  # times the median of its kin, from which on a cell is said to lag behind
LEAST_SECONDS = 10.0  # below, nobody minds
LEAST_KIN = 3  # finished ones, before anything is said


@dataclass
class Pace:
    """Seconds of finished cells, by kin: cells of one function on the same kind of thing."""

    _finished: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    _begun: dict[str, tuple[str, float]] = field(default_factory=dict)

    def begin(self, key: str, cell: Cell, now: float) -> None:
        """Of two calls for the same cell the first counts."""
        self._begun.setdefault(key, (_kin(cell), now))

    def forget(self, key: str) -> None:
        """For a cell that was lost."""
        self._begun.pop(key, None)

    def finish(self, key: str, cell: Cell, seconds: float) -> None:
        self.forget(key)
        self._finished[_kin(cell)].append(seconds)

    def lagging(self, now: float) -> list[tuple[str, float, float]]:
        """Keys of cells that lag behind, with how long they run and the median of their kin; each is told once."""
        found = []
        for key, (kin, since) in list(self._begun.items()):
            seconds, kindred = now - since, self._finished[kin]
            if seconds < LEAST_SECONDS or len(kindred) < LEAST_KIN:
                continue
            median = statistics.median(kindred)
            if seconds > LAG * median:
                found.append((key, seconds, median))
                self._begun[key] = (kin, float("inf"))
        return found


def _kin(cell: Cell) -> str:
    """Cells whose tags differ in numbers alone."""
    words = [str(tag) for tag in cell.tags.values() if isinstance(tag, str)]
    return " ".join([cell.function, *words])
