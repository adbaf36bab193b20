"""Asking every node of the cluster how it is, by a task that takes no CPU and so need not wait for one."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from awt.doctor.judge import Node
from awt.doctor.look import Place, look


def ask_nodes(packages: Sequence[str], store: Place | None, use_gpus: bool, seconds: float) -> list[Node]:
    """The living nodes and their answers; the process has joined the cluster already."""
    import ray

    alive = [node for node in ray.nodes() if node["Alive"]]
    asked = time.time()
    tasks = [
        _pinned(ray, node["NodeID"]).remote(packages, store, bool(use_gpus and node["Resources"].get("GPU", 0)))
        for node in alive
    ]
    waiting, answers = list(tasks), dict[Any, tuple[Any, str, float]]()
    until = time.monotonic() + seconds
    while waiting and time.monotonic() < until:
        ready, waiting = ray.wait(waiting, num_returns=1, timeout=max(0.0, until - time.monotonic()))
        answers |= {task: (*_answer(ray, task), time.time()) for task in ready}
    for task in waiting:
        ray.cancel(task, force=True)
    late = (None, f"no answer within {seconds:g} s", 0.0)
    return [_node(node, asked, *answers.get(task, late)) for node, task in zip(alive, tasks, strict=True)]


def _pinned(ray: Any, node: str) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node, soft=False)
    return ray.remote(look).options(num_cpus=0, max_retries=0, scheduling_strategy=there)


def _answer(ray: Any, task: Any) -> tuple[Mapping[str, Any] | None, str]:
    try:
        return ray.get(task), ""
    except ray.exceptions.RayError as error:
        lines = [line for line in str(error).splitlines() if line.strip()] or [""]
        told = lines[-1] if isinstance(error, ray.exceptions.RayTaskError) else lines[0]
        return None, f"{type(error).__name__}: {told.strip()}"


def _node(node: Mapping[str, Any], asked: float, looks: Any, error: str, answered: float) -> Node:
    name = f"{node['NodeManagerAddress']} ({node['NodeID'][:6]})"
    return Node(name, node["Resources"], looks, error, asked, answered)
