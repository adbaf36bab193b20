"""Showing a stage at work: a live view on a terminal, one plain line a cell elsewhere."""

import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

PLACES_SECONDS = 60.0  # between lines that say how many cells run where


@dataclass
class Progress:
    """Counts cells and shows them; a context manager."""

    stage: str
    total: int
    reused: int = 0
    done: int = 0
    failed: int = 0
    running: dict[str, dict[str, Any]] = field(default_factory=dict)
    nodes: dict[str, str] = field(default_factory=dict)  # of a cluster, by the label of the cell that runs there
    _began: float = field(default_factory=time.monotonic)
    _placed: float = field(default_factory=time.monotonic)
    _live: Live | None = None

    def __enter__(self) -> "Progress":
        if self.total > self.reused and sys.stdout.isatty():
            self._live = Live(self._view(), console=Console(), refresh_per_second=4, transient=True)
            self._live.start()
        elif self.total:
            self._line(f"{self.total} cells, {self.reused} reused")
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()
        if self.total > self.reused:
            self._line(
                f"{self.done} computed, {self.reused} reused, {self.failed} failed, "
                f"{time.monotonic() - self._began:.1f} s"
            )

    def start(self, label: str, node: str = "") -> None:
        self.running.setdefault(label, {})
        if node:
            self.nodes[label] = node
            self._tell_places()
        self._refresh()

    def update(self, label: str, progress: dict[str, Any]) -> None:
        self.running[label] = progress
        self._refresh()

    def say(self, text: str) -> None:
        self._line(text)

    def lag(self, label: str, seconds: float, median: float) -> None:
        self._line(f"slow: {label} runs for {seconds:.0f} s{self._on(label)}; half of its like took {median:.1f} s")

    def retry(self, label: str, reason: str) -> None:
        where = self._on(label)
        self._stop_running(label)
        self._line(f"retry {label}{where}: {reason}")

    def finish(self, label: str, seconds: float, node: str = "") -> None:
        self._stop_running(label)
        self.done += 1
        where = f" on {node}" if node else ""
        self._line(f"[{self.reused + self.done}/{self.total}] {label}  {seconds:.1f} s{where}")

    def fail(self, label: str, message: str) -> None:
        self._stop_running(label)
        self.failed += 1
        self._line(f"FAILED {label}: {message}")

    def _stop_running(self, label: str) -> None:
        self.running.pop(label, None)
        self.nodes.pop(label, None)

    def _on(self, label: str) -> str:
        return f" on {self.nodes[label]}" if label in self.nodes else ""

    def _places(self) -> str:
        counts = Counter(self.nodes.values())
        return "running: " + ", ".join(f"{counts[node]} on {node}" for node in sorted(counts))

    def _tell_places(self) -> None:
        """Seldom: it is in the live view anyway."""
        if self._live is None and time.monotonic() - self._placed >= PLACES_SECONDS:
            self._placed = time.monotonic()
            self._line(self._places())

    def _line(self, text: str) -> None:
        if self._live is not None:
            self._live.console.print(f"{self.stage}: {text}", markup=False, highlight=False)
            self._refresh()
        else:
            print(f"{self.stage}: {text}", flush=True)

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.update(self._view())

    def _view(self) -> Table:
        table = Table(box=None, show_header=False, pad_edge=False)
        seconds = time.monotonic() - self._began
        finished = self.reused + self.done
        eta = f", about {seconds / self.done * (self.total - finished):.0f} s left" if self.done else ""
        table.add_row(
            f"{self.stage}: {finished}/{self.total} cells ({self.reused} reused, {self.failed} failed), "
            f"{seconds:.0f} s{eta}"
        )
        if self.nodes:
            table.add_row(self._places())
        for label, progress in self.running.items():
            share = f"{progress['done'] / progress['total']:5.0%}" if progress else "     "
            metrics = "  ".join(f"{name} {value:.4g}" for name, value in progress.get("metrics", {}).items())
            table.add_row(f"  {share} {label}  {metrics}")
        return table
