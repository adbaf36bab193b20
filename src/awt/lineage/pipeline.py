"""An experiment's pipeline: the stages as its dvc.yaml declares them, and as its dvc.lock says that they ran."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from awt.errors import InputError

CODE_STAGE = "code"  # runs always, and is no step on the way to a result
CODE, EFFECTIVE = "artifacts/code.json", "artifacts/params.json"  # what it writes, and others have as parameters


@dataclass(frozen=True)
class Declared:
    """A stage as dvc.yaml has it; paths are an experiment's."""

    command: str
    inputs: tuple[str, ...]
    outs: tuple[str, ...]


def declared(folder: Path) -> dict[str, Declared]:
    """Every stage of the experiment in a folder but `code`, in the order of the file."""
    path = folder / "dvc.yaml"
    if not path.exists():
        raise InputError(f"{path} is missing: `awt new` writes it")
    read = _load(path.read_text(encoding="utf-8"), str(path))
    try:
        return {name: _declared(stage) for name, stage in read["stages"].items() if name != CODE_STAGE}
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: no pipeline of awt ({error!r})") from None


def find(stage: str, stages: Mapping[str, Declared]) -> Declared:
    if stage not in stages:
        raise InputError(f"dvc.yaml: no stage {stage!r}, only {', '.join(stages)}")
    return stages[stage]


def makers_of(inputs: tuple[str, ...], stages: Mapping[str, Declared]) -> set[str]:
    """The stages that some inputs come from."""
    return {name for name, stage in stages.items() if set(inputs) & set(stage.outs)}


@dataclass(frozen=True)
class Step:
    """A stage as DVC ran it last: hashes are md5, a folder's that of the list of its files. `code` is the digest that
    the stage `code` wrote of it, `params` the flat effective parameters."""

    name: str
    command: str
    code: str | None
    inputs: Mapping[str, str]
    params: Mapping[str, Any]
    outs: Mapping[str, str]


def read_lock(text: str, source: str) -> dict[str, Step]:
    """The steps of an experiment's dvc.lock."""
    read = _load(text, source)
    try:
        stages = dict(read["stages"])
        if stages.pop(CODE_STAGE, None) is None:
            raise recorded_by_old(source)
        return {name: _step(name, step) for name, step in stages.items()}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{source}: not a dvc.lock ({error!r}); `dvc repro` writes it anew") from None


def recorded_by_old(source: str) -> InputError:
    return InputError(f"{source}: recorded by awt 0.1: run `dvc repro` again")


def is_record(path: str) -> bool:
    return path.startswith("artifacts/records/")


def flat(values: Any, prefix: str = "") -> dict[str, Any]:
    """The leaves of nested mappings by dotted names; lists are leaves, and empty mappings that have a name."""
    if not isinstance(values, dict) or (prefix and not values):
        return {prefix: values}
    leaves: dict[str, Any] = {}
    for name, value in values.items():
        leaves |= flat(value, f"{prefix}.{name}" if prefix else str(name))
    return leaves


def _declared(stage: Mapping[str, Any]) -> Declared:
    outs = (name for kind in ("outs", "metrics", "plots") for name in _names(stage.get(kind, ())))
    return Declared(stage["cmd"], tuple(_names(stage.get("deps", ()))), tuple(outs))


def _names(entries: Any) -> Iterator[str]:
    """An entry is a name, or a mapping of a name to options."""
    for entry in entries:
        yield entry if isinstance(entry, str) else next(iter(entry))


def _step(name: str, step: Mapping[str, Any]) -> Step:
    params: dict[str, Any] = {}
    for section, value in step.get("params", {}).get(EFFECTIVE, {}).items():
        params |= flat(value, section)
    inputs, outs = ({one["path"]: str(one["md5"]) for one in step.get(kind, ())} for kind in ("deps", "outs"))
    return Step(name, step["cmd"], step.get("params", {}).get(CODE, {}).get(name), inputs, params, outs)


def _load(text: str, source: str) -> Any:
    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise InputError(f"{source}: not readable YAML ({str(error).splitlines()[0]})") from None
