"""Cells that a plan itself needs, computed as stages do: on the cluster, or each in a process of its own."""

import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

from awt.errors import InputError, WorkError, run
from awt.options import as_json, from_json
from awt.runtime.cell import Cell, to_json
from awt.runtime.cell import from_json as cell_from_json
from awt.runtime.executor import Executor, open_executor
from awt.runtime.options import Runtime
from awt.runtime.store import Entry, Store


def compute(executor: Executor, cells: Sequence[Cell]) -> list[Entry]:
    """The entries of cells in the executor's store, which must be a passing one; here they run side by side, in
    processes, since JAX sizes its threads once in a process, when it is imported."""
    if executor.is_cluster:
        return executor.run(cells)
    given = {
        "runtime": as_json(replace(executor.runtime, executor="serial")),
        "store": str(executor.store.root.absolute()),
        "folders": executor.folders,
    }
    with ThreadPoolExecutor(len(cells)) as pool:
        list(pool.map(lambda cell: _in_own_process({**given, "cell": to_json(cell)}), cells))
    return [_entry(executor, cell) for cell in cells]


def _entry(executor: Executor, cell: Cell) -> Entry:
    entry = executor.store.find(executor.key(cell))
    if entry is None:
        raise WorkError(f"{cell.label}: no result: the code changed, or the device is not what was asked for")
    return entry


def _in_own_process(given: dict[str, Any]) -> None:
    words = [sys.executable, "-m", __name__]
    done = subprocess.run(words, input=json.dumps(given), capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().removeprefix("error: ")
        raise (InputError if done.returncode == InputError.exit_code else WorkError)(f"plan: {said}")


def main() -> None:
    given = json.load(sys.stdin)
    sys.path += given["folders"]
    executor = open_executor("plan", from_json(Runtime, given["runtime"]), Store(Path(given["store"])))
    executor.folders = tuple(given["folders"])
    executor.run([cell_from_json(given["cell"])])


if __name__ == "__main__":
    sys.exit(run(main))
