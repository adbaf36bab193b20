"""Typed options from what people write: checked, with every fault in one message."""

import functools
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from awt.errors import InputError
from awt.params.faults import describe

T = TypeVar("T")


def checked(kind: type[T], raw: Any, where: str, key: Callable[[Sequence[str]], str] = ".".join) -> T:
    """Options of a type, of JSON values; in errors `where` names their file, and `key` a value within them."""
    if not isinstance(raw, Mapping):
        raise InputError(f"{where}: expected a mapping of parameters, got {type(raw).__name__}")
    try:
        # through JSON, where pydantic's strict mode takes lists for tuples
        checked_options: T = _adapter(cast(Any, kind)).validate_json(json.dumps(raw, default=str))
        return checked_options
    except ValidationError as error:
        told = error.errors()
        inner = {fault["loc"][:-1] for fault in told}
        # a list with a bad item also counts as too short: only the item is worth a word
        told = [fault for fault in told if fault["type"] != "too_short" or fault["loc"] not in inner]
        faults = [describe(fault, kind, key) for fault in told]
    except (TypeError, ValueError) as error:
        faults = [str(error)]
    raise InputError(": ".join(filter(None, [where, "; ".join(faults)])))


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
