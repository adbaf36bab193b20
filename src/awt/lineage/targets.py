"""What the user asks about: a number, file, figure, cell or checkpoint, of an experiment or a revision of it."""

import html
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from awt.artifacts import sha256
from awt.errors import InputError
from awt.lineage.cells import Cells, Made
from awt.lineage.numbers import Level, attacks_of, have_tags, tags_on_the_way, tree_of, walk
from awt.lineage.repository import git
from awt.lineage.snapshot import Snapshot, take
from awt.runtime.known import matching
from awt.runtime.store import Store

Kind = Literal["number", "file", "figure", "cell", "checkpoint"]


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


class Asked(NamedTuple):
    """A target's text, what is left of it without revision and experiment, and where to look."""

    text: str
    rest: str
    snapshot: Snapshot
    cells: Cells
    store: Store


def locate(text: str, repository: Path, here: Path) -> tuple[Snapshot, str]:
    """Takes revisions and experiments off the front: `REV:TARGET`, `pipelines/x:TARGET`, `REV:pipelines/x:TARGET`."""
    place, revision, rest = here.relative_to(repository).as_posix(), None, text
    while ":" in rest:
        head, _, tail = rest.partition(":")
        if (repository / head / "params.yaml").is_file() and not Path(head).is_absolute():
            place = Path(head).as_posix()
        elif revision is None and (commit := _revision(repository, head)):
            revision = commit
        else:
            break
        rest = tail
    return take(repository, place, revision), rest


def find(text: str, repository: Path, here: Path, store_at: Callable[[Path], Store]) -> Target:
    """`store_at` gives the store of the experiment in a folder."""
    snapshot, rest = locate(text, repository, here)
    store = store_at(snapshot.folder)
    asked = Asked(text, rest, snapshot, Cells(snapshot, store), store)
    for look in (_checkpoint, _figure, _number, _file, _cell):
        target = look(asked)
        if target is not None:
            return target
    raise InputError(
        f"{rest!r} is no number (metrics.json:table.METHOD.DENSITY.adversarial), file, checkpoint or cell of "
        f"{snapshot.folder}; `awt cells` lists cells, dvc.lock the files"
    )


def _revision(repository: Path, name: str) -> str | None:
    commit = git(repository, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if name else None
    return commit.strip() if commit else None


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
    recorded = snapshot.outputs(snapshot.makers[out])
    return name in recorded or snapshot.md5(name) is not None or (snapshot.folder / name).is_file()


def _in_file(asked: Asked, kind: Kind, path: str, value: Any, nearest: Iterable[Made]) -> Target:
    stage = asked.snapshot.maker_of(path)
    return Target(asked.text, kind, asked.snapshot, asked.cells, path, stage, value, tuple(nearest))


def _number(asked: Asked) -> Target | None:
    name, colon, keys = asked.rest.partition(":")
    path = path_of(name, asked.snapshot) if colon else None
    if path is None:
        return None
    data = asked.snapshot.read(path)
    if data is None:
        raise InputError(f"{path} is not here: `dvc checkout` or `dvc pull` brings it back")
    passed, value = walk(tree_of(data, path, asked.cells), keys, path)
    return _in_file(asked, "number", path, value, _behind_number(passed, path, asked))


def _behind_number(passed: list[Level], path: str, asked: Asked) -> list[Made]:
    """The cells that a number is about, by their tags: of the stage that made its file, or of the nearest stage before
    it that has some; where tags do not tell, those that its file's name is about, or all of its stage."""
    stage = asked.snapshot.maker_of(path)
    for name in asked.snapshot.before(stage):
        cells = asked.cells.of_stage(name)
        tags = tags_on_the_way(passed, Path(path).stem, cells)
        about = [one for one in cells if have_tags(one, tags)] if tags else []
        if about:
            index = json.loads(asked.snapshot.read("artifacts/evaluation/index.json") or b"{}")
            attacks = attacks_of(passed[-1], index.get("suites", {}))
            return [one for one in about if one.tags.get("attack") in attacks] or about
    return _of_name(path, asked.cells.of_stage(stage))


def _file(asked: Asked) -> Target | None:
    path = path_of(asked.rest, asked.snapshot)
    if path is None:
        return None
    stage = asked.snapshot.maker_of(path)
    digest = asked.snapshot.outputs(stage).get(path)
    if digest is None and (data := asked.snapshot.read(path)) is not None:
        digest = sha256(data)
    made = asked.cells.of_file(path, digest, (stage,)) if digest else None
    return _in_file(asked, "file", path, None, (made,) if made else _of_name(path, asked.cells.of_stage(stage)))


def _of_name(path: str, cells: list[Made]) -> list[Made]:
    """Where no cell returned a file as it is: the cells of the ticket in its name, or all of its stage."""
    return [one for one in cells if one.is_named_by(path)] or cells


def _figure(asked: Asked) -> Target | None:
    name, mark, number = asked.rest.partition("#")
    path = path_of(name, asked.snapshot) if mark else None
    if path is None or not path.endswith(".html"):
        return None
    page = (asked.snapshot.read(path) or b"").decode()
    captions = [html.unescape(one).strip() for one in re.findall(r"<figcaption[^>]*>(.*?)</figcaption>", page, re.S)]
    if not number.isdecimal() or not 1 <= int(number) <= len(captions):
        raise InputError(f"{asked.rest}: the page has figures #1 to #{len(captions)}")
    return _in_file(asked, "figure", path, re.sub(r"<[^>]*>", "", captions[int(number) - 1]), ())


def _cell(asked: Asked) -> Target | None:
    rest, is_long = asked.rest, len(asked.rest) >= 4
    cells = [one for one in asked.cells.made.values() if one.label == rest or (is_long and one.key.startswith(rest))]
    if not cells and is_long:
        cells = [Made.of(one, asked.store) for one in matching(asked.store, rest)]
    if not cells:
        return None
    if len(cells) > 1:
        shown = ", ".join(f"{one.key[:12]} ({one.stage}: {one.label})" for one in cells[:8])
        raise InputError(f"{rest!r} is not one cell but {len(cells)}: {shown}; give a longer key")
    return _in_store(asked, "cell", cells[0])


def _checkpoint(asked: Asked) -> Target | None:
    path = Path(asked.rest).absolute()
    work = asked.store.root.absolute() / "work"
    if not path.is_relative_to(work) or "checkpoints" not in path.parts:
        return None
    known = matching(asked.store, path.relative_to(work).parts[0])
    if not known or not path.is_dir():
        raise InputError(f"{asked.rest}: no such checkpoint; it goes when its cell is finished")
    return _in_store(asked, "checkpoint", Made.of(known[0], asked.store))


def _in_store(asked: Asked, kind: Kind, made: Made) -> Target:
    return Target(asked.text, kind, asked.snapshot, asked.cells, None, made.stage, made.label, (made,))
