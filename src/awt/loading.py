"""Code that is named in parameters: `module:name`, a method, a network, an attack, of awt or of the user."""

import importlib
import re
from collections.abc import Iterator
from typing import Any

from awt.errors import InputError

_REFERENCE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def is_reference(value: Any) -> bool:
    return isinstance(value, str) and _REFERENCE.fullmatch(value) is not None


def load(reference: str) -> Any:
    """What `module:name` names."""
    module, _, name = reference.partition(":")
    if not is_reference(reference):
        raise InputError(f"{reference!r} does not name code: write module:name")
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(f"{reference}: there is no module {error.name!r}") from None
    if not hasattr(loaded, name):
        raise InputError(f"{reference}: the module {module} has no {name!r}")
    return getattr(loaded, name)


def references(value: Any) -> Iterator[str]:
    """Every reference in JSON values."""
    if is_reference(value):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from references(inner)
