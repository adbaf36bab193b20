"""A driver's connection to Ray: the cluster at RAY_ADDRESS, or one started here; its nodes; whether it still is."""

import os
import socket
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import awt
from awt.errors import InputError, WorkError
from awt.runtime import cores
from awt.runtime.machines import Machine
from awt.runtime.options import Resources

HEALTH_SECONDS = 4  # for a cluster to say that it is one; a healthy one does in milliseconds
LOST_SECONDS = 15.0  # without a head; Ray itself ends the process, without a word of ours, after 60


class ClusterLostError(WorkError):
    """There is no cluster any more to ask."""


class Cluster:
    """Ray, once `connect` has been called; `ray` is its module, imported no sooner."""

    def __init__(self) -> None:
        self.address = os.environ.get("RAY_ADDRESS", "")
        self.ray: Any = None
        # workers elsewhere get this very code, whatever is installed on their machines
        self.environment = {"py_modules": [str(Path(awt.__file__).parent)]} if self.address else {}
        self._watch: Watch | None = None
        self._nodes: list[dict[str, Any]] = []
        self._names: dict[str, str] = {}
        if self.address:
            check_reachable(self.address)

    def connect(self) -> None:
        if self.ray is not None:
            return
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        import ray

        common: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "namespace": "awt"}
        try:
            if self.address:
                check_health(self.address)
                ray.init(address=self.address, runtime_env=self.environment, **common)
            else:
                ray.init(address="local", num_cpus=cores.available(), include_dashboard=False, **common)
            here = ray.get_runtime_context()
            beside = next(node for node in ray.nodes() if node["NodeID"] == here.get_node_id())
            self._watch = Watch(here.gcs_address, beside["RayletSocketName"])
        except (ConnectionError, RuntimeError, TimeoutError, ValueError) as error:
            if self.address:
                raise InputError(f"RAY_ADDRESS: could not join a Ray cluster at {self.address}: {error}") from None
            raise WorkError(f"could not start Ray: {error}") from None
        self.ray = ray

    def close(self, was_stopped: bool) -> None:
        """Lets go. Of a cluster that is lost, or may be since what stopped this process may have stopped it as well,
        Ray does so at the process's exit: it may end it on the way, before what there is to say is said."""
        if self._watch is None:
            return
        is_lost = self._watch.loss() != ""
        self._watch.close()
        if not is_lost and not was_stopped:
            self.ray.shutdown()
        self._watch = self.ray = None

    def check_alive(self) -> None:
        """To be asked before Ray is: what it does without the node beside it is to end this process, silently."""
        if self._watch is not None and (loss := self._watch.loss()):
            again = "once there is a cluster to continue" if self.address else "to continue"
            raise ClusterLostError(
                f"lost the Ray cluster: {loss}; finished cells and checkpoints are kept, run again {again}"
            )

    def nodes(self) -> list[dict[str, Any]]:
        """Ray's descriptions of the living nodes; the last ones while there is no head, which Ray would wait for."""
        if self._watch is None or listens(self._watch.address):
            self._nodes = [node for node in self.ray.nodes() if node["Alive"]]
        return self._nodes

    def cpus(self) -> float:
        return float(sum(node["Resources"].get("CPU", 0) for node in self.nodes()))

    def machines(self) -> list[Machine]:
        # Ray keeps a part of a node's memory for objects, which are cells' inputs and results
        return [
            Machine(node.get("CPU", 0), node.get("GPU", 0), node.get("memory", 0) + node.get("object_store_memory", 0))
            for node in (node["Resources"] for node in self.nodes())
        ]

    def gpus(self) -> list[str]:
        """The kinds of GPU that the nodes have, as far as Ray knows."""
        offered = self.ray.cluster_resources()
        kinds = [name.split(":", 1)[1] for name in offered if name.startswith("accelerator_type:")]
        return (kinds or ["unknown"]) if offered.get("GPU", 0) else []

    def name(self, node: str) -> str:
        """What a person calls a node, by its id: its host, else its address, else both it and the id's beginning;
        nothing where there is one node only."""
        if node not in self._names:
            nodes = self.nodes()
            hosts, addresses = (
                Counter(one[name] for one in nodes) for name in ("NodeManagerHostname", "NodeManagerAddress")
            )
            for one in nodes:
                host, address, key = one["NodeManagerHostname"], one["NodeManagerAddress"], one["NodeID"]
                short = host if hosts[host] == 1 else address if addresses[address] == 1 else f"{address}/{key[:6]}"
                self._names[key] = short if len(nodes) > 1 else ""
        return self._names.get(node, node[:6])

    def check_satisfiable(self, kind: str, wanted: Resources) -> None:
        """A task that no node can ever run would wait for ever: say so instead."""
        need = {"CPU": wanted.cpus, "GPU": wanted.gpus or 0, "memory": wanted.memory_gb * 2**30}
        nodes = [node["Resources"] for node in self.nodes()]
        if any(all(node.get(name, 0) >= amount for name, amount in need.items()) for node in nodes):
            return
        asked = f"{wanted.cpus:g} CPUs, {wanted.gpus:g} GPUs, {wanted.memory_gb:g} GB"
        offered = "; ".join(
            f"{node.get('CPU', 0):g} CPUs, {node.get('GPU', 0):g} GPUs, {node.get('memory', 0) / 2**30:.1f} GB"
            for node in nodes
        )
        raise InputError(f"runtime.resources: a {kind} cell asks for {asked}, which no node has ({offered})")

    def largest(self, wanted: Resources) -> float:
        """CPUs of the largest node that a cell fits on."""
        nodes = [node["Resources"] for node in self.nodes()]
        return max((node.get("CPU", 0) for node in nodes if node.get("GPU", 0) >= (wanted.gpus or 0)), default=0)


