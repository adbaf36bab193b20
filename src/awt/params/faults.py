"""What is wrong with a parameter, for people."""

import difflib
import json
import types
from collections.abc import Iterator
from typing import Any, get_args

from pydantic import BaseModel


def describe(fault: Any, top: type[BaseModel]) -> str:
    """One of pydantic's errors as `key: what is wrong (got value)`, with a suggestion for a misspelt key."""
    names = [str(part) for part in fault["loc"]]
    where = ".".join(names) or "parameters"
    if fault["type"] == "extra_forbidden":
        known = list(_fields(names[:-1], top))
        close = difflib.get_close_matches(names[-1], known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known keys: {', '.join(known)}"
        return f"{where}: unknown key; {hint}"
    if fault["type"] == "missing":
        return f"{where}: missing; the repository's params.yaml shows every key with its meaning"
    message = fault["msg"].removeprefix("Value error, ")
    message = message[0].lower() + message[1:]
    if fault["type"] == "value_error":
        return f"{where}: {message}"
    if fault["type"] == "literal_error":
        close = difflib.get_close_matches(str(fault["input"]), _literals(fault["ctx"]["expected"]), n=1)
        message += f"; did you mean `{close[0]}`?" if close else ""
    return f"{where}: {message} (got {json.dumps(fault['input'])})"


def _literals(expected: str) -> list[str]:
    return [word.strip("' ") for word in expected.replace(" or ", ", ").split(",")]


def _fields(names: list[str], section: type[BaseModel]) -> Iterator[str]:
    """The keys of the section at a dotted path within another."""
    for name in names:
        field = section.model_fields.get(name)
        found = list(_sections(field.annotation)) if field else []
        if found:
            section = found[0]
    yield from section.model_fields


def _sections(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and not isinstance(annotation, types.GenericAlias):
        if issubclass(annotation, BaseModel):
            yield annotation
        return
    for argument in get_args(annotation):
        yield from _sections(argument)
