"""All checks in turn: the repository, this machine, then the cluster, each whatever became of those before."""

import os
import tempfile
import uuid
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from awt.doctor import here
from awt.doctor.finding import Finding, guarded
from awt.doctor.judge import NUMERIC_PACKAGES, judge_devices, judge_looks, judge_memory, judge_node, judge_processors
from awt.doctor.look import Place, look
from awt.doctor.nodes import ask_nodes
from awt.errors import AwtError
from awt.lineage.repository import find_repository
from awt.lineage.versions import PACKAGES
from awt.planning.schedule import slots
from awt.runtime.code import code_of
from awt.runtime.executor import Executor, open_executor
from awt.runtime.machines import Machine
from awt.runtime.options import Runtime
from awt.runtime.store import Store
from awt.workflows.code import functions_of
from awt.workflows.experiment import Experiment, experiment

COMPARED = tuple(name for name in PACKAGES if name != "awt")  # nodes get this very code

T = TypeVar("T")


def examine(node_seconds: float) -> Iterator[Finding]:
    """Findings on the experiment in the current folder; nodes have so many seconds to answer."""
    asked, wrong = _attempt(experiment)
    yield Finding("params", "FAIL", wrong) if wrong else Finding("params", "ok", "params.yaml is valid")
    repository = asked.repository if asked else _attempt(lambda: find_repository(Path.cwd()))[0] or Path()
    yield from guarded("packages", lambda: here.check_lock(repository))
    yield from guarded("python", here.check_python)
    yield from guarded("git", lambda: here.check_git(repository))
    yield from guarded("dvc", lambda: here.check_dvc(repository))
    store = None
    if asked is not None:
        valid = asked
        yield from guarded("data", lambda: here.check_data(valid))
        store, findings = here.find_store(valid)
        yield from findings
    else:
        yield Finding("data", "warning", "neither it nor the store was looked at, since params.yaml is not valid")
    yield from guarded("cluster", lambda: _machines(asked, store, node_seconds))


def decisive(asked: Experiment) -> frozenset[str]:
    """The packages whose versions are in the keys of an experiment's cells: a node with others refuses the cells."""
    stages, values = asked.workflow.stages, asked.workflow.effective(asked.params)
    drivers = {name for stage in stages for name in (stage.run, stage.foresee)}
    return frozenset(
        code_of({name for stage in stages for name in functions_of(stage, values)} - drivers).distributions
    )


def _machines(asked: Experiment | None, store: Store | None, node_seconds: float) -> Iterator[Finding]:
    """This machine, and those of the cluster if there is one."""
    yield from judge_looks(look(()))
    runtime = asked.runtime if asked else Runtime()
    with tempfile.TemporaryDirectory() as scratch:
        executor = open_executor("doctor", runtime, Store(Path(scratch)))
        try:
            machines = executor.machines()
            yield Finding("cluster", "ok", _place(executor, machines))
            platform, wrong = _attempt(lambda: executor.surroundings.platform)
            yield Finding("device", "FAIL", wrong) if wrong else Finding("device", "ok", f"cells run on {platform}")
            use_gpus = platform not in (None, "cpu")
            if executor.is_cluster:
                machines = yield from _nodes(asked, store, use_gpus, node_seconds)
            else:
                yield from _alone(asked, machines[0], use_gpus)
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


def _alone(asked: Experiment | None, machine: Machine, use_gpus: bool) -> Iterator[Finding]:
    if use_gpus:
        yield from judge_devices(machine.gpus, look((), ask_jax=True)["jax"])
    if asked is not None:
        yield from judge_memory(machine.cpus, machine.memory, asked)


def _nodes(
    asked: Experiment | None, store: Store | None, use_gpus: bool, seconds: float
) -> Generator[Finding, None, list[Machine]]:
    """Findings on every node; returns what they offer to cells."""
    in_keys: Collection[str] = decisive(asked) if asked else NUMERIC_PACKAGES
    packages = sorted({*COMPARED, *in_keys})
    own = look(packages)
    with _marked(store) as place:
        nodes = ask_nodes(packages, place, use_gpus, seconds)
    for node in nodes:
        for finding in judge_node(node, own, asked, in_keys):
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
    kinds = {"default": "a", **{kind: f"a {kind}" for kind in executor.runtime.resources if kind != "default"}}
    satisfied = {kind: slots(machines, executor.wanted(kind)) for kind in kinds}
    for kind, number in satisfied.items():
        if not number:
            wanted = executor.wanted(kind)
            amounts = f"{wanted.cpus:g} CPUs, {wanted.gpus:g} GPUs, {wanted.memory_gb:g} GB"
            there = "; ".join(f"{one.cpus:g} CPUs, {one.gpus:g} GPUs, {one.memory / 2**30:.1f} GB" for one in machines)
            yield Finding(
                "resources",
                "FAIL",
                f"runtime.resources: {kinds[kind]} cell asks for {amounts}, which no machine has ({there}): ask for "
                "less",
            )
    if all(satisfied.values()):
        yield Finding("resources", "ok", f"{min(satisfied.values())} cells or more of every kind run at once")


def _attempt(answer: Callable[[], T]) -> tuple[T | None, str]:
    """A value, or what is wrong with what it is made from."""
    try:
        return answer(), ""
    except AwtError as error:
        return None, str(error)
