"""Cells as Ray tasks, on the cluster at RAY_ADDRESS or on one started here when the first cell must be computed."""

import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import numpy as np

import awt
from awt.artifacts import read
from awt.errors import InputError, WorkError
from awt.params import Runtime
from awt.runtime import cores, device
from awt.runtime.cell import Cell, Source
from awt.runtime.context import REPORT_SECONDS, StopFlag
from awt.runtime.executor import Executor
from awt.runtime.machines import Machine
from awt.runtime.progress import Progress
from awt.runtime.store import Store
from awt.runtime.worker import Outcome, Task, execute

IN_FLIGHT = 4  # times the cluster's slots: enough to keep workers busy, few enough to bound the results that wait
POLL_SECONDS = 0.25
UNSATISFIABLE_SECONDS = 30.0  # how long a vanished node may stay away
HEALTH_SECONDS = 4  # for a cluster to say that it is one; a healthy one does in milliseconds


class Monitor:
    """An actor between driver and workers: log lines and progress one way, the wish to stop the other."""

    def __init__(self) -> None:
        self._events: list[tuple[str, list[str], dict[str, Any] | None]] = []
        self._stop = False

    def report(self, key: str, lines: list[str], progress: dict[str, Any] | None) -> bool:
        if lines or progress:
            self._events.append((key, lines, progress))
        return self._stop

    def drain(self) -> list[tuple[str, list[str], dict[str, Any] | None]]:
        events, self._events = self._events, []
        return events

    def stop(self) -> None:
        self._stop = True


