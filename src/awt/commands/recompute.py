"""Computing a cell of the store again, beside it, and comparing the bytes."""

from pathlib import Path
from typing import NamedTuple

from awt.lineage.pipeline import code_of
from awt.params import Params
from awt.runtime.cell import fingerprint
from awt.runtime.executor import open_executor
from awt.runtime.known import Known
from awt.runtime.store import Store
from awt.workflows.running import runtime_of


class Again(NamedTuple):
    """Where the new files are, and the names of those that differ; None if there is nothing to compare with."""

    folder: Path
    differing: list[str] | None


def recompute(parameters: Params, store: Store, one: Known, serial: bool) -> Again:
    runtime = runtime_of(parameters)
    if serial:
        runtime = runtime.model_copy(update={"executor": "serial"})
    code = fingerprint(code_of(one.stage, Path(parameters.root)))
    scratch = Store(store.root / "rerun" / one.key[:16])
    scratch.clear()
    executor = open_executor(one.stage, runtime, scratch, code)
    try:
        entry = executor.run([one.cell])[0]
    finally:
        executor.close()
    before = store.find(one.key)
    if before is None:
        return Again(entry.folder, None)
    return Again(entry.folder, [name for name, digest in entry.digests.items() if before.digests.get(name) != digest])
