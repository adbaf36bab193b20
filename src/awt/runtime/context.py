"""What a running cell sees of the world: a folder for checkpoints, a log, progress, and whether to stop."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from awt.errors import Interrupted
from awt.loop import Row
from awt.runtime.courier import Courier

if TYPE_CHECKING:
    from awt.runtime.checkpoints import Checkpoints

REPORT_SECONDS = 0.5

Report = Callable[[list[str], dict[str, Any] | None], bool]
"""Takes new log lines and the latest progress, and answers whether a stop was asked for."""


class StopFlag:
    """Set by SIGTERM and Ctrl-C while `catching`; a second signal gets the usual treatment."""

    def __init__(self) -> None:
        self.is_set = False

    @contextmanager
    def catching(self) -> Iterator["StopFlag"]:
        if threading.current_thread() is not threading.main_thread():
            yield self
            return
        before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

        def stop(number: int, frame: FrameType | None) -> None:
            self.is_set = True
            signal.signal(signal.Signals(number), before[signal.Signals(number)])

        for number in before:
            signal.signal(number, stop)
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@dataclass
class Context:
    """What watches a cell's computation (awt.loop.Watch): handed to every cell function as its third argument."""

    checkpoints: Path
    checkpoint_seconds: float
    report: Report
    stop: StopFlag = field(default_factory=StopFlag)
    courier: Courier | None = None
    _lines: list[str] = field(default_factory=list)
    _saved: float = field(default_factory=time.monotonic)
    _checkpoints: "Checkpoints | None" = None
    _reported: float = 0.0

    def log(self, text: str) -> None:
        """Adds a line to the cell's log, seen with `awt logs`."""
        self._lines.append(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {text}")

    def progress(self, done: int, total: int, **metrics: float) -> None:
        """Tells how far the cell is; cheap, since only some calls are passed on."""
        if time.monotonic() - self._reported >= REPORT_SECONDS:
            self.flush({"done": done, "total": total, "metrics": metrics})

    def flush(self, progress: dict[str, Any] | None = None) -> None:
        lines, self._lines = self._lines, []
        self._reported = time.monotonic()
        if self.report(lines, progress):
            self.stop.is_set = True

    def restore(self, state: Any) -> tuple[int, Any, list[Row]]:
        """The newest checkpoint that can be read, or step 0 and the state given."""
        found = self._kept().restore(state, self.log)
        self._saved = time.monotonic()
        return found

    def save(self, step: int, state: Any, rows: list[Row], *, now: bool = False) -> bool:
        """Makes a checkpoint if one is due, or in any case `now`; whether it did."""
        if not now and time.monotonic() - self._saved < self.checkpoint_seconds:
            return False
        made = self._kept().save(step, state, rows, self.log)
        self._saved = time.monotonic()
        return made

    def _kept(self) -> "Checkpoints":
        if self._checkpoints is None:
            from awt.runtime.checkpoints import Checkpoints  # orbax: only for cells with long loops

            self._checkpoints = Checkpoints(self.checkpoints, self.courier)
        return self._checkpoints

    def close(self) -> None:
        """Lets go of the folder of checkpoints."""
        if self._checkpoints is not None:
            self._checkpoints.close()
            self._checkpoints = None

    def stop_requested(self) -> bool:
        return self.stop.is_set

    def check_stop(self) -> None:
        """For cells without checkpoints: ends the cell if a stop was asked for."""
        if self.stop.is_set:
            raise Interrupted("stopped before the end")