class Reporter:
    """A worker's line to the monitor, on a thread of its own.

    A task that waits for Ray on its main thread gives its CPU back, and Ray starts another one beside it: so the main
    thread never waits, and other threads do.
    """

    def __init__(self, monitor: Any, key: str) -> None:
        self._monitor, self._key = monitor, key
        self._stop = False
        self._queue: SimpleQueue[tuple[list[str], dict[str, Any] | None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._send, daemon=True)
        self._thread.start()

    def __call__(self, lines: list[str], progress: dict[str, Any] | None) -> bool:
        self._queue.put((lines, progress))
        return self._stop

    def close(self) -> None:
        self._queue.put(None)
        self._thread.join()

    def _send(self) -> None:
        import ray

        while (item := self._next()) is not None:
            try:
                self._stop = ray.get(self._monitor.report.remote(self._key, *item))
            except ray.exceptions.RayError:
                continue  # progress is a courtesy: the cell goes on without it

    def _next(self) -> tuple[list[str], dict[str, Any] | None] | None:
        try:
            return self._queue.get(timeout=REPORT_SECONDS)
        except Empty:
            return [], None  # nothing to say, but perhaps to hear


@dataclass(frozen=True)
class Parcel:
    """An outcome on its way, its files as arrays: those Ray moves through shared memory alone, while it pickles bytes,
    which costs the worker and the driver a copy each in private memory (400 MB for 400 MB, measured)."""

    outcome: Outcome
    files: dict[str, np.ndarray]

    @classmethod
    def wrap(cls, outcome: Outcome) -> "Parcel":
        files = {name: np.frombuffer(data, np.uint8) for name, data in outcome.files.items()}
        return cls(replace(outcome, files={}), files)

    def unwrap(self) -> Outcome:
        return replace(self.outcome, files={name: array.data for name, array in self.files.items()})


def run_task(task: Task, names: list[str], monitor: Any, *buffers: Any) -> Parcel:
    """The remote function: one cell, its inputs already fetched from the object store."""
    reporter = Reporter(monitor, task.key)
    inputs = {name: memoryview(data) for name, data in zip(names, buffers, strict=True)}
    try:
        return Parcel.wrap(execute(task, inputs, reporter))
    finally:
        reporter.close()


class RayExecutor(Executor):
    def __init__(self, stage: str, runtime: Runtime, store: Store, code: str) -> None:
        super().__init__(stage, runtime, store, code)
        self._address = os.environ.get("RAY_ADDRESS", "")
        self._ray: Any = None
        self._refs: dict[str, Any] = {}
        # workers elsewhere get this very code, whatever is installed on their machines
        self._environment = {"py_modules": [str(Path(awt.__file__).parent)]} if self._address else {}
        if self._address:
            _check_reachable(self._address)

    def close(self) -> None:
        if self._ray is not None:
            self._ray.shutdown()
            self._ray = None

    def _platform(self) -> str:
        if self.runtime.device == "cpu":
            return "cpu"
        if not self._address:
            return device.platform(self.runtime.device, device.local_gpus(), "this machine")
        self._connect()
        kinds = [
            name.split(":", 1)[1] for name in self._ray.cluster_resources() if name.startswith("accelerator_type:")
        ]
        gpus = (kinds or ["unknown"]) if self._ray.cluster_resources().get("GPU", 0) else []
        return device.platform(self.runtime.device, gpus, f"the cluster at {self._address}")

    @property
    def is_cluster(self) -> bool:
        return bool(self._address)

    def machines(self) -> list[Machine]:
        if not self.is_cluster:
            return super().machines()
        self._connect()
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        # Ray keeps a part of a node's memory for objects, which are cells' inputs and results
        return [
            Machine(node.get("CPU", 0), node.get("GPU", 0), node.get("memory", 0) + node.get("object_store_memory", 0))
            for node in nodes
        ]

    def _connect(self) -> None:
        if self._ray is not None:
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        common: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "awt"}
        try:
            if self._address:
                _check_health(self._address)
                ray.init(address=self._address, runtime_env=self._environment, **common)
            else:
                ray.init(address="local", num_cpus=cores.available(), include_dashboard=False, **common)
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            if self._address:
                raise InputError(f"RAY_ADDRESS: could not join a Ray cluster at {self._address}: {error}") from None
            raise WorkError(f"could not start Ray: {error}") from None
        self._ray = ray

    def _compute(self, missing: dict[str, Cell], progress: Progress) -> Iterator[tuple[str, Outcome]]:
        self._connect()
        for kind in {cell.kind for cell in missing.values()}:
            self._check_satisfiable(kind)
        try:
            with StopFlag().catching() as stop:
                yield from self._drive(missing, progress, stop)
        except self._ray.exceptions.RaySystemError as error:
            raise WorkError(f"lost the Ray cluster: {error}; finished cells are kept, run again to continue") from None
        finally:
            self._refs.clear()  # the cluster's memory is for the inputs of cells that still run

    def _drive(self, missing: dict[str, Cell], progress: Progress, stop: StopFlag) -> Iterator[tuple[str, Outcome]]:
        """Keeps a bounded number of tasks in flight, passes their reports on, retries those whose worker died."""
        monitor = self._start_monitor()
        waiting = deque(missing)
        running: dict[Any, str] = {}
        attempts = dict.fromkeys(missing, 0)
        limit = max(1, int(IN_FLIGHT * self._ray.cluster_resources().get("CPU", 1)))
        idle_since = stop_since = time.monotonic()
        stopping = False
        while running or (waiting and not stopping):
            while waiting and len(running) < limit and not stopping:
                key = waiting.popleft()
                running[self._submit(key, missing[key], monitor)] = key
            ready, _ = self._ray.wait(list(running), num_returns=1, timeout=POLL_SECONDS)
            alive = self._pass_on(monitor, set(running.values()), missing, progress)
            if stop.is_set and not stopping:
                stopping, stop_since = True, time.monotonic()
                monitor.stop.remote()
                # cells that have not begun have nothing to checkpoint, and never begin if Ray got the signal as well
                begun = {r: key for r, key in running.items() if r in ready or missing[key].label in progress.running}
                waiting.extend(key for r, key in running.items() if r not in begun)
                running = begun
            if ready:
                idle_since = time.monotonic()
            while ready:
                reference = ready.pop()
                key = running.pop(reference)
                outcome = self._outcome(reference)
                self._pass_on(monitor, set(running.values()), missing, progress)
                if outcome.failure == "interrupted" and not stop.is_set:
                    # a signal to the worker alone, as a node that is taken away sends: as good as a death
                    outcome = Outcome(failure="fault", message=f"its worker was stopped ({outcome.message})")
                if outcome.failure == "fault" and not outcome.trace and attempts[key] < self.runtime.retries:
                    attempts[key] += 1
                    self.stats.retried += 1
                    self._append_log(key, [f"attempt {attempts[key]} lost: {outcome.message}"])
                    progress.retry(missing[key].label, outcome.message)
                    waiting.append(key)
                else:
                    yield key, outcome
                # a result fills the cluster's memory as long as something here refers to it
                del reference, outcome
            if progress.running:
                idle_since = time.monotonic()
            elif time.monotonic() - idle_since > UNSATISFIABLE_SECONDS:
                for kind in {missing[key].kind for key in running.values()}:
                    self._check_still_satisfiable(kind)
            if stopping and (not alive or time.monotonic() - stop_since > self.runtime.grace_seconds):
                break
        if stopping:
            for key in [*running.values(), *waiting]:
                yield key, Outcome(failure="interrupted", message="stopped")

    def _submit(self, key: str, cell: Cell, monitor: Any) -> Any:
        wanted = self.wanted(cell.kind)
        task = self._task(key, cell)
        buffers = [self._input(source) for source in cell.inputs.values()]
        options: dict[str, Any] = {"num_cpus": wanted.cpus, "num_gpus": wanted.gpus, "max_retries": 0}
        if wanted.memory_gb:
            options["memory"] = int(wanted.memory_gb * 2**30)
        if task.threads > 1:  # a process keeps its number of threads: other kinds of cells get others
            options["runtime_env"] = {**self._environment, "env_vars": {"AWT_THREADS": str(task.threads)}}
        remote = self._ray.remote(run_task).options(**options)
        return remote.remote(task, list(cell.inputs), monitor, *buffers)

    def _input(self, source: Source) -> Any:
        """A file in the object store, put there once however many cells read it."""
        if source.sha256 not in self._refs:
            # as an array, so that every worker of a node reads the same memory
            self._refs[source.sha256] = self._ray.put(np.frombuffer(read(source.path), np.uint8))
        return self._refs[source.sha256]

    def _outcome(self, reference: Any) -> Outcome:
        try:
            parcel: Parcel = self._ray.get(reference)
            return parcel.unwrap()
        except self._ray.exceptions.RayTaskError as error:
            return Outcome(failure="fault", message=str(error).splitlines()[-1], trace=str(error))
        except self._ray.exceptions.RayError as error:
            reason = next(iter(str(error).splitlines()), "")
            return Outcome(failure="fault", message=f"its worker was lost ({type(error).__name__}: {reason})")

    def _start_monitor(self) -> Any:
        """The monitor lives beside the driver: no other node's death takes the way to stop away."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = NodeAffinitySchedulingStrategy(self._ray.get_runtime_context().get_node_id(), soft=False)
        return self._ray.remote(Monitor).options(num_cpus=0, scheduling_strategy=here).remote()

    def _pass_on(self, monitor: Any, running: set[str], missing: dict[str, Cell], progress: Progress) -> bool:
        """Writes logs and shows progress; answers whether the monitor did."""
        try:
            events = self._ray.get(monitor.drain.remote(), timeout=5)
        except self._ray.exceptions.RayError:
            return False
        for key, lines, latest in events:
            self._append_log(key, lines)
            if key in running:
                progress.start(missing[key].label)
                if latest is not None:
                    progress.update(missing[key].label, latest)
        return True

    def _check_still_satisfiable(self, kind: str) -> None:
        try:
            self._check_satisfiable(kind)
        except InputError as error:
            raise WorkError(f"the nodes that could go on are gone: {error}; run again once they are back") from None

    def _check_satisfiable(self, kind: str) -> None:
        """A task that no node can ever run would wait for ever: say so instead."""
        wanted = self.wanted(kind)
        need = {"CPU": wanted.cpus, "GPU": wanted.gpus or 0, "memory": wanted.memory_gb * 2**30}
        nodes = [node["Resources"] for node in self._ray.nodes() if node["Alive"]]
        if any(all(node.get(name, 0) >= amount for name, amount in need.items()) for node in nodes):
            return
        asked = f"{wanted.cpus:g} CPUs, {wanted.gpus:g} GPUs, {wanted.memory_gb:g} GB"
        offered = "; ".join(
            f"{node.get('CPU', 0):g} CPUs, {node.get('GPU', 0):g} GPUs, {node.get('memory', 0) / 2**30:.1f} GB"
            for node in nodes
        )
        raise InputError(f"runtime.resources: a {kind} cell asks for {asked}, which no node has ({offered})")


def _check_reachable(address: str) -> None:
    """Ray waits long for an address that nobody listens on; a plain connection tells at once."""
    if address in ("auto", "local"):
        return
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=3):
            return
    except ValueError:
        raise InputError(f"RAY_ADDRESS: {address!r} is not host:port (the port of `ray start --head`)") from None
    except OSError as error:
        raise InputError(
            f"RAY_ADDRESS: no Ray cluster answers at {address} ({error}); start one with `ray start --head`, "
            "or unset RAY_ADDRESS to run on this machine"
        ) from None


def _check_health(address: str) -> None:
    """Whether it is Ray that listens: a client waits for minutes on a port that answers nothing.

    So the client is a process whose alarm ends it, set once Ray is imported, however long that took.
    """
    if address in ("auto", "local"):
        return
    client = (
        "import signal, sys; from ray._raylet import GcsClient; "
        f"signal.alarm({HEALTH_SECONDS}); GcsClient(address=sys.argv[1])"
    )
    asked = subprocess.run([sys.executable, "-c", client, address], capture_output=True, check=False)
    if asked.returncode != 0:
        raise InputError(f"RAY_ADDRESS: what listens at {address} is not a healthy Ray cluster")
