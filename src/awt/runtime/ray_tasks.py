"""What runs in Ray's processes: cells, and the monitor between them and the driver."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from awt.runtime.context import REPORT_SECONDS
from awt.runtime.worker import Outcome, Task, execute

QUIET_SECONDS = 0.2  # a cell that is done by then tells its story with its result, and costs the monitor nothing


class Event(NamedTuple):
    """What a cell has to say on its way."""

    key: str
    node: str
    lines: list[str]
    progress: dict[str, Any] | None


class Monitor:
    """An actor between driver and workers: log lines and progress one way, the wish to stop the other."""

    def __init__(self) -> None:
        self._events: list[Event] = []
        self._stop = False

    def report(self, event: Event) -> bool:
        if event.lines or event.progress:
            self._events.append(event)
        return self._stop

    def drain(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        self._stop = True


class Reporter:
    """A worker's line to the monitor, on a thread of its own.

    A task that waits for Ray on its main thread gives its CPU back, and Ray starts another one beside it: so the main
    thread never waits, and other threads do.
    """

    def __init__(self, monitor: Any, key: str, node: str) -> None:
        self._monitor, self._key, self._node = monitor, key, node
        self._stop = False
        self._over = threading.Event()
        self._queue: SimpleQueue[tuple[list[str], dict[str, Any] | None]] = SimpleQueue()
        self.has_spoken = False
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def __call__(self, lines: list[str], progress: dict[str, Any] | None) -> bool:
        self._queue.put((lines, progress))
        return self._stop

    def close(self) -> list[str]:
        """Ends the line; returns the log's lines that did not go through it."""
        self._over.set()
        self._thread.join()
        return self._collect().lines

    def _send(self) -> None:
        import ray

        pause = QUIET_SECONDS
        while not self._over.wait(pause):
            self.has_spoken, pause = True, REPORT_SECONDS / 2
            try:
                self._stop = ray.get(self._monitor.report.remote(self._collect()))
            except ray.exceptions.RayError:
                continue  # progress is a courtesy: the cell goes on without it

    def _collect(self) -> Event:
        """All that waits, as one."""
        event = Event(self._key, self._node, [], None)
        while True:
            try:
                lines, progress = self._queue.get_nowait()
            except Empty:
                return event
            event = event._replace(lines=event.lines + lines, progress=progress or event.progress)


@dataclass(frozen=True)
class Parcel:
    """An outcome on its way, its files as arrays: those Ray moves through shared memory alone, while it pickles bytes,
    which costs the worker and the driver a copy each in private memory (400 MB for 400 MB, measured)."""

    outcome: Outcome
    files: Mapping[str, np.ndarray]
    node: str = ""
    lines: tuple[str, ...] = ()  # of the log, beside what went through the monitor
    has_spoken: bool = False  # whether something did

    @classmethod
    def wrap(cls, outcome: Outcome) -> "Parcel":
        files = {name: np.frombuffer(data, np.uint8) for name, data in outcome.files.items()}
        return cls(replace(outcome, files={}), files)

    def unwrap(self) -> Outcome:
        return replace(self.outcome, files={name: array.data for name, array in self.files.items()})


def run_task(task: Task, names: list[str], monitor: Any, *buffers: Any) -> Parcel:
    """The remote function: one cell, its inputs already fetched from the object store."""
    import ray

    node = ray.get_runtime_context().get_node_id()
    reporter = Reporter(monitor, task.key, node)
    inputs = {name: memoryview(data) for name, data in zip(names, buffers, strict=True)}
    try:
        parcel = Parcel.wrap(execute(task, inputs, reporter))
    finally:
        lines = reporter.close()
    return replace(parcel, node=node, lines=tuple(lines), has_spoken=reporter.has_spoken)
