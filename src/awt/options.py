"""Typed options: frozen dataclasses that say what may be set, written as JSON values and read back."""

import dataclasses
import types
import typing
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")

# for awt.params, which checks what people write; a literal, since nothing that computes imports pydantic
_STRICT = {"strict": True, "extra": "forbid", "allow_inf_nan": False}


@dataclass_transform(frozen_default=True, kw_only_default=True)
def options(cls: type[T]) -> type[T]:
    """Makes a class typed options: hashable, so that a jitted function can be compiled for them."""
    cls.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]
    return dataclasses.dataclass(frozen=True, kw_only=True)(cls)


def as_json(value: Any) -> Any:
    """Options as JSON values: every field, those left at their defaults too."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: as_json(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {name: as_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner) for inner in value]
    return value


def from_json(kind: Any, value: Any) -> Any:
    """Options of a type from their JSON values, which were checked when they were written."""
    if typing.get_origin(kind) is typing.Annotated:
        return from_json(typing.get_args(kind)[0], value)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        inner = [one for one in typing.get_args(kind) if one is not types.NoneType]
        return None if value is None else from_json(inner[0], value)
    if typing.get_origin(kind) is tuple:
        first, *_ = typing.get_args(kind)
        return tuple(from_json(first, one) for one in value)
    if typing.get_origin(kind) is dict:
        return {name: from_json(typing.get_args(kind)[1], one) for name, one in value.items()}
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and not dataclasses.is_dataclass(value):
        hints = typing.get_type_hints(kind)
        return kind(**{name: from_json(hints.get(name, Any), one) for name, one in value.items()})
    return value
