"""What is wrong with a value that somebody wrote, for people."""

import dataclasses
import difflib
import json
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, get_args


def describe(fault: Any, top: type, key: Callable[[Sequence[str]], str] = ".".join) -> str:
    """One of pydantic's errors as `key: what is wrong (got value)`, with a suggestion for a misspelt key; `key` says
    what the value that some names lead to is called."""
    names = [str(part) for part in fault["loc"]]
    where = key(names)
    if fault["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        known = list(_fields(names[:-1], top))
        close = difflib.get_close_matches(names[-1], known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(known) or 'none'}"
        return f"{where}: unknown key; {hint}"
    if fault["type"] in ("missing", "missing_argument"):
        return f"{where}: missing; the repository's params.yaml shows every key with its meaning"
    message = fault["msg"].removeprefix("Value error, ")
    if fault["type"] == "value_error":
        return f"{where}: {message}" if where else message
    message = message[0].lower() + message[1:]
    if fault["type"] == "literal_error":
        close = difflib.get_close_matches(str(fault["input"]), _literals(fault["ctx"]["expected"]), n=1)
        message += f"; did you mean `{close[0]}`?" if close else ""
    return f"{where}: {message} (got {json.dumps(fault['input'], default=str)})"


def _literals(expected: str) -> list[str]:
    return [word.strip("' ") for word in expected.replace(" or ", ", ").split(",")]


def _fields(names: list[str], section: type) -> Iterator[str]:
    """The keys of the section at a dotted path within another."""
    for name in names:
        hint = typing.get_type_hints(section).get(name)
        found = list(_sections(hint)) if hint else []
        if found:
            section = found[0]
    yield from (field.name for field in dataclasses.fields(section))


def _sections(annotation: Any) -> Iterator[type]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if dataclasses.is_dataclass(annotation):
            yield annotation
        return
    for argument in get_args(annotation):
        yield from _sections(argument)
