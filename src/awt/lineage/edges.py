"""The edges of a lineage, and what can be found out about one."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


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