class Watch(threading.Thread):
    """Looks whether a cluster's head still listens, and whether the node beside this driver lives."""

    def __init__(self, address: str, beside: str) -> None:
        super().__init__(daemon=True)
        self.address = address
        self._missed = 0
        self._over = threading.Event()
        self._beside = socket.socket(socket.AF_UNIX)
        self._beside.connect(beside)  # the system closes it when the node's process dies, however it does
        self._beside.setblocking(False)
        self.start()

    def run(self) -> None:
        while not self._over.wait(1.0):
            self._missed = 0 if listens(self.address) else self._missed + 1

    def loss(self) -> str:
        """What is lost, if anything is."""
        try:
            if self._beside.recv(1, socket.MSG_PEEK) == b"":
                return "its node on this machine is gone"
        except BlockingIOError:
            pass  # it lives, and says nothing
        except OSError as error:
            return f"its node on this machine is gone ({error})"
        return (
            f"its head at {self.address} has not answered for {self._missed} s" if self._missed >= LOST_SECONDS else ""
        )

    def close(self) -> None:
        self._over.set()
        self.join()
        self._beside.close()


def listens(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=3):
            return True
    except OSError:
        return False


def check_reachable(address: str) -> None:
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


def check_health(address: str) -> None:
    """Whether it is Ray that listens: a client waits for minutes on a port that answers nothing.

    So the client is a process whose alarm ends it, set once Ray is imported, however long that took.
    """
    if address in ("auto", "local"):
        return
    client = (
        "import signal, sys; from ray._raylet import GcsClient; "
        f"signal.alarm({HEALTH_SECONDS}); GcsClient(address=sys.argv[1])"
    )
    asked = subprocess.run([sys.executable, "-c", client, address], capture_output=True, text=True, check=False)
    if "AuthenticationError" in asked.stderr:
        raise InputError(
            f"RAY_ADDRESS: the Ray cluster at {address} asks for a token: export RAY_AUTH_MODE=token, and its own as "
            "RAY_AUTH_TOKEN, or in a file that RAY_AUTH_TOKEN_PATH names (~/.ray/auth_token unless said)"
        )
    if asked.returncode != 0:
        raise InputError(f"RAY_ADDRESS: what listens at {address} is not a healthy Ray cluster")
