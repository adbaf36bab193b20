"""Typed options from what people write: checked, with every fault in one message."""

import functools
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from awt.errors import InputError
from awt.params.faults import describe

T = TypeVar("T")


def checked(kind: type[T], raw: Any, where: str) -> T:
    """Options of a type, of JSON values; `where` names them in errors."""
    if not isinstance(raw, Mapping):
        raise InputError(f"{where}: expected a mapping of parameters, got {type(raw).__name__}")
    try:
        # through JSON, where pydantic's strict mode takes lists for tuples
        return _adapter(kind).validate_json(json.dumps(raw, default=str))
    except ValidationError as error:
        found = error.errors()
        inner = {fault["loc"][:-1] for fault in found}
        # a list with a bad item also counts as too short: only the item is worth a word
        faults = [describe(fault, kind) for fault in found if fault["type"] != "too_short" or fault["loc"] not in inner]
    except (TypeError, ValueError) as error:
        faults = [str(error)]
    raise InputError(f"{where}: " + "; ".join(faults))


@functools.cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
