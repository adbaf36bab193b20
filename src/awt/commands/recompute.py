"""Computing a cell of the store again, beside it, and comparing the bytes."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from awt.runtime.executor import open_executor
from awt.runtime.known import Known
from awt.runtime.store import Store
from awt.workflows.experiment import Experiment


class Again(NamedTuple):
    """Where the new files are, and the names of those that differ; None if there is nothing to compare with."""

    folder: Path
    differing: list[str] | None


def recompute(asked: Experiment, store: Store, one: Known, serial: bool) -> Again:
    """Computes a cell with the code that is here, in a store of its own."""
    runtime = replace(asked.runtime, executor="serial") if serial else asked.runtime
    scratch = Store(store.root / "rerun" / one.key[:16])
    scratch.clear()
    executor = open_executor(one.stage, runtime, scratch)
    executor.folders = asked.code_folders
    try:
        entry = executor.run([one.cell])[0]
    finally:
        executor.close()
    before = store.find(one.key)
    if before is None:
        return Again(entry.folder, None)
    return Again(entry.folder, [name for name, digest in entry.digests.items() if before.digests.get(name) != digest])
