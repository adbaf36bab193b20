"""Running a stage: checked parameters, an executor, outs written whole, a run record."""

import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from awt.artifacts import encode_json, sha256, sha256_file, write
from awt.errors import InputError, run
from awt.lineage.records import Run
from awt.runtime.cell import Cell
from awt.runtime.executor import Executor, open_executor
from awt.runtime.lock import only_driver
from awt.runtime.store import Entry
from awt.workflows.code import settle, stage_code, value_at
from awt.workflows.experiment import Experiment, experiment
from awt.workflows.workflow import ARTIFACTS, RECORDS, Files, Inputs, Outs, Stage

DATA = f"{ARTIFACTS}/data"
DESCRIBED = f"{DATA}/dataset.json"


def main(stage: str) -> int:
    """A stage script: runs a stage of the experiment in the current folder; returns the exit code."""
    return run(lambda: run_stage(experiment(), stage))


def run_stage(asked: Experiment, name: str) -> None:
    if name == "code":
        for path, content in settle(asked).items():
            write(asked.folder / path, content)
        return
    stage = asked.workflow.stage(name)
    check_data(asked, stage, Files(asked.folder))
    with _alone(asked, name), Session(asked, stage.name) as session:
        values = asked.workflow.effective(asked.params)
        begun = Run.begin(
            name,
            asked.folder,
            asked.repository,
            {key: value_at(values, key) for key in stage.params},
            stage_code(stage, values),
        )
        session.run_id = begun.id
        write_outs(stage, stage.function()(session.run, asked.params, Files(asked.folder)), asked.folder)
        record = begun.record(
            executor=session.runtime.executor,
            platform=session.platform,
            cells=session.stats,
            seeds=list(getattr(asked.params, "seeds", ())),
        )
        write(asked.folder / RECORDS / f"{name}.json", encode_json(record))


def check_data(asked: Experiment, stage: Stage, inputs: Inputs) -> None:
    """Parameters may not fit the data; the stage that prepares them comes before they are known."""
    if asked.workflow.check is not None and DATA in stage.reads:
        asked.workflow.check(asked.params, inputs.json(DESCRIBED))


class Session:
    """Has cells run for an experiment, on its executor, which is opened when it is first needed."""

    def __init__(self, asked: Experiment, name: str) -> None:
        self.experiment, self.name = asked, name
        self.runtime, self.store = asked.runtime, asked.store()
        self.run_id: str | None = None
        self._executor: Executor | None = None
        if self.runtime.executor == "ray":
            self._open()  # finds an address that nobody listens at before any work

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        if self._executor is not None:
            self._executor.close()

    def run(self, cells: Sequence[Cell]) -> list[Entry]:
        """Computes cells, or finds them in the store; entries come in the cells' order."""
        return self._open().run(cells) if cells else []

    def reused(self) -> set[str]:
        """Keys of the cells that were in the store already."""
        return {cell["key"] for cell in self._open().stats.cells if cell["reused"]}

    @property
    def platform(self) -> str | None:
        """The kind of device that cells were computed on, if any were asked for."""
        executor = self._executor
        return executor.surroundings.platform if executor and executor.stats.cells else None

    @property
    def stats(self) -> dict[str, object]:
        return self._executor.stats.as_json() if self._executor else {}

    def _open(self) -> Executor:
        if self._executor is None:
            self._executor = open_executor(self.name, self.runtime, self.store)
            self._executor.folders = self.experiment.code_folders
        self._executor.run_id = self.run_id
        return self._executor


@contextmanager
def _alone(asked: Experiment, stage: str) -> Iterator[None]:
    """A context in which no other driver computes this stage of the experiment with the same store."""
    place = os.path.relpath(asked.folder.resolve(), asked.repository.resolve())
    what = f"the stage {stage} of {'the default experiment' if place == '.' else place}"
    identity = sha256(encode_json([place, sha256_file(asked.folder / "params.yaml")]))
    store = asked.store()
    with only_driver(what, f"{stage}-{identity[:16]}", store.root / "locks", store.remote):
        yield


def write_outs(stage: Stage, outs: Outs, folder: Path) -> None:
    """Writes what a stage gave: each declared out whole, a folder or a file."""
    files: dict[str, bytes | Path] = {path: source.path for path, source in outs.files.items()}
    files |= outs.rest()
    for out in (*stage.outs, *stage.metrics):
        inside = {path[len(out) + 1 :]: files.pop(path) for path in list(files) if path.startswith(f"{out}/")}
        if out in files:
            content = files.pop(out)
            write(folder / out, content.read_bytes() if isinstance(content, Path) else content)
        elif inside or "." not in Path(out).name:
            publish(folder / out, inside)
        else:
            raise InputError(f"the stage {stage.name} declares {out}, but did not make it")
    if files:
        raise InputError(f"the stage {stage.name} made {', '.join(sorted(files)[:3])}, which it does not declare")


def publish(folder: Path, files: Mapping[str, bytes | Path]) -> None:
    """Replaces a folder of results, whole: a failure on the way leaves the old one."""
    mark = uuid.uuid4().hex
    fresh, old = (folder.with_name(f".{folder.name}.{mark}{end}") for end in ("", ".old"))
    try:
        fresh.mkdir(parents=True)
        for name, content in files.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, Path):
                shutil.copyfile(content, path)
            else:
                path.write_bytes(content)
        if folder.exists():
            folder.rename(old)
        try:
            fresh.rename(folder)
        except OSError:
            if old.exists():
                old.rename(folder)
            raise
    finally:
        for path in (fresh, old):
            shutil.rmtree(path, ignore_errors=True)


def check_out(option: str, folder: Path, index: str, what: str, belongs: Callable[[str], bool]) -> None:
    """Refuses a folder in which publishing would destroy other things: one with files beside `index` that do not belong
    to `what` a command publishes there."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise InputError(f"{option}: {folder} is a file or a link: name a folder")
    inside = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    foreign = [name for name in inside if name != index and not belongs(name)]
    if inside and (foreign or index not in inside):
        raise InputError(f"{option}: {folder} has other things in it than {what}; name a new folder")
    blocked = next((parent for parent in folder.absolute().parents if parent.exists() and not parent.is_dir()), None)
    if blocked is not None:
        raise InputError(f"{option}: {folder} lies under {blocked}, which is a file")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
