"""What dvc.yaml declares: of each stage the code and files it depends on, its parameters, its outs."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from awt.errors import InputError

_ROOT = "${root}/"
CODE_STAGE = "code"
CODE, EFFECTIVE = "artifacts/code.json", "artifacts/params.json"  # what it writes


@dataclass(frozen=True)
class Declared:
    """A stage as dvc.yaml has it; paths are an experiment's. Parameters are keys of the effective ones."""

    command: str
    inputs: tuple[str, ...]
    params: tuple[str, ...]
    outs: tuple[str, ...]


def declared(folder: Path) -> dict[str, Declared]:
    """Every stage of the experiment in a folder but `code`, in the order of the file."""
    path = folder / "dvc.yaml"
    if not path.exists():
        raise InputError(f"{path} is missing: `awt new` writes it")
    found = load_yaml(path.read_text(encoding="utf-8"), str(path))
    try:
        return {name: _stage(stage) for name, stage in found["stages"].items() if name != CODE_STAGE}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: no pipeline of awt ({error!r})") from None


def find(stage: str, stages: Mapping[str, Declared]) -> Declared:
    if stage not in stages:
        raise InputError(f"dvc.yaml: no stage {stage!r}, only {', '.join(stages)}")
    return stages[stage]


def producers(stages: Mapping[str, Declared]) -> dict[str, str]:
    """The stage that each out comes from."""
    return {out: name for name, stage in stages.items() for out in stage.outs}


def is_record(path: str) -> bool:
    return path.startswith("artifacts/records/")


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings by dotted names; lists and empty mappings are leaves."""
    if not isinstance(values, dict) or not values:
        return {prefix: values}
    leaves: dict[str, Any] = {}
    for name, value in values.items():
        leaves |= flat(value, f"{prefix}.{name}" if prefix else str(name))
    return leaves


def chosen(values: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """The leaves of the named sections or values of a params.yaml; what is not there is left out."""
    found: dict[str, Any] = {}
    for name in names:
        value = values
        for part in name.split("."):
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
        if value is not _ABSENT:
            found |= flat(value, name)
    return found


_ABSENT = object()


def load_yaml(text: str, source: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise InputError(f"{source}: not readable YAML ({str(error).splitlines()[0]})") from None


def _stage(stage: Mapping[str, Any]) -> Declared:
    deps = list(_names(stage.get("deps", ())))
    return Declared(
        stage["cmd"],
        tuple(name for name in deps if not name.startswith(_ROOT)),
        tuple(
            key for entry in stage.get("params", ()) if isinstance(entry, Mapping) for key in entry.get(EFFECTIVE, ())
        ),
        tuple(name for kind in ("outs", "metrics", "plots") for name in _names(stage.get(kind, ()))),
    )


def _names(entries: Any) -> Iterator[str]:
    """An entry is a name, or a mapping of a name to options."""
    for entry in entries:
        yield entry if isinstance(entry, str) else next(iter(entry))
