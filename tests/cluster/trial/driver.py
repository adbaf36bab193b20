"""Runs the cells that standard input describes with the runtime that it describes; prints where their files are."""

import json
import sys
from pathlib import Path

import ray

from awt.errors import run
from awt.options import from_json
from awt.runtime.cell import Cell
from awt.runtime.executor import open_executor
from awt.runtime.options import Runtime
from awt.runtime.store import Store


def main() -> None:
    asked = json.load(sys.stdin)
    executor = open_executor("trial", from_json(Runtime, asked["runtime"]), Store(Path("store")))
    cells = [Cell(one["kind"], one["label"], f"awt.trial:{one['function']}", one["params"]) for one in asked["cells"]]
    for cell in cells:
        executor.key(cell)  # from here on, what the code is is known
    for path, text in asked["meanwhile"].items():
        Path(path).write_text(text)
    try:
        entries = executor.run(cells)
    finally:
        Path("stats.json").write_text(json.dumps(executor.stats.as_json()))
        executor.close()
        assert not ray.is_initialized(), "Ray was not let go"
    Path("entries.json").write_text(json.dumps([str(entry.folder) for entry in entries]))


if __name__ == "__main__":
    sys.exit(run(main))
