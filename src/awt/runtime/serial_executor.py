"""Cells one after the other in this process: for tests, debugging, and machines without Ray."""

from collections.abc import Iterator
from typing import Any

from awt.artifacts import read
from awt.runtime import device
from awt.runtime.cell import Cell
from awt.runtime.executor import Executor
from awt.runtime.progress import Progress
from awt.runtime.worker import Outcome, execute


class SerialExecutor(Executor):
    def _platform(self) -> str:
        return device.platform(self.runtime.device, device.local_gpus(), "this machine")

    def _compute(self, missing: dict[str, Cell], progress: Progress) -> Iterator[tuple[str, Outcome]]:
        for key, cell in missing.items():

            def report(lines: list[str], latest: dict[str, Any] | None, key: str = key, cell: Cell = cell) -> bool:
                self.append_log(key, lines)
                if latest:
                    progress.update(cell.label, latest)
                return False

            inputs = {name: read(source.path) for name, source in cell.inputs.items()}
            task = self._task(key, cell)
            progress.start(cell.label)
            outcome = execute(task, inputs, report)
            yield key, outcome
            if outcome.failure == "interrupted":
                return
