"""Whether the store still has what it kept: finished cells, and checkpoints of unfinished ones."""

from collections.abc import Iterable

from awt.lineage.cells import Made
from awt.lineage.edges import Edge, Status
from awt.runtime import seals
from awt.runtime.store import Store


def check_cells(cells: Iterable[Made], store: Store) -> list[Edge]:
    """Of those that the store has: files against digests, descriptions against keys."""
    edges = []
    for one in cells:
        if one.entry is None:
            continue
        name = f"{one.label} ({one.key[:12]})"
        if not store.is_intact(one.entry):
            edges.append(
                Edge(one.stage, "cell", name, Status.MODIFIED, "the store's files are not what it computed", one.key)
            )
        elif not one.has_its_key():
            edges.append(
                Edge(one.stage, "cell", name, Status.MODIFIED, "its description does not give its key", one.key)
            )
        else:
            edges.append(Edge(one.stage, "cell", name, hash=one.key))
    return edges


def check_checkpoints(key: str, stage: str, store: Store) -> list[Edge]:
    folder = store.checkpoints(key)
    edges = []
    for step, digest in sorted(seals.seals(folder).items()):
        name = f"{key[:12]}, step {step}"
        if not (folder / step).is_dir():
            continue  # orbax keeps the newest ones
        if seals.is_broken(folder, int(step)):
            edges.append(
                Edge(stage, "checkpoint", name, Status.MODIFIED, "not what was written; a run starts before it", digest)
            )
        else:
            edges.append(Edge(stage, "checkpoint", name, hash=digest))
    return edges
