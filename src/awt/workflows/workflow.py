"""A workflow as a value: its parameters, and a function a stage that describes cells, has them run, assembles outs.

The stage scripts, the planner (a dry run of the same functions), lineage and dvc.yaml all go by this one description.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from awt.artifacts import decode_json, read
from awt.errors import InputError
from awt.loading import is_reference, load
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry
from awt.workflows.registry import WORKFLOWS

ARTIFACTS = "artifacts"
CODE, EFFECTIVE = f"{ARTIFACTS}/code.json", f"{ARTIFACTS}/params.json"
RECORDS = f"{ARTIFACTS}/records"

Run = Callable[[Sequence[Cell]], list[Entry]]
"""Computes cells, or finds them in the store; entries come in the cells' order."""


class Inputs(Protocol):
    """The files that earlier stages wrote, by their paths in the experiment."""

    def source(self, path: str) -> Source:
        """A file as the input of a cell."""
        ...

    def json(self, path: str) -> Any:
        """What a JSON file says."""
        ...

    def read(self, path: str) -> bytes:
        """A file's bytes: in the assembly of outs alone, since a plan has none."""
        ...


def _nothing() -> Mapping[str, bytes | Path]:
    return {}


@dataclass(frozen=True)
class Outs:
    """What a stage writes, by paths in the experiment: files that cells returned, known by their digests; and the rest,
    assembled from what cells found, once that is known."""

    files: Mapping[str, Source] = field(default_factory=dict)
    rest: Callable[[], Mapping[str, bytes | Path]] = _nothing


@dataclass(frozen=True)
class Stage:
    """A stage: what it does, what it reads, what it writes.

    `run` is its function, "module:name", of (run, params, inputs), which returns Outs. `params` are dotted keys of the
    effective parameters. `foresee`, "module:name" too, stands in for it in a plan, where what the stage writes cannot
    be foreseen from its cells: of the parameters, it gives contents of files (JSON values) or their sources, by path.
    """

    name: str
    about: str
    run: str
    params: tuple[str, ...]
    outs: tuple[str, ...]
    reads: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    foresee: str | None = None

    def function(self) -> Callable[[Run, Any, Inputs], Outs]:
        found: Callable[[Run, Any, Inputs], Outs] = load(self.run)
        return found

    @property
    def every_out(self) -> tuple[str, ...]:
        """With the record of its run."""
        return (*self.outs, f"{RECORDS}/{self.name}.json", *self.metrics)


@dataclass(frozen=True)
class Workflow:
    """Stages in the order of their data, and the type of their parameters.

    `effective` gives the parameters as stages depend on them: with everything filled in that a default decides. `check`
    refuses parameters that do not fit the data that they will meet (its description: dataset.json).
    """

    name: str
    params: type
    stages: tuple[Stage, ...]
    effective: Callable[[Any], dict[str, Any]] = as_json
    check: Callable[[Any, Mapping[str, Any]], None] | None = None
    plots: str = ""  # as dvc.yaml has them

    def stage(self, name: str) -> Stage:
        for stage in self.stages:
            if stage.name == name:
                return stage
        raise InputError(
            f"the workflow {self.name} has no stage {name!r}, only {', '.join(s.name for s in self.stages)}"
        )


def workflow(name: str) -> Workflow:
    """A workflow of awt by its name, or one of the user's own, `module:name`."""
    if name not in WORKFLOWS and not is_reference(name):
        raise InputError(f"workflow: {name!r} is none of {', '.join(WORKFLOWS)}, nor module:name of your own")
    found = load(WORKFLOWS.get(name, name))
    if not isinstance(found, Workflow):
        raise InputError(f"workflow: {name} is no Workflow")
    return found


@dataclass(frozen=True)
class Files:
    """Inputs in a folder."""

    folder: Path

    def source(self, path: str) -> Source:
        return Source.of(self.folder / path)

    def json(self, path: str) -> Any:
        return decode_json(self.read(path), path)

    def read(self, path: str) -> bytes:
        return read(self.folder / path)
