"""A number in a file: the way to it, through JSON or a table, and which cells that way is about, by their tags."""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from awt.errors import InputError
from awt.lineage.cells import Cells, Made
from awt.names import TicketName

# columns that tell a table's rows apart, beside those that are tags of cells
_KEYS = (*TicketName._fields, "when", "epoch", "against", "x", "index")


class Level(NamedTuple):
    """A step down a tree of values: the key that was taken, of those that there are."""

    key: str
    keys: tuple[str, ...]


def tree_of(data: bytes, path: str, cells: Cells) -> Any:
    """A file's values: JSON as it is, a table by what tells its rows apart."""
    try:
        return json.loads(data) if path.endswith(".json") else _rows(data.decode(), cells.made.values())
    except (ValueError, csv.Error):
        raise InputError(f"{path}: not a readable file of numbers; `awt lineage {path}` says if it changed") from None


def _rows(text: str, cells: Iterable[Made]) -> dict[str, Any]:
    """A table by method, density, seed and whatever else its rows are told apart by: by what cells have as tags too, or
    by their numbers if nothing else tells them apart."""
    rows = [{name: _value(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
    values = _values(cells)
    keys = [
        name
        for name in (rows[0] if rows else ())
        if name in _KEYS or values.get(name, set()) >= {_spelled(row[name]) for row in rows}
    ]
    ways = [tuple(_spelled(row[name]) for name in keys) for row in rows]
    if len(set(ways)) < len(rows):
        keys, ways = [], [(str(number),) for number in range(1, len(rows) + 1)]
    table: dict[str, Any] = {}
    for way, row in zip(ways, rows, strict=True):
        place = table
        for key in way:
            place = place.setdefault(key, {})
        place.update({name: value for name, value in row.items() if name not in keys})
    return table


def _value(text: str) -> Any:
    for kind in (int, float):
        with suppress(TypeError, ValueError):
            if math.isfinite(number := kind(text)):  # JSON has no others
                return number
    return text


def _values(cells: Iterable[Made]) -> dict[str, set[str]]:
    """What values the cells' tags have, as they are spelled."""
    values: dict[str, set[str]] = {}
    for one in cells:
        for name, value in one.tags.items():
            values.setdefault(name, set()).add(_spelled(value))
    return values


def _spelled(value: Any) -> str:
    return f"{value:.12g}" if isinstance(value, float) else str(value)


def walk(tree: Any, keys: str, path: str) -> tuple[list[Level], Any]:
    """The value at dotted keys, some of which have dots themselves (0.03): the longest that fits is taken."""
    passed: list[Level] = []
    while keys:
        there = tuple(tree) if isinstance(tree, dict) else ()
        fitting = [key for key in there if keys == key or keys.startswith(f"{key}.")]
        if not fitting:
            way = f" in {_way(passed)}" if passed else ""
            raise InputError(f"{path} has no {keys!r}{way}; there is: {', '.join(there[:12]) or 'nothing below'}")
        key = max(fitting, key=len)
        passed.append(Level(key, there))
        tree, keys = tree[key], keys[len(key) + 1 :]
    if isinstance(tree, dict | list):
        below = ", ".join(list(tree)[:12]) if isinstance(tree, dict) else "a list"
        raise InputError(f"{path}:{_way(passed)} is not one number; go on with one of: {below}")
    return passed, tree


def _way(passed: Iterable[Level]) -> str:
    return ".".join(level.key for level in passed)


def tags_on_the_way(passed: list[Level], stem: str, cells: list[Made]) -> dict[str, str]:
    """The tags that the way to a number spells. A key is a tag's value where all keys beside it are: a level with 0.03
    and 0.2 is one of densities where cells have these densities. A file may be called after a tag's value (a check)."""
    values, tags = _values(cells), dict[str, str]()
    names = [name for name in dict.fromkeys([*TicketName._fields, *values]) if name in values]
    for level in (Level(stem, (stem,)), *passed):
        fitting = [name for name in names if name not in tags and values[name].issuperset(level.keys)]
        if fitting:
            tags[fitting[0]] = level.key
    return tags


def have_tags(one: Made, tags: Mapping[str, str]) -> bool:
    return all(name in one.tags and _spelled(one.tags[name]) == value for name, value in tags.items())


def attacks_of(column: Level, suites: Mapping[str, list[str]]) -> set[str]:
    """Those of the suite that fills a column of accuracies. The first suite has no column of its name: it is the one
    that `adversarial` is about, and it says what is natural."""

    def is_of(name: str, kind: str) -> bool:
        return name == kind or name.startswith(f"{kind}_")

    filling = [name for name in suites if is_of(column.key, name)]
    shared = is_of(column.key, "natural") or is_of(column.key, "adversarial")
    if shared and any(is_of(key, "natural") for key in column.keys):
        filling = [name for name in suites if not any(is_of(key, name) for key in column.keys)]
    return {attack for name in filling for attack in suites[name]}
