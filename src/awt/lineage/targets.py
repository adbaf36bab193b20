"""What the user asks about: a number, file, figure, cell or checkpoint, of an experiment or a revision of it."""

import csv
import html
import io
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from awt.artifacts import sha256
from awt.errors import InputError
from awt.lineage.cells import Cells, Made, Ticket
from awt.lineage.snapshot import Snapshot, git, take
from awt.runtime.known import Known, matching
from awt.runtime.store import Store

Kind = Literal["number", "file", "figure", "cell", "checkpoint"]
_PAGE = "report/index.html"


@dataclass(frozen=True)
class Target:
    """What was asked for: `path` in the experiment, the stage that made it, and the cells right behind it."""

    text: str
    kind: Kind
    snapshot: Snapshot
    cells: Cells
    path: str | None
    stage: str
    value: Any
    nearest: tuple[Made, ...]
    checkpoint: Path | None = None


def locate(text: str, repository: Path, here: Path) -> tuple[Snapshot, str]:
    """Takes revisions and experiments off the front: `REV:TARGET`, `pipelines/x:TARGET`, `REV:pipelines/x:TARGET`."""
    place, revision, rest = here.relative_to(repository).as_posix(), None, text
    while ":" in rest:
        head, _, tail = rest.partition(":")
        if (repository / head / "params.yaml").is_file() and not Path(head).is_absolute():
            place = Path(head).as_posix()
        elif revision is None and (found := _revision(repository, head)):
            revision = found
        else:
            break
        rest = tail
    return take(repository, place, revision), rest


def find(text: str, repository: Path, here: Path, store_at: Callable[[Path], Store]) -> Target:
    """`store_at` gives the store of the experiment in a folder."""
    snapshot, rest = locate(text, repository, here)
    store = store_at(snapshot.folder)
    cells = Cells(snapshot, store)
    for look in (_checkpoint, _figure, _number, _file, _cell):
        found = look(text, rest, snapshot, cells, store)
        if found is not None:
            return found
    raise InputError(
        f"{rest!r} is no number (metrics.json:table.METHOD.DENSITY.adversarial), file, checkpoint or cell of "
        f"{snapshot.folder}; `awt cells` lists cells, dvc.lock the files"
    )


def _revision(repository: Path, name: str) -> str | None:
    found = git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else None
    return found.strip() if found else None


def path_of(text: str, snapshot: Snapshot) -> str | None:
    """An out or a file in one, by its path in the experiment, in the repository or from artifacts/, or by its name."""
    names = [text, f"artifacts/{text}", f"artifacts/plots/{text}", f"report/{text}"]
    path = Path(text)
    if path.is_absolute() and path.is_relative_to(snapshot.folder):
        names = [path.relative_to(snapshot.folder).as_posix()]
    elif snapshot.place != "." and path.is_relative_to(snapshot.place):
        names = [path.relative_to(snapshot.place).as_posix()]
    for name in names:
        out = snapshot.out_of(name)
        if out is not None and (name == out or _is_known(name, out, snapshot)):
            return name
    return None


def _is_known(name: str, out: str, snapshot: Snapshot) -> bool:
    recorded = snapshot.records.get(snapshot.makers[out], {}).get("outputs", {})
    return name in recorded or snapshot.md5(name) is not None or (snapshot.folder / name).is_file()


def _number(text: str, rest: str, snapshot: Snapshot, cells: Cells, store: Store) -> Target | None:
    name, colon, keys = rest.partition(":")
    path = path_of(name, snapshot) if colon else None
    if path is None:
        return None
    data = snapshot.read(path)
    if data is None:
        raise InputError(f"{path} is not here: `dvc checkout` or `dvc pull` brings it back")
    try:
        tree = json.loads(data) if path.endswith(".json") else _rows(data.decode())
    except (ValueError, csv.Error):
        raise InputError(f"{path}: not a readable file of numbers; `awt lineage {path}` says if it changed") from None
    passed, value = _walk(tree, keys, path)
    stage = snapshot.makers[snapshot.out_of(path) or ""]
    return Target(text, "number", snapshot, cells, path, stage, value, tuple(_behind_number(passed, snapshot, cells)))


def _rows(text: str) -> dict[str, Any]:
    """A table by method, density, seed and whatever else its rows are told apart by."""
    rows = list(csv.DictReader(io.StringIO(text)))
    names = [
        name
        for name in ("method", "density", "seed", "when", "epoch", "against", "x", "index")
        if rows and name in rows[0]
    ]
    found: dict[str, Any] = {}
    for row in rows:
        place = found
        for name in names:
            key = f"{float(row[name]):.12g}" if name in ("density", "epoch", "x") else row[name]
            place = place.setdefault(key, {})
        place.update({key: _value(value) for key, value in row.items() if key not in names})
    return found


