"""Real Ray clusters: a head and further nodes, each a set of processes of its own, on this machine."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

import awt

# a node whose processes are gone, which refuses the head's call at once, is noticed within two seconds; one that is
# only slow to answer is not given up
HEALTH = {"health_check_period_ms": 500, "health_check_failure_threshold": 2}
STARTS = 4
TRIAL = Path(__file__).parent / "trial"


@pytest.fixture(scope="module")
def make_cluster(compilation_cache: dict[str, str]) -> Iterator[Callable[..., Any]]:
    """Makes clusters of a head without CPUs."""
    from ray.cluster_utils import Cluster

    class Patient(Cluster):  # type: ignore[misc]
        """A cluster whose nodes may be slow to start: Ray gives one 30 seconds, few for a machine with much to do."""

        def add_node(self, *arguments: Any, **resources: Any) -> Any:
            for _ in range(STARTS - 1):
                try:
                    return super().add_node(*arguments, **resources)
                except Exception as error:
                    if "timed out during startup" not in str(error):
                        raise
            return super().add_node(*arguments, **resources)

    made = []
    with pytest.MonkeyPatch.context() as patch:
        for name, value in compilation_cache.items():  # workers have the environment of their node
            patch.setenv(name, value)

        def make(settings: dict[str, Any] | None = None, **head: Any) -> Any:
            asked = {"num_cpus": 0, "include_dashboard": False, "_system_config": HEALTH | (settings or {}), **head}
            made.append(Patient(initialize_head=True, head_node_args=asked))
            return made[-1]

        yield make
        for cluster in made:
            cluster.shutdown()


@pytest.fixture(scope="module")
def head(make_cluster: Callable[..., Any]) -> Any:
    return make_cluster()


@pytest.fixture
def cluster(head: Any) -> Any:
    """The cluster with two living nodes of one CPU each, whatever a test before did to them."""
    while len(head.worker_nodes) < 2:
        head.add_node(num_cpus=1)
    head.wait_for_nodes()
    return head


@pytest.fixture
def workspace(finished: Any, copy_of: Callable[..., Any], cluster: Any) -> Any:
    """A repository with no cell computed, which uses the cluster."""
    workspace = copy_of(finished)
    workspace.command("rm", "-rf", ".awt")
    workspace.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": cluster.address}
    workspace.edit({"runtime.checkpoint_seconds": 0})
    return workspace


@pytest.fixture(scope="session")
def change() -> Callable[..., None]:
    """Changes a line of a copy of the code."""

    def change(folder: Path, file: str, before: str, after: str) -> None:
        path = folder / "src" / "awt" / file
        code = path.read_text()
        assert code.count(before) == 1
        path.write_text(code.replace(before, after))

    return change


@pytest.fixture(scope="session")
def raylet() -> Callable[[Any], psutil.Process]:
    """The process of a node that starts the others."""
    return lambda node: psutil.Process(node.all_processes["raylet"][0].process.pid)


@dataclass
class Trial:
    """A copy of awt with cells that misbehave, and a driver that runs them."""

    path: Path
    address: str = ""

    def cell(self, function: str, name: str, kind: str = "default", **params: Any) -> dict[str, Any]:
        if function == "hold":
            params = {"marks": str(self.path / "marks"), "name": name, "seconds": 0.0, "share": 0, **params}
        return {"kind": kind, "label": f"{function} {name}", "function": function, "params": params}

    def run(self, cells: list[dict[str, Any]], meanwhile: dict[str, str] | None = None, **runtime: Any) -> Any:
        asked = {"cells": cells, "runtime": {"device": "cpu"} | runtime, "meanwhile": meanwhile or {}}
        environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
        environment |= {"PYTHONPATH": str(self.path / "src")} | ({"RAY_ADDRESS": self.address} if self.address else {})
        return subprocess.run(
            [sys.executable, "driver.py"],
            cwd=self.path,
            env=environment,
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def entries(self) -> list[Path]:
        return [self.path / folder for folder in json.loads((self.path / "entries.json").read_text())]

    def stats(self) -> dict[str, Any]:
        return json.loads((self.path / "stats.json").read_text())


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    shutil.copytree(Path(awt.__file__).parent, tmp_path / "src" / "awt", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(TRIAL / "cells.py", tmp_path / "src" / "awt" / "trial.py")
    shutil.copy(TRIAL / "driver.py", tmp_path / "driver.py")
    (tmp_path / "marks").mkdir()
    return Trial(tmp_path)
