"""A dry run of a workflow: its own stage functions, with a run that looks cells up instead of computing them.

A cell's key is known when its inputs are: when the cells that they come from are in the store. Where an input is not
known yet, a name that no digest is takes its place; such cells are told apart, and counted.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from awt.artifacts import decode_json, read, read_json, sha256_file
from awt.errors import InputError
from awt.lineage.pipeline import flat
from awt.loading import load
from awt.runtime.cell import Cell, Source
from awt.runtime.code import digest
from awt.runtime.store import Entry, Store
from awt.workflows.code import stage_code, value_at
from awt.workflows.experiment import Experiment
from awt.workflows.running import DESCRIBED, check_data
from awt.workflows.workflow import RECORDS, Stage

UNKNOWN = "unknown"
PLAN = "plan"  # the kind of cells that stages go by: quick, and without inputs

State = Literal["stored", "missing", "unknown"]


class UnforeseenError(InputError):
    """Something that is only known once a stage has run."""


def not_known(name: str) -> Source:
    """Takes the place of a file that is not there yet."""
    return Source(Path(UNKNOWN), f"{UNKNOWN} {name}")


class Names(dict[str, str]):
    """Takes the place of the digests of files that are not there yet."""

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key

    def __missing__(self, name: str) -> str:
        return f"{UNKNOWN} {self.key} {name}"


@dataclass(frozen=True)
class Absent(Entry):
    """Takes the place of the entry of a cell that the store lacks: its files can be inputs, but not read."""

    label: str

    def path(self, name: str) -> Path:
        raise UnforeseenError(f"it reads {name} of the cell {self.label!r}, which is not in the store")

    def source(self, name: str) -> Source:
        return Source(self.folder, self.digests[name])


class Foreseen(NamedTuple):
    """A cell that a stage asks for; its key is its name in the store where `state` is not "unknown"."""

    cell: Cell
    key: str
    state: State
    entry: Entry


@dataclass
class Lookout:
    """Looks cells up in a store; those of kind "plan" that it lacks are computed, since stages read what they say."""

    key: Callable[[Cell], str]
    store: Store
    compute: Callable[[Sequence[Cell]], list[Entry]]
    _seen: dict[str, Foreseen] = field(default_factory=dict)

    def look(self, cells: Sequence[Cell]) -> list[Foreseen]:
        keys = [self.key(cell) for cell in cells]
        fresh = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in self._seen}
        named = {key: cell for key, cell in fresh.items() if not any(map(_is_unknown, cell.inputs.values()))}
        entries = self.store.find_all(named)
        plans = {
            key: cell for key, cell in named.items() if key not in entries and cell.kind == PLAN and not cell.inputs
        }
        chosen = dict(zip(plans, self.compute(list(plans.values())), strict=True)) if plans else {}
        for key, cell in fresh.items():
            state: State = "stored" if key in entries else "missing" if key in named else "unknown"
            absent = Absent(key, Path(UNKNOWN), Names(key), {}, cell.label)
            self._seen[key] = Foreseen(cell, key, state, entries.get(key) or chosen.get(key) or absent)
        return [self._seen[key] for key in keys]


def _is_unknown(source: Source) -> bool:
    return source.sha256.startswith(UNKNOWN)


@dataclass
class StageRun:
    """What a stage asked for: cells by the waves that they came in, each where it first came; and, unless that is all
    that it will ask for, why no more is known."""

    stage: Stage
    waves: list[list[Foreseen]] = field(default_factory=list)
    unforeseen: str = ""

    @property
    def cells(self) -> Iterator[Foreseen]:
        return (one for wave in self.waves for one in wave)

    def note(self, wave: Sequence[Foreseen]) -> list[Entry]:
        known = {one.key for one in self.cells}
        if fresh := [one for key, one in {one.key: one for one in wave}.items() if key not in known]:
            self.waves.append(fresh)
        return [one.entry for one in wave]


@dataclass
class Ahead:
    """The files that earlier stages will write (awt.workflows.workflow.Inputs): known from their cells, from what a
    stage's `foresee` says, or as they lie here, if the stage would not write others now."""

    asked: Experiment
    runs: list[StageRun] = field(default_factory=list)
    files: dict[str, Source] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return any(run.unforeseen for run in self.runs)

    def source(self, path: str) -> Source:
        if path in self.files:
            return self.files[path]
        writer, file = self._writer(path), self.asked.folder / path
        if writer is None:
            return Source.of(file)
        written = self._written(writer).get(path)
        is_current = written is not None and file.is_file() and sha256_file(file) == written
        self.files[path] = Source(file, written) if written and is_current else not_known(path)
        return self.files[path]

    def json(self, path: str) -> Any:
        return self.said[path] if path in self.said else decode_json(self.read(path), path)

    def read(self, path: str) -> bytes:
        source = self.source(path)
        if _is_unknown(source):
            writer = self._writer(path)
            name = writer.stage.name if writer else "that writes it"
            raise UnforeseenError(f"it reads {path}: run the stage {name} first (`dvc repro {name}`)")
        return read(source.path)

    def _writer(self, path: str) -> StageRun | None:
        """The earlier stage that writes a file."""
        places = {path, *(str(parent) for parent in Path(path).parents)}
        return next((run for run in self.runs if places & set(run.stage.every_out)), None)

    def _written(self, run: StageRun) -> Mapping[str, str]:
        """Digests of the files that a stage wrote, if it ran as it would run now: with the same parameters, code,
        inputs and cells."""
        path = self.asked.folder / RECORDS / f"{run.stage.name}.json"
        if run.unforeseen or not path.exists():
            return {}
        record, values = read_json(path), self.asked.workflow.effective(self.asked.params)
        ran: Mapping[str, str] = record["outputs"]
        is_current = (
            record["params"] == flat({key: value_at(values, key) for key in run.stage.params})
            and record["code"]["digest"] == digest(stage_code(run.stage, values))
            and {cell["key"] for cell in record["cells"].get("cells", ())} == {one.key for one in run.cells}
            and all(self.source(name).sha256 == given for name, given in record["inputs"].items())
        )
        return ran if is_current else {}


class Plan(NamedTuple):
    """The stages of a workflow with the cells that they ask for; and the data as dataset.json describes them, if they
    are known."""

    runs: Sequence[StageRun]
    data: Mapping[str, Any] | None

    @property
    def cells(self) -> Iterator[Foreseen]:
        """Some more than once, where several stages ask for them."""
        return (one for run in self.runs for one in run.cells)


def dry_run(asked: Experiment, lookout: Lookout) -> Plan:
    """After a stage that reads what is not there yet, no other can be foreseen."""
    ahead = Ahead(asked)
    for stage in asked.workflow.stages:
        run = StageRun(stage)
        try:
            if ahead.is_over:
                raise UnforeseenError("the stages before it are not known")
            _foresee(run, ahead, lookout)
        except UnforeseenError as error:
            run.unforeseen = str(error)
        ahead.runs.append(run)
    try:
        return Plan(ahead.runs, ahead.json(DESCRIBED))
    except InputError:
        return Plan(ahead.runs, None)


def _foresee(run: StageRun, ahead: Ahead, lookout: Lookout) -> None:
    stage, params = run.stage, ahead.asked.params
    if stage.foresee is not None:
        for path, value in load(stage.foresee)(params).items():
            (ahead.files if isinstance(value, Source) else ahead.said)[path] = value
        return
    check_data(ahead.asked, stage, ahead)
    ahead.files |= stage.function()(lambda cells: run.note(lookout.look(cells)), params, ahead).files
