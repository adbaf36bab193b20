"""From an experiment's params.yaml, and those that it builds on, to one tree of values."""

import os
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from awt.errors import InputError

PARAMS = "params.yaml"


def read(folder: Path) -> dict[str, Any]:
    """The values of an experiment: its own over those of its base, and that one's over its own base's.

    Mappings are merged, all else is replaced: a list is one value.
    """
    return _read(folder, ())


def _read(folder: Path, seen: tuple[Path, ...]) -> dict[str, Any]:
    own = read_file(folder / PARAMS)
    base = own.get("base")
    if base is None:
        return own
    if not isinstance(base, str):
        raise InputError(f"{folder / PARAMS}: base: expected the folder of an experiment (got {base!r})")
    place = folder / base
    if place.resolve() in seen or place.resolve() == folder.resolve():
        raise InputError(f"{folder / PARAMS}: base: {base} leads back to this experiment")
    if not (place / PARAMS).is_file():
        raise InputError(f"{folder / PARAMS}: base: {base} has no {PARAMS}: name the folder of an experiment")
    inherited = _read(place, (*seen, folder.resolve()))
    return merged(_moved(inherited, os.path.relpath(place, folder)), own)


def merged(base: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for name, value in own.items():
        both = isinstance(value, dict) and isinstance(found.get(name), dict)
        found[name] = merged(found[name], value) if both else value
    return found


def _moved(values: dict[str, Any], way: str) -> dict[str, Any]:
    """Paths that a base gives start from its own folder."""
    found = {name: value for name, value in values.items() if name not in ("root", "base")}
    for section, keys in (("data", ("root", "path")), ("runtime", ("store",))):
        for key in keys:
            given = (found.get(section) or {}).get(key)
            if isinstance(given, str) and "://" not in given and not Path(given).is_absolute():
                found[section] = {**found[section], key: os.path.normpath(Path(way, given))}
    return found


def read_file(path: Path) -> dict[str, Any]:
    try:
        raw = YAML(typ="safe", pure=True).load(path)  # the YAML 1.2 reading that DVC itself uses
    except FileNotFoundError:
        raise InputError(
            f"{path} not found in {Path.cwd()}: run from the folder of an experiment (it has a params.yaml)"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable YAML: {' '.join(str(error).split())}") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}: expected a mapping of parameters, got {type(raw).__name__}")
    return raw
