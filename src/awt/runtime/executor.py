"""The executor interface: cells in, finished entries of the store out, computing only what the store lacks."""

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from awt.errors import DISK_FULL, Interrupted, WorkError
from awt.runtime.cell import Cell, Surroundings, to_json
from awt.runtime.machines import Machine, here
from awt.runtime.options import Resources, Runtime
from awt.runtime.progress import Progress
from awt.runtime.store import Entry, Store
from awt.runtime.worker import Outcome, Task


@dataclass
class Stats:
    """What a stage's cells cost, for its run record."""

    computed: int = 0
    reused: int = 0
    retried: int = 0
    cells: list[dict[str, Any]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Executor(ABC):
    """Runs cells. Subclasses say where; the store, the log and the record are the same for all."""

    def __init__(self, stage: str, runtime: Runtime, store: Store) -> None:
        self.stage = stage
        self.runtime = runtime
        self.store = store
        self.folders: tuple[str, ...] = ()  # where the user's own modules are
        self.run_id: str | None = None  # of the stage's run, for what it computes
        self.stats = Stats()
        self._surroundings: Surroundings | None = None

    @property
    def surroundings(self) -> Surroundings:
        if self._surroundings is None:
            self._surroundings = Surroundings(self._platform())
        return self._surroundings

    def run(self, cells: Sequence[Cell]) -> list[Entry]:
        """The entries of cells, in their order; what is in the store is reused, the rest computed.

        When cells fail the others still finish; then the failures are raised.
        """
        keys = [self.key(cell) for cell in cells]
        self.store.send_rest()
        entries = self.store.find_all(keys)
        missing = {key: cell for key, cell in zip(keys, cells, strict=True) if key not in entries}
        self.stats.reused += len(entries)
        self._note(entries, cells, keys, reused=True)
        with Progress(self.stage, len(entries) + len(missing), reused=len(entries)) as progress:
            try:
                failures = self._keep_outcomes(missing, entries, progress) if missing else []
            finally:
                self.store.flush()
        self._note({key: entries[key] for key in missing if key in entries}, cells, keys, reused=False)
        if failures:
            self._raise(failures, missing)
        return [entries[key] for key in keys]

    def _keep_outcomes(
        self, missing: dict[str, Cell], entries: dict[str, Entry], progress: Progress
    ) -> list[tuple[str, Outcome]]:
        """Computes cells and adds their entries; returns the failures."""
        failures = []
        for key, outcome in self._compute(missing, progress):
            label = missing[key].label
            if outcome.failure == "disk":  # the next cells would only fail as well
                where = f" on {outcome.host}" if self.is_cluster else ""
                raise WorkError(DISK_FULL.format(error=f"{label}{where}: {outcome.message}"))
            if outcome.failure:
                if outcome.failure != "interrupted":
                    progress.fail(label, outcome.message)
                    self.store.send_log(key)
                failures.append((key, outcome))
                continue
            entries[key] = self.store.put(key, outcome.files, self._about(missing[key], outcome))
            self.stats.computed += 1
            progress.finish(label, outcome.seconds, outcome.node)
            del outcome  # before the next is waited for: a cluster keeps what is referred to in memory
        return failures

    def key(self, cell: Cell) -> str:
        return self.surroundings.key(cell, self.threads(cell.kind))

    def close(self) -> None:  # noqa: B027  (only Ray has something to close)
        """Gives back what the executor holds."""

    @abstractmethod
    def _platform(self) -> str:
        """The kind of device that cells will run on."""

    @abstractmethod
    def _compute(self, missing: dict[str, Cell], progress: Progress) -> Iterator[tuple[str, Outcome]]:
        """Runs cells and yields their outcomes as they come."""

    def resources(self, kind: str) -> Resources:
        asked: dict[Any, Resources] = dict(self.runtime.resources)
        return asked.get(kind, asked.get("default", Resources()))

    def wanted(self, kind: str) -> Resources:
        """The same with the number of GPUs: one, unless said otherwise, where cells run on them."""
        resources = self.resources(kind)
        if resources.gpus is None:
            resources = replace(resources, gpus=0 if self.surroundings.platform == "cpu" else 1)
        return resources

    @property
    def is_cluster(self) -> bool:
        """Whether cells run elsewhere than on this machine."""
        return False

    def machines(self) -> list[Machine]:
        """What cells can run on: this machine, unless there is a cluster."""
        return [here()]

    def threads(self, kind: str) -> int:
        return max(1, int(self.resources(kind).cpus))

    def _task(self, key: str, cell: Cell) -> Task:
        self.store.describe(key, to_json(cell) | {"stage": self.stage})
        remote = self.store.remote
        # nodes have no disk in common with a driver whose store is at a URL
        checkpoints = "" if remote and self.is_cluster else str(self.store.checkpoints(key).absolute())
        return Task(
            key=key,
            label=cell.label,
            function=cell.function,
            params=dict(cell.params),
            digests={name: source.sha256 for name, source in cell.inputs.items()},
            platform=self.surroundings.platform,
            checkpoints=checkpoints,
            store_url=remote.url if remote else "",
            checkpoint_seconds=self.runtime.checkpoint_seconds,
            threads=self.threads(cell.kind),
            gpus=self.wanted(cell.kind).gpus or 0,
            xla_flags=self.surroundings.xla_flags,
            functions=cell.functions,
            code=cell.code.as_json(),
            folders=self.folders,
        )

    def append_log(self, key: str, lines: list[str]) -> None:
        if lines:
            with self.store.log(key).open("a", encoding="utf-8") as log:
                log.writelines(f"{line}\n" for line in lines)

    def _about(self, cell: Cell, outcome: Outcome) -> dict[str, Any]:
        return {
            "cell": to_json(cell),
            "stage": self.stage,
            "surroundings": asdict(self.surroundings),
            "host": outcome.host,
            "device": outcome.device,
            "seconds": round(outcome.seconds, 3),
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "threads": self.threads(cell.kind),
            "code": cell.code.as_json(),
            "run": self.run_id,
        }

    def _note(self, entries: dict[str, Entry], cells: Sequence[Cell], keys: list[str], reused: bool) -> None:
        described = dict(zip(keys, cells, strict=True))
        self.stats.cells += [
            {
                "key": key,
                "label": described[key].label,
                "tags": dict(described[key].tags),
                "reused": reused,
                **{name: entry.about.get(name) for name in ("host", "device", "seconds", "finished", "run")},
            }
            for key, entry in entries.items()
        ]

    def _raise(self, failures: list[tuple[str, Outcome]], missing: dict[str, Cell]) -> None:
        key, outcome = next(((k, o) for k, o in failures if o.failure != "interrupted"), failures[0])
        if outcome.failure == "interrupted":
            raise Interrupted("interrupted; finished cells and checkpoints are kept, run again to continue")
        error = outcome.error(missing[key].label)
        if outcome.failure in ("fault", "lost", "memory"):
            others = f" (and {len(failures) - 1} more)" if len(failures) > 1 else ""
            raise WorkError(f"{error}{others}; see `awt logs {key[:12]}`, debug with `awt rerun {key[:12]} --serial`")
        raise error


def open_executor(stage: str, runtime: Runtime, store: Store) -> Executor:
    """The executor that the parameters ask for."""
    if runtime.executor == "serial":
        from awt.runtime.serial_executor import SerialExecutor

        return SerialExecutor(stage, runtime, store)
    from awt.runtime.ray_executor import RayExecutor

    return RayExecutor(stage, runtime, store)
