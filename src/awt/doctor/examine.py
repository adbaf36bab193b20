"""All checks in turn: the repository, this machine, then the cluster, each whatever became of those before."""

import os
import tempfile
import uuid
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar, get_args

from awt import params
from awt.doctor import here
from awt.doctor.finding import Finding, guarded
from awt.doctor.judge import judge_devices, judge_looks, judge_memory, judge_node, judge_processors
from awt.doctor.look import Place, look
from awt.doctor.nodes import ask_nodes
from awt.errors import AwtError
from awt.lineage.records import PACKAGES
from awt.lineage.repository import find_repository
from awt.params import CellKind, Params
from awt.planning.schedule import slots
from awt.runtime.executor import Executor, open_executor
from awt.runtime.machines import Machine
from awt.runtime.store import Store
from awt.workflows.running import runtime_of

COMPARED = tuple(name for name in PACKAGES if name != "awt")  # nodes get this very code
KINDS: tuple[str, ...] = get_args(CellKind)

Found = TypeVar("Found")


def examine(node_seconds: float) -> Iterator[Finding]:
    """Findings on the experiment in the current folder; nodes have so many seconds to answer."""
    parameters, wrong = _attempt(params.load)
    yield Finding("params", "FAIL", wrong) if wrong else Finding("params", "ok", "params.yaml is valid")
    repository = Path(parameters.root) if parameters else _attempt(lambda: find_repository(Path.cwd()))[0] or Path()
    yield from guarded("packages", lambda: here.check_lock(repository))
    yield from guarded("python", here.check_python)
    yield from guarded("git", lambda: here.check_git(repository))
    yield from guarded("dvc", lambda: here.check_dvc(repository))
    store = None
    if parameters is not None:
        known = parameters
        yield from guarded("data", lambda: here.check_data(known))
        store, findings = here.find_store(known)
        yield from findings
    else:
        yield Finding("data", "warning", "neither it nor the store was looked at, since params.yaml is not valid")
    yield from guarded("cluster", lambda: _machines(parameters, store, node_seconds))


def _machines(parameters: Params | None, store: Store | None, node_seconds: float) -> Iterator[Finding]:
    """This machine, and those of the cluster if there is one."""
    yield from judge_looks(look(()))
    runtime = runtime_of(parameters) if parameters else params.Runtime()
    with tempfile.TemporaryDirectory() as scratch:
        executor = open_executor("doctor", runtime, Store(Path(scratch)), "")
        try:
            machines = executor.machines()
            yield Finding("cluster", "ok", _place(executor, machines))
            platform, wrong = _attempt(lambda: executor.surroundings.platform)
            yield Finding("device", "FAIL", wrong) if wrong else Finding("device", "ok", f"cells run on {platform}")
            use_gpus = platform not in (None, "cpu")
            if executor.is_cluster:
                machines = yield from _nodes(parameters, store, use_gpus, node_seconds)
            else:
                yield from _alone(parameters, machines[0], use_gpus)
            if platform is not None:
                yield from _resources(executor, machines)
        finally:
            executor.close()


def _place(executor: Executor, machines: Sequence[Machine]) -> str:
    cpus, gpus = sum(one.cpus for one in machines), sum(one.gpus for one in machines)
    if executor.is_cluster:
        return f"{os.environ['RAY_ADDRESS']}: {len(machines)} nodes, {cpus:g} CPUs, {gpus:g} GPUs"
    how = "a local Ray" if executor.runtime.executor == "ray" else "this process alone"
    return f"none: cells run on {how}, with {cpus:g} CPUs, {gpus:g} GPUs"


def _alone(parameters: Params | None, machine: Machine, use_gpus: bool) -> Iterator[Finding]:
    if use_gpus:
        yield from judge_devices(machine.gpus, look((), ask_jax=True)["jax"])
    if parameters is not None:
        yield from judge_memory(machine.cpus, machine.memory, parameters)


def _nodes(
    parameters: Params | None, store: Store | None, use_gpus: bool, seconds: float
) -> Generator[Finding, None, list[Machine]]:
    """Findings on every node; returns what they offer to cells."""
    own = look(COMPARED)
    with _marked(store) as place:
        nodes = ask_nodes(COMPARED, place, use_gpus, seconds)
    for node in nodes:
        for finding in judge_node(node, own, parameters):
            yield finding._replace(where=node.name)
    if not use_gpus:
        yield from judge_processors(nodes)
    offers = [node.resources for node in nodes]
    return [Machine(offer.get("CPU", 0), offer.get("GPU", 0), offer.get("memory", 0)) for offer in offers]


@contextmanager
def _marked(store: Store | None) -> Iterator[Place | None]:
    """The store with a file in its folder by which those who share it know it."""
    if store is None:
        yield None
        return
    mark = store.root / f".doctor-{uuid.uuid4().hex}"
    with suppress(OSError):  # nobody sees it, then; that the store cannot be written to was said before
        mark.touch()
    try:
        yield Place(str(store.root.absolute()), mark.name, store.remote.url if store.remote else None)
    finally:
        mark.unlink(missing_ok=True)


def _resources(executor: Executor, machines: Sequence[Machine]) -> Iterator[Finding]:
    """Ray lets a cell that no node can ever run wait for ever."""
    satisfied = {kind: slots(machines, executor.wanted(kind)) for kind in KINDS}
    for kind, number in satisfied.items():
        if not number:
            wanted = executor.wanted(kind)
            asked = f"{wanted.cpus:g} CPUs, {wanted.gpus:g} GPUs, {wanted.memory_gb:g} GB"
            there = "; ".join(f"{one.cpus:g} CPUs, {one.gpus:g} GPUs, {one.memory / 2**30:.1f} GB" for one in machines)
            yield Finding(
                "resources",
                "FAIL",
                f"runtime.resources: a {kind} cell asks for {asked}, which no machine has ({there}): ask for less",
            )
    if all(satisfied.values()):
        yield Finding("resources", "ok", f"{min(satisfied.values())} cells or more of every kind run at once")


def _attempt(found: Callable[[], Found]) -> tuple[Found | None, str]:
    """A value, or what is wrong with what it is made from."""
    try:
        return found(), ""
    except AwtError as error:
        return None, str(error)
