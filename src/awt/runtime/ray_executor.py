"""Cells as Ray tasks, on the cluster at RAY_ADDRESS or on one started here when the first cell must be computed."""

import time
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from awt.artifacts import read
from awt.errors import InputError, WorkError
from awt.runtime import device
from awt.runtime.cell import Cell, Source
from awt.runtime.code import user_modules
from awt.runtime.context import StopFlag
from awt.runtime.executor import Executor
from awt.runtime.machines import Machine
from awt.runtime.options import Runtime
from awt.runtime.pace import Pace
from awt.runtime.progress import Progress
from awt.runtime.ray_cluster import Cluster, ClusterLostError
from awt.runtime.ray_tasks import Event, Monitor, Parcel, run_task
from awt.runtime.store import Store
from awt.runtime.worker import Outcome

IN_FLIGHT = 4  # times the cluster's slots: enough to keep workers busy, few enough to bound the results that wait
POLL_SECONDS = 0.25
SIZE_SECONDS = 10.0  # between looks at how large the cluster is
MONITOR_SECONDS = 60.0  # for the monitor to start
UNSATISFIABLE_SECONDS = 30.0  # how long a vanished node may stay away


class RayExecutor(Executor):
    def __init__(self, stage: str, runtime: Runtime, store: Store) -> None:
        super().__init__(stage, runtime, store)
        self.cluster = Cluster()
        self._refs: dict[str, Any] = {}
        self._functions: dict[tuple[str, int, tuple[str, ...]], Any] = {}
        self._monitor: Any = None
        self._was_stopped = False

    def close(self) -> None:
        self._functions.clear()
        self._monitor = None
        self.cluster.close(self._was_stopped)

    def _platform(self) -> str:
        if self.runtime.device == "cpu":
            return "cpu"
        if not self.is_cluster:
            return device.platform(self.runtime.device, device.local_gpus(), "this machine")
        self.cluster.connect()
        return device.platform(self.runtime.device, self.cluster.gpus(), f"the cluster at {self.cluster.address}")

    @property
    def is_cluster(self) -> bool:
        return bool(self.cluster.address)

    def machines(self) -> list[Machine]:
        if not self.is_cluster:
            return super().machines()
        self.cluster.connect()
        return self.cluster.machines()

    def _compute(self, missing: dict[str, Cell], progress: Progress) -> Iterator[tuple[str, Outcome]]:
        self.cluster.connect()
        for kind in {cell.kind for cell in missing.values()}:
            self.cluster.check_satisfiable(kind, self.wanted(kind))
        try:
            with StopFlag().catching() as stop:
                try:
                    yield from Flight(self, missing, progress, stop).outcomes()
                finally:
                    self._was_stopped = stop.is_set
        except self.cluster.ray.exceptions.RaySystemError as error:
            raise WorkError(f"lost the Ray cluster: {error}; finished cells are kept, run again to continue") from None
        finally:
            self._refs.clear()  # the cluster's memory is for the inputs of cells that still run

    def submit(self, key: str, cell: Cell, monitor: Any, room: int) -> Any:
        buffers = [self._input(source) for source in cell.inputs.values()]
        own = tuple(map(str, user_modules(cell.functions))) if self.is_cluster else ()
        return self._function(cell.kind, room, own).remote(self._task(key, cell), list(cell.inputs), monitor, *buffers)

    def _function(self, kind: str, room: int, own: tuple[str, ...]) -> Any:
        """The remote function of a kind of cells, which asks for `room` times the CPUs that one needs, or for a whole
        node's; elsewhere than here, Ray brings the user's `own` modules along."""
        if (kind, room, own) not in self._functions:
            wanted = self.wanted(kind)
            cpus = max(wanted.cpus, min(room * wanted.cpus, self.cluster.largest(wanted)))
            options: dict[str, Any] = {"num_cpus": cpus, "num_gpus": wanted.gpus, "max_retries": 0}
            if wanted.memory_gb:
                options["memory"] = int(wanted.memory_gb * 2**30)
            if (threads := self.threads(kind)) > 1:  # a process keeps its number of threads: other kinds get others
                options["runtime_env"] = {**self.cluster.environment, "env_vars": {"AWT_THREADS": str(threads)}}
            if own:
                modules = [*self.cluster.environment["py_modules"], *own]
                options["runtime_env"] = {**options.get("runtime_env", {}), "py_modules": modules}
            # not by .options(): only so does Ray end the process of a cell on a GPU, which JAX would hold on to
            self._functions[kind, room, own] = self.cluster.ray.remote(**options)(run_task)
        return self._functions[kind, room, own]

    def _input(self, source: Source) -> Any:
        """A file in the object store, put there once however many cells read it."""
        if source.sha256 not in self._refs:
            # as an array, so that every worker of a node reads the same memory
            self._refs[source.sha256] = self.cluster.ray.put(np.frombuffer(read(source.path), np.uint8))
        return self._refs[source.sha256]

    def monitor(self) -> Any:
        """One for all runs, as a process takes its time to start; beside the driver, so that no other node's death
        takes the way to stop away."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        ray = self.cluster.ray
        if self._monitor is None:
            here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
            self._monitor = ray.remote(Monitor).options(num_cpus=0, scheduling_strategy=here).remote()
        return self._monitor

    def forget_monitor(self) -> None:
        """After its death: the next run has another."""
        self._monitor = None

    def check_still_satisfiable(self, kind: str) -> None:
        try:
            self.cluster.check_satisfiable(kind, self.wanted(kind))
        except InputError as error:
            raise WorkError(f"the nodes that could go on are gone: {error}; run again once they are back") from None


@dataclass(frozen=True)
class Attempt:
    """A cell in flight, and the room that it was given."""

    key: str
    room: int


class Flight:
    """Cells on their way through a cluster: a bounded number at a time, their reports passed on, the lost ones
    retried."""

    def __init__(self, executor: RayExecutor, missing: dict[str, Cell], progress: Progress, stop: StopFlag) -> None:
        self._executor, self._missing, self._progress, self._stop = executor, missing, progress, stop
        self._cluster, self._ray = executor.cluster, executor.cluster.ray
        self._monitor = executor.monitor()
        self._waiting = deque(missing)
        self._running: dict[Any, Attempt] = {}
        self._losses = dict.fromkeys(missing, 0)
        self._room: dict[str, int] = defaultdict(lambda: 1)  # by kind; more once one ran out of memory
        self._pace = Pace()
        self._limit, self._sized = 1, float("-inf")
        self._passed_on = self._busy = time.monotonic()

    def outcomes(self) -> Iterator[tuple[str, Outcome]]:
        """Those of all cells; after a stop, of some that they were stopped."""
        left = dict.fromkeys(self._missing)
        try:
            for key, outcome in self._fly():
                del left[key]
                yield key, outcome
        except ClusterLostError:
            if not self._stop.is_set:  # else Ray got the signal as well
                raise
        for key in left:
            yield key, Outcome(failure="interrupted", message="stopped")

    def _fly(self) -> Iterator[tuple[str, Outcome]]:
        self._fill()  # so that workers and monitor start at the same time
        self._await_monitor()
        while self._running or (self._waiting and not self._stop.is_set):
            self._fill()
            ready = self._wait()
            if not ready or time.monotonic() - self._passed_on > POLL_SECONDS:
                self._pass_on()
                self._tell_laggards()
            if self._stop.is_set:
                yield from self._come_down(ready)
                return
            while ready:
                yield from self._land(ready.pop())
            self._check_going()

    def _await_monitor(self) -> None:
        """Without it nobody would hear of the cells, nor they of a stop."""
        deadline = time.monotonic() + MONITOR_SECONDS
        answer = self._monitor.report.remote(Event("", "", [], None))
        while not self._stop.is_set and time.monotonic() < deadline:
            self._cluster.check_alive()
            if self._ray.wait([answer], timeout=POLL_SECONDS)[0]:
                return

    def _fill(self) -> None:
        if time.monotonic() - self._sized > SIZE_SECONDS:  # nodes come and go
            self._sized = time.monotonic()
            self._limit = max(1, int(IN_FLIGHT * self._cluster.cpus()))
        while self._waiting and len(self._running) < self._limit:
            key = self._waiting.popleft()
            attempt = Attempt(key, self._room[self._missing[key].kind])
            self._cluster.check_alive()
            self._running[self._executor.submit(key, self._missing[key], self._monitor, attempt.room)] = attempt

    def _wait(self) -> list[Any]:
        """All tasks that are done, as soon as some are: on a large cluster, where many wait at its workers, more than
        one, as looking at all of them takes its time."""
        self._cluster.check_alive()
        references = list(self._running)
        some = min(len(references), max(1, self._limit // IN_FLIGHT**2))
        ready, others = self._ray.wait(references, num_returns=some, timeout=POLL_SECONDS)
        if ready and others:
            ready += self._ray.wait(others, num_returns=len(others), timeout=0)[0]
        return ready

    def _land(self, reference: Any) -> Iterator[tuple[str, Outcome]]:
        """The outcome of a task that is done, unless it must be tried again."""
        self._cluster.check_alive()
        attempt = self._running.pop(reference)
        cell, outcome = self._missing[attempt.key], self._outcome(attempt.key, reference)
        self._busy = time.monotonic()
        if outcome.failure == "interrupted" and not self._stop.is_set:
            # a signal to the worker alone, as a node that is taken away sends: as good as a death
            outcome = Outcome(failure="lost", message=f"its worker was stopped ({outcome.message})")
        if outcome.failure not in ("lost", "memory"):
            self._pace.finish(attempt.key, cell, outcome.seconds)
            yield attempt.key, outcome
            return
        self._pace.forget(attempt.key)
        self._losses[attempt.key] += 1
        self._executor.append_log(attempt.key, [f"attempt {self._losses[attempt.key]} lost: {outcome.message}"])
        if outcome.failure == "memory":
            self._make_room(attempt, cell.kind)
        if self._losses[attempt.key] <= self._executor.runtime.retries:
            self._executor.stats.retried += 1
            self._progress.retry(cell.label, outcome.message)
            self._waiting.append(attempt.key)
        else:
            yield attempt.key, replace(outcome, message=self._given_up(attempt.key, outcome))

    def _make_room(self, attempt: Attempt, kind: str) -> None:
        """After a cell ran out of memory fewer of its kind run beside each other; those that did before it was known
        do not count again."""
        if attempt.room == self._room[kind]:
            self._room[kind] *= 2
            self._progress.say(
                f"{kind} cells get {self._room[kind]} times the CPUs that they ask for, so that fewer run at once"
            )

    def _given_up(self, key: str, outcome: Outcome) -> str:
        losses, kind = self._losses[key], self._missing[key].kind
        often = f"on each of {losses} attempts" if losses > 1 else "and is not retried (runtime.retries is 0)"
        advice = ""
        if outcome.failure == "memory":
            advice = (
                f"; say with runtime.resources.{kind}.memory_gb what it needs, so that fewer run beside it, "
                "or add nodes with more memory"
            )
        elif self._ray.exceptions.WorkerCrashedError.__name__ in outcome.message:
            advice = f"; the system kills for want of memory without a word: see runtime.resources.{kind}.memory_gb"
        return f"{outcome.message}, {often}{advice}"

    def _outcome(self, key: str, reference: Any) -> Outcome:
        exceptions = self._ray.exceptions
        try:
            parcel: Parcel = self._ray.get(reference)
        except exceptions.RayTaskError as error:
            return Outcome(failure="fault", message=str(error).splitlines()[-1], trace=str(error))
        except exceptions.OutOfMemoryError as error:
            return Outcome(failure="memory", message=f"its worker ran out of memory ({_first_line(error)})")
        except exceptions.RayError as error:
            message = f"its worker was lost ({type(error).__name__}: {_first_line(error)})"
            return Outcome(failure="lost", message=message)
        if parcel.has_spoken:
            self._pass_on()  # what it said before comes first
        self._executor.append_log(key, list(parcel.lines))
        return replace(parcel.unwrap(), node=self._cluster.name(parcel.node))

    def _pass_on(self) -> bool:
        """Writes logs and shows progress; answers whether the monitor did."""
        self._cluster.check_alive()
        self._passed_on = time.monotonic()
        try:
            events = self._ray.get(self._monitor.drain.remote(), timeout=5)
        except self._ray.exceptions.ActorDiedError:
            self._executor.forget_monitor()
            return False
        except self._ray.exceptions.RayError:
            return False
        running = {attempt.key for attempt in self._running.values()}
        for event in events:
            self._executor.append_log(event.key, event.lines)
            if event.key in running:
                cell = self._missing[event.key]
                self._pace.begin(event.key, cell, self._passed_on)
                self._progress.start(cell.label, self._cluster.name(event.node))
                if event.progress is not None:
                    self._progress.update(cell.label, event.progress)
        return True

    def _tell_laggards(self) -> None:
        for key, seconds, median in self._pace.lagging(time.monotonic()):
            self._progress.lag(self._missing[key].label, seconds, median)

    def _check_going(self) -> None:
        """Ends the run when nothing can go on, without a node that has what is asked for."""
        if self._progress.running:
            self._busy = time.monotonic()
        elif time.monotonic() - self._busy > UNSATISFIABLE_SECONDS:
            for kind in {self._missing[attempt.key].kind for attempt in self._running.values()}:
                self._executor.check_still_satisfiable(kind)

    def _come_down(self, ready: list[Any]) -> Iterator[tuple[str, Outcome]]:
        """Asks the cells that have begun to stop, and waits until they have, for as long as is granted.

        Those that have not begun have nothing to checkpoint, and never begin if Ray got the signal as well.
        """
        self._monitor.stop.remote()
        since, begun = time.monotonic(), set(self._progress.running)
        for reference, attempt in list(self._running.items()):
            if reference not in ready and self._missing[attempt.key].label not in begun:
                del self._running[reference]
        while self._running:
            while ready:
                reference = ready.pop()
                key = self._running.pop(reference).key
                outcome = self._outcome(key, reference)
                if outcome.failure not in ("lost", "memory"):  # as it is if Ray got the signal as well
                    yield key, outcome
            alive = self._pass_on()
            if not alive or time.monotonic() - since > self._executor.runtime.grace_seconds:
                return
            ready = self._wait() if self._running else []


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")
