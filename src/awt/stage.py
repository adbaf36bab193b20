"""What a stage script works with: checked parameters, an executor, outs written whole, a run record."""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from awt import params
from awt.artifacts import encode_json, read_json, sha256, sha256_file, write
from awt.errors import InputError
from awt.lineage.records import RECORDS as RECORDS
from awt.lineage.records import Run
from awt.runtime import Cell, Entry, Executor, Store, open_executor
from awt.runtime.lock import only_driver
from awt.runtime.remote import Remote

ARTIFACTS = Path("artifacts")


class Stage:
    """A stage of the experiment in the current folder."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.params = params.load()
        self.repository = Path(self.params.root)
        self._runtime = runtime_of(self.params)
        self._store = store_of(self.params)
        self._executor: Executor | None = None
        if name != "prepare":
            params.check_data(self.params, read_json(ARTIFACTS / "data" / "dataset.json"))
        self._run = Run.begin(name, Path(), self.repository)
        if self._runtime.executor == "ray":
            self._open()  # finds an address that nobody listens at before any work

    def alone(self) -> AbstractContextManager[None]:
        """A context in which no other driver computes this stage of the experiment with the same store."""
        place = os.path.relpath(Path().resolve(), self.repository.resolve())
        what = f"the stage {self.name} of {'the default experiment' if place == '.' else place}"
        experiment = sha256(encode_json([place, sha256_file(Path("params.yaml"))]))
        return only_driver(what, f"{self.name}-{experiment[:16]}", self._store.root / "locks", self._store.remote)

    def run(self, cells: Sequence[Cell]) -> list[Entry]:
        """Computes cells, or finds them in the store; entries come in the cells' order."""
        return self._open().run(cells)

    def publish(self, folder: Path, files: Mapping[str, bytes | Path]) -> None:
        publish(folder, files)

    def reused(self) -> set[str]:
        """Keys of the cells that were in the store already."""
        return {cell["key"] for cell in self._open().stats.cells if cell["reused"]}

    def finish(self) -> None:
        """Writes the run record and lets the executor go."""
        executor = self._executor
        record = self._run.record(
            executor=self._runtime.executor,
            platform=executor.surroundings.platform if executor and executor.stats.cells else None,
            cells=executor.stats.as_json() if executor else {},
            seeds=list(self.params.seeds),
        )
        write(RECORDS / f"{self.name}.json", encode_json(record))

    def close(self) -> None:
        if self._executor is not None:
            self._executor.close()

    def _open(self) -> Executor:
        if self._executor is None:
            code = self._run.facts["code"]["fingerprint"]
            self._executor = open_executor(self.name, self._runtime, self._store, code)
            self._executor.run_id = self._run.id
        return self._executor


@contextmanager
def stage(name: str) -> Iterator[Stage]:
    """A stage from its parameters to its record, which is written only when all went well."""
    work = Stage(name)
    with work.alone():
        try:
            yield work
            work.finish()
        finally:
            work.close()


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


def runtime_of(parameters: params.Params) -> params.Runtime:
    """The runtime section, with $AWT_EXECUTOR over the executor that it names."""
    chosen = os.environ.get("AWT_EXECUTOR") or parameters.runtime.executor
    if chosen not in ("ray", "serial"):
        raise InputError(f"AWT_EXECUTOR: {chosen!r} is neither ray nor serial")
    return parameters.runtime.model_copy(update={"executor": chosen})


def store_of(parameters: params.Params) -> Store:
    """The store of the runtime section, else $AWT_STORE, else the repository's, which is also this machine's part of a
    store at a URL."""
    own = Path(parameters.root) / ".awt" / "store"
    chosen = parameters.runtime.store or os.environ.get("AWT_STORE") or str(own)
    if "://" not in chosen:
        return Store(Path(chosen))
    remote = Remote(chosen)
    remote.check()
    return Store(own, remote)
