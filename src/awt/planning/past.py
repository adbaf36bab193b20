"""How long the store's finished cells took: what a cell like them will take."""

from collections import defaultdict
from functools import cached_property
from statistics import median

from awt.runtime.cell import Cell, from_json
from awt.runtime.code import digest
from awt.runtime.store import Store

CHANGING = ("seed", "density")  # parameters that do not change a cell's time


class Past:
    """Finished cells by the code that they called, where they ran and, `like` a cell, their parameters."""

    def __init__(self, store: Store, platform: str) -> None:
        self.store, self.platform = store, platform

    def like(self, cell: Cell, threads: int) -> float | None:
        """The median of seconds of cells that differ in seed, density and inputs alone."""
        return _median(self._seconds.get(_call(cell, self.platform, threads)))

    def same_code(self, cell: Cell, threads: int) -> float | None:
        """The median of seconds of cells that called the same functions, whatever they asked of them."""
        return _median(self._seconds.get(_code(cell, self.platform, threads)))

    @cached_property
    def _seconds(self) -> dict[str, list[float]]:
        """By what cells have in common."""
        seconds: dict[str, list[float]] = defaultdict(list)
        for path in (self.store.root / "cells").glob("??/*"):  # what is at a URL alone is not fetched for this
            entry = self.store.peek(path.name)
            if entry is None or not {"cell", "seconds", "surroundings", "threads"} <= entry.about.keys():
                continue
            cell, platform = from_json(entry.about["cell"]), entry.about["surroundings"]["platform"]
            for name in (_call, _code):
                seconds[name(cell, platform, entry.about["threads"])].append(entry.about["seconds"])
        return seconds


def _call(cell: Cell, platform: str, threads: int) -> str:
    params = {name: value for name, value in cell.params.items() if name not in CHANGING}
    return digest([cell.function, params, platform, threads])


def _code(cell: Cell, platform: str, threads: int) -> str:
    return digest([sorted(cell.functions), platform, threads])


def _median(seconds: list[float] | None) -> float | None:
    return median(seconds) if seconds else None
