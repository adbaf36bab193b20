"""A Gram matrix larger than any process may be: tiles on several nodes, one of which dies, within a memory budget."""

import os
import re
import sys
import threading
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.sparse.linalg import eigsh

from awt.artifacts import read_json
from awt.data.dataset import Description, decode_first
from awt.kernels.diagnostics import largest
from awt.kernels.exact import tangent_kernel
from awt.kernels.tiles import Gram, as_matrix
from awt.models.architecture import build
from awt.models.network import decode_weights
from awt.models.registry import resolved
from awt.workflows.experiment import experiment

COMMAND = (sys.executable, "-c", "from awt.commands.main import main; main()", "gram")
GB = 10**9


class Watch(threading.Thread):
    """The most private memory that any descendant of this process was seen with, by its command."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most = {}
        self._over = threading.Event()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join()

    def run(self):
        while not self._over.wait(0.05):
            for process in descendants(os.getpid()):
                try:
                    name = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:60]
                    found = private_bytes(process)
                except OSError:  # it ended, or is about to
                    continue
                self.most[name] = max(found, self.most.get(name, 0))


def private_bytes(process):
    """Memory that is this process's alone."""
    text = Path(f"/proc/{process}/smaps_rollup").read_text()
    return 1024 * sum(map(int, re.findall(r"^Private_(?:Clean|Dirty): *(\d+) kB", text, re.MULTILINE)))


def descendants(root):
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {process for process, parent in parents.items() if parent in found}
    return found - {root}


def awt_gram(workspace, cluster, arguments, tiles_before_loss):
    """Runs `awt gram` on a cluster and, once there are some tiles, kills one of the nodes; returns what it printed."""
    workspace.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": cluster.address}
    before = {name: in_store(workspace, name) for name in ("plan.json", "tile.npy")}
    process = workspace.start(*COMMAND, *arguments)
    workspace.wait_for(lambda: in_store(workspace, "plan.json") - before["plan.json"], process)
    workspace.wait_for(lambda: in_store(workspace, "tile.npy") - before["tile.npy"] >= tiles_before_loss, process)
    cluster.remove_node(next(iter(cluster.worker_nodes)), allow_graceful=False)  # SIGKILL for each of its processes
    output = workspace.output(process)
    assert process.returncode == 0, output
    return output


def in_store(workspace, name):
    return len(list((workspace.path / ".awt" / "store" / "cells").glob(f"??/*/{name}")))


def kernel_in_one_go(workspace, count):
    """Of the dense network at initialisation, on the first training points."""
    artifacts = workspace.folder / "artifacts"
    data = Description.of(read_json(artifacts / "data" / "dataset.json"))
    network = build(resolved(experiment(workspace.folder).params.model), data)
    weights = decode_weights((artifacts / "initial" / "seed-0.npz").read_bytes(), "seed-0.npz")
    x, _ = decode_first((artifacts / "data" / "dataset.npz").read_bytes(), "dataset.npz", "train", count)
    kernel = jax.jit(lambda weights, x: tangent_kernel(network, weights, x, x, shape="full"))  # no constants to fold
    return np.asarray(kernel(weights, x))


def test_nodes_give_the_bytes_of_a_serial_run_within_their_memory(finished, copy_of, cluster):
    arguments = ("--classes", "full", "--count", "200", "--memory-gb", "1.0e-3", "--out")
    serial, workspace = copy_of(finished), copy_of(finished)
    done = serial.command(*COMMAND, *arguments, "gram")
    assert done.returncode == 0, done.stderr
    with Watch() as watch:
        awt_gram(workspace, cluster, [*arguments, "gram"], tiles_before_loss=1)
    assert len(Gram(workspace.path / "gram").index.as_json()["tiles"]) > 20
    names = sorted(path.name for path in (serial.path / "gram").iterdir())
    assert names == sorted(path.name for path in (workspace.path / "gram").iterdir())
    for name in names:
        assert (serial.path / "gram" / name).read_bytes() == (workspace.path / "gram" / name).read_bytes()
    assert max(watch.most.values()) < 0.6 * GB, watch.most


@pytest.mark.slow
def test_a_gram_matrix_of_thousands_of_points_within_their_memory(fresh, cluster):
    """2,000 points and all 10 × 10 pairs of outputs: 1.6 GB, of which the upper half is stored."""
    folder = os.environ.get("AWT_DATA_DIR", "")
    if not (Path(folder) / "mnist").is_dir():
        pytest.skip("AWT_DATA_DIR names no folder with mnist/ in it")
    workspace = fresh()
    workspace.edit(
        {
            "data.name": "mnist",
            "data.root": folder,
            "data.train_limit": 4000,
            "model.widths": [300, 100],
            "kernel.tile_memory_gb": 0.5,
            "tickets.shared.epochs": 1,
            "tickets.shared.attack.steps": 1,
            "tickets.recipes.awt.rewind_rounds": 1,
        }
    )
    for stage in ("prepare", "kernel"):
        done = workspace.stage(stage)
        assert done.returncode == 0, done.stderr
    arguments = ("--classes", "full", "--count", "2000", "--out", "gram")
    with Watch() as watch:
        output = awt_gram(workspace, cluster, arguments, tiles_before_loss=3)
    assert "gram: retry gram" in output
    assert max(watch.most.values()) < 1.2 * GB, watch.most

    again = workspace.command(*COMMAND, *arguments)
    assert "\n0 tiles computed" in again.stdout, again.stdout + again.stderr
    gram = Gram(workspace.path / "gram")
    assert gram.index.block_shape((0, gram.index.rows), (0, gram.index.columns)) == (2000, 2000, 10, 10)
    assert sum(path.stat().st_size for path in gram.folder.iterdir()) > 0.8 * GB

    leading, expected = (
        as_matrix(block) for block in (gram.block((0, 300), (0, 300)), kernel_in_one_go(workspace, 300))
    )
    highest = [float(eigsh(matrix, 1, return_eigenvectors=False)[0]) for matrix in (leading, expected)]
    assert np.trace(leading) == pytest.approx(np.trace(expected), rel=1e-6)
    assert highest[0] == pytest.approx(highest[1], rel=1e-6)
    assert highest[0] <= largest(gram) < np.inf
