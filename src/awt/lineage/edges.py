"""The edges of a lineage, and what can be found out about one; those of the store's cells and checkpoints."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from awt.lineage.cells import Made
from awt.runtime import seals
from awt.runtime.store import Store


class Status(StrEnum):
    OK = "OK"
    MODIFIED = "MODIFIED"
    MISSING = "MISSING"
    REMOTE_ONLY = "REMOTE-ONLY"


BREAKS = (Status.MODIFIED, Status.MISSING)


@dataclass(frozen=True)
class Edge:
    """Something that a stage read, wrote or ran with, and whether it still is what it was."""

    stage: str
    kind: str
    name: str
    status: Status = Status.OK
    remark: str = ""
    hash: str = ""


def breaks(edges: Iterable[Edge]) -> list[Edge]:
    return [edge for edge in edges if edge.status in BREAKS]


def summary(edges: list[Edge]) -> dict[str, Any]:
    """How many edges there are of each status, and those that are worth a word."""
    told = [edge for edge in edges if edge.status != Status.OK or (edge.remark and edge.kind != "input")]
    counts = {status.value: sum(edge.status == status for edge in edges) for status in Status}
    return {"edges": counts, "sound": not breaks(edges), "told": [asdict(edge) for edge in told]}


def check_cells(cells: Iterable[Made], store: Store) -> list[Edge]:
    """Of those that the store has: files against digests, descriptions against keys."""
    edges = []
    for one in cells:
        if one.entry is None:
            continue
        status, remark = Status.OK, ""
        if not store.is_intact(one.entry):
            status, remark = Status.MODIFIED, "the store's files are not what it computed"
        elif not one.has_its_key():
            status, remark = Status.MODIFIED, "its description does not give its key"
        edges.append(Edge(one.stage, "cell", f"{one.label} ({one.key[:12]})", status, remark, one.key))
    return edges


def check_checkpoints(key: str, stage: str, store: Store) -> list[Edge]:
    """Of an unfinished cell, those that are still there: orbax keeps the newest ones."""
    folder = store.checkpoints(key)
    edges = []
    for step, digest in sorted(seals.seals(folder).items()):
        if (folder / step).is_dir():
            status, remark = Status.OK, ""
            if seals.is_broken(folder, int(step)):
                status, remark = Status.MODIFIED, "not what was written; a run starts before it"
            edges.append(Edge(stage, "checkpoint", f"{key[:12]}, step {step}", status, remark, digest))
    return edges