def _value(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _walk(tree: Any, keys: str, path: str) -> tuple[list[str], Any]:
    """The value at dotted keys, some of which have dots themselves (0.03): the longest that fits is taken."""
    passed: list[str] = []
    while keys:
        fitting = [key for key in tree if keys == key or keys.startswith(f"{key}.")] if isinstance(tree, dict) else []
        if not fitting:
            there = ", ".join(list(tree)[:12]) if isinstance(tree, dict) else "nothing below"
            raise InputError(f"{path} has no {keys!r}{' in ' + '.'.join(passed) if passed else ''}; there is: {there}")
        key = max(fitting, key=len)
        passed.append(key)
        tree, keys = tree[key], keys[len(key) + 1 :]
    if isinstance(tree, dict | list):
        there = ", ".join(list(tree)[:12]) if isinstance(tree, dict) else "a list"
        raise InputError(f"{path}:{'.'.join(passed)} is not one number; go on with one of: {there}")
    return passed, tree


def _behind_number(keys: list[str], snapshot: Snapshot, cells: Cells) -> list[Made]:
    """The evaluations, or kernels, of the ticket that a number is about."""
    names = keys[1:] if keys[0] == "table" else keys
    if len(names) < 3 or not isinstance(_value(names[1]), float):
        return []
    ticket = Ticket(names[0], float(names[1]), int(names[2]) if names[2].isdecimal() else None)
    found = [one for one in cells.of_stage("evaluate") if ticket.matches(one.label)]
    if "initial" in names or "trained" in names:
        when = " trained " if "trained" in names else " tile-"
        return [
            one for one in found if one.label.startswith("gram ") and (" trained" in one.label) == (when == " trained ")
        ]
    attacks = _attacks(names[-1], snapshot)
    return [
        one for one in found if one.label.startswith("evaluate ") and any(f" {a} points" in one.label for a in attacks)
    ]


def _attacks(column: str, snapshot: Snapshot) -> list[str]:
    """The attacks of the suite that fills a column: the first one's is called adversarial, and it also says natural."""
    attacks: dict[str, list[str]] = json.loads(snapshot.read("artifacts/evaluation/index.json") or b"{}").get(
        "suites", {}
    )
    suites = snapshot.steps["evaluate"].params.get("evaluate.suites", list(attacks))
    own = re.sub(r"_(mean|spread|worst|best|low|high)$", "", column)
    return attacks.get(own if own in suites else suites[0], []) if suites else []


def _file(text: str, rest: str, snapshot: Snapshot, cells: Cells, store: Store) -> Target | None:
    path = path_of(rest, snapshot)
    if path is None:
        return None
    stage = snapshot.makers[snapshot.out_of(path) or ""]
    recorded = snapshot.records.get(stage, {}).get("outputs", {}).get(path)
    if recorded is None and (found := snapshot.read(path)) is not None:
        recorded = sha256(found)
    made = cells.of_file(path, recorded, (stage,)) if recorded else None
    return Target(text, "file", snapshot, cells, path, stage, None, (made,) if made else _of_name(path, stage, cells))


def _of_name(path: str, stage: str, cells: Cells) -> tuple[Made, ...]:
    """Where no cell returned a file as it is: the cells of the ticket in its name, or all of its stage."""
    ticket = next((found for part in Path(path).parts if (found := Ticket.of_file(part))), None)
    return tuple(one for one in cells.of_stage(stage) if ticket is None or ticket.matches(one.label))


def _figure(text: str, rest: str, snapshot: Snapshot, cells: Cells, store: Store) -> Target | None:
    name, mark, number = rest.partition("#")
    if not mark or path_of(name, snapshot) != _PAGE:
        return None
    page = (snapshot.read(_PAGE) or b"").decode()
    captions = [html.unescape(one).strip() for one in re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", page, re.S)]
    if not number.isdecimal() or not 1 <= int(number) <= len(captions):
        raise InputError(f"{rest}: the page has figures #1 to #{len(captions)}")
    caption = re.sub(r"<[^>]*>", "", captions[int(number) - 1])
    return Target(text, "figure", snapshot, cells, _PAGE, snapshot.makers["report"], caption, ())


def _cell(text: str, rest: str, snapshot: Snapshot, cells: Cells, store: Store) -> Target | None:
    found = [one for one in cells.made.values() if one.label == rest or (len(rest) >= 4 and one.key.startswith(rest))]
    if not found:
        found = [_known(one, store) for one in matching(store, rest)] if len(rest) >= 4 else []
    if not found:
        return None
    if len(found) > 1:
        shown = ", ".join(f"{one.key[:12]} ({one.stage}: {one.label})" for one in found[:8])
        raise InputError(f"{rest!r} is not one cell but {len(found)}: {shown}; give a longer key")
    return Target(text, "cell", snapshot, cells, None, found[0].stage, found[0].label, (found[0],))


def _checkpoint(text: str, rest: str, snapshot: Snapshot, cells: Cells, store: Store) -> Target | None:
    path = Path(rest).absolute()
    work = store.root.absolute() / "work"
    if not path.is_relative_to(work) or "checkpoints" not in path.parts:
        return None
    key = path.relative_to(work).parts[0]
    known = matching(store, key)
    if not known or not path.is_dir():
        raise InputError(f"{rest}: no such checkpoint; it goes when its cell is finished")
    made = _known(known[0], store)
    return Target(text, "checkpoint", snapshot, cells, None, made.stage, made.label, (made,), path)


def _known(one: Known, store: Store) -> Made:
    """A cell that no record names: of an unfinished run, or an older one."""
    return Made(one.key, one.cell.label, one.stage, {"state": one.state}, store.peek(one.key))
