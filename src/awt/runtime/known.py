"""The cells that a store knows of, as a user names them: by a key, its beginning, or a label."""

from collections.abc import Iterator
from dataclasses import dataclass

from awt.artifacts import read_json
from awt.errors import InputError
from awt.runtime.cell import Cell, from_json
from awt.runtime.store import Store


@dataclass(frozen=True)
class Known:
    """A cell that was begun or finished here."""

    key: str
    cell: Cell
    stage: str
    state: str


def known(store: Store) -> Iterator[Known]:
    for key in store.every_key():
        path = store.work(key) / "cell.json"
        if not path.exists():
            continue
        described = read_json(path)
        state = "done" if store.has(key) else "checkpointed" if store.has_checkpoints(key) else "unfinished"
        yield Known(key, from_json(described), described["stage"], state)


def find(store: Store, wanted: str) -> Known:
    """The cell whose key starts with, or whose label is, what the user gave."""
    matches = matching(store, wanted)
    if not matches:
        raise InputError(f"no cell {wanted!r} in {store.root}; `awt cells` lists them")
    return only(matches, wanted)


def matching(store: Store, wanted: str) -> list[Known]:
    return [one for one in known(store) if one.key.startswith(wanted) or one.cell.label == wanted]


def only(matches: list[Known], wanted: str) -> Known:
    """The one cell among the matches, else an error that lists them."""
    if len(matches) > 1:
        shown = ", ".join(f"{one.key[:12]} ({one.cell.label})" for one in matches[:8])
        raise InputError(f"{wanted!r} is not one cell but {len(matches)}: {shown}; give a longer key")
    return matches[0]
