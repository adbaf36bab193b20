"""Cells that die, lag behind, ask for GPUs or return more than memory holds; workers with other code."""

import json
import re
import socket
import threading
from pathlib import Path

import psutil
import pytest


@pytest.fixture
def nodes(head, trial):
    """Adds nodes to the cluster, for this test alone."""
    trial.address = head.address
    added = []

    def add(**resources):
        added.append(head.add_node(**resources))
        head.wait_for_nodes()
        return added[-1].node_id

    yield add
    for node in added:
        head.remove_node(node)


def seen(trial):
    return [json.loads((folder / "seen.json").read_text()) for folder in trial.entries()]


@pytest.mark.chaos("a cell whose worker dies every time")
def test_a_poisoned_cell_is_given_up_and_the_others_finish(trial, nodes, saw):
    nodes(num_cpus=2)
    cells = [trial.cell("die", "at once"), *(trial.cell("hold", str(number)) for number in range(4))]
    done = trial.run(cells, retries=2)
    assert done.returncode == 1, done.stdout + done.stderr
    assert len(re.findall(r"trial: retry die at once.*: its worker was lost \(WorkerCrashedError", done.stdout)) == 2
    assert "trial: 4 computed, 0 reused, 1 failed" in done.stdout
    said = saw(done.stderr, r"error: cell die at once: its worker was lost .*, on each of 3 attempts; ")
    key = re.search(r"see `awt logs ([0-9a-f]{12})`", said).group(1)
    [log] = (trial.path / "store" / "work").glob(f"{key}*/log")
    assert "attempt 3 lost: its worker was lost" in log.read_text()
    assert "Traceback" not in done.stderr
    assert trial.stats()["computed"] == 4


@pytest.mark.slow
@pytest.mark.chaos("the code is edited while it runs")
def test_code_that_changes_during_a_run_is_refused(trial, nodes, saw):
    nodes(num_cpus=1)
    done = trial.run([trial.cell("hold", "a")], meanwhile={"src/awt/trial.py": "def hold(*_): return {}"})
    assert done.returncode == 2, done.stdout + done.stderr
    assert "(awt.trial differ)" in saw(done.stderr, f"{socket.gethostname()} has other code than the driver ")


@pytest.mark.slow
def test_cells_that_ask_for_gpus_run_on_nodes_that_have_them_and_others_elsewhere(trial, nodes):
    plain, gpus = nodes(num_cpus=2), nodes(num_cpus=4, num_gpus=1)
    resources = {"mask": {"gpus": 1}, "retrain": {"gpus": 0.5}, "tile": {"gpus": 0}}
    shares = [("mask", 1.0)] * 2 + [("retrain", 0.5)] * 3
    cells = [
        trial.cell("hold", f"{kind} {number}", kind, seconds=0.5, share=share)
        for number, (kind, share) in enumerate(shares)
    ]
    done = trial.run(cells, resources=resources)
    assert done.returncode == 0, done.stdout + done.stderr
    assert {one["node"] for one in seen(trial)} == {gpus}
    assert max(one["most"] for one in seen(trial)) <= 1  # GPU
    done = trial.run([trial.cell("hold", "plain", "tile")], resources=resources)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [one["node"] for one in seen(trial)] == [plain]  # while it has room: what Ray prefers


@pytest.mark.slow
@pytest.mark.chaos("a node with a GPU that JAX does not see")
def test_a_node_whose_jax_sees_no_gpu_says_so(trial, nodes, saw):
    nodes(num_cpus=1, num_gpus=1)
    done = trial.run([trial.cell("echo", "a", number=1)], device="gpu")
    assert done.returncode == 2, done.stdout + done.stderr
    saw(done.stderr, f"runtime.device is gpu, but JAX on {socket.gethostname()} only has cpu")
    assert "install awt[cuda] there, or set runtime.device: cpu" in done.stderr


@pytest.mark.slow
@pytest.mark.chaos("a cell that lags behind its like")
def test_a_cell_that_lags_behind_its_like_is_told_with_its_node(trial, nodes, change, saw):
    change(trial.path, "runtime/pace.py", "LEAST_SECONDS = 10.0", "LEAST_SECONDS = 1.0")
    for _ in range(2):
        nodes(num_cpus=1)
    cells = [*(trial.cell("hold", str(number)) for number in range(8)), trial.cell("hold", "8", seconds=8)]
    done = trial.run(cells)
    assert done.returncode == 0, done.stdout + done.stderr
    saw(done.stdout, r"trial: slow: hold 8 runs for \d+ s on [\d.]+/[0-9a-f]{6}; half of its like took \d.\d s")
    assert re.search(r"\[9/9\] hold 8  \d.\d s on [\d.]+/[0-9a-f]{6}", done.stdout)


@pytest.mark.slow
@pytest.mark.chaos("more results than shared memory holds")
def test_results_beyond_the_memory_for_them_go_to_the_disk(trial, make_cluster, saw):
    cluster = make_cluster(object_store_memory=80 * 2**20)
    trial.address = cluster.address
    cluster.add_node(num_cpus=2, object_store_memory=80 * 2**20)
    cluster.wait_for_nodes()
    spilled = Spilled(Path(cluster.head_node.get_session_dir_path()))
    cells = [trial.cell("large", str(seed), seed=seed, megabytes=40) for seed in range(10)]
    with spilled:
        done = trial.run(cells)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [len((folder / "large").read_bytes()) for folder in trial.entries()] == [40 * 2**20] * 10
    assert spilled.files
    saw(done.stdout, "10 computed, 0 reused, 0 failed")


class Spilled(threading.Thread):
    """Sees files that Ray puts on the disk for want of shared memory."""

    def __init__(self, session):
        super().__init__(daemon=True)
        self._session, self._over, self.files = session, threading.Event(), set()

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self._over.set()
        self.join()

    def run(self):
        while not self._over.wait(0.02):
            self.files |= set(self._session.glob("ray_spilled_objects*/*"))


@pytest.mark.slow
@pytest.mark.chaos("a worker that runs out of memory")
def test_a_cell_that_runs_out_of_memory_is_retried_with_more_room(trial, make_cluster, saw):
    """Two at once are more than the node may have, one is not."""
    used, total = psutil.virtual_memory().total - psutil.virtual_memory().available, psutil.virtual_memory().total
    if psutil.virtual_memory().available < 8 * 2**30:
        pytest.skip("needs 8 GB of free memory")
    allowed = (used + 4.5 * 2**30) / total
    cluster = make_cluster({"memory_usage_threshold": allowed, "memory_monitor_refresh_ms": 100})
    trial.address = cluster.address
    cluster.add_node(num_cpus=2)
    cluster.wait_for_nodes()
    cells = [trial.cell("hungry", str(number), "mask", number=number, gigabytes=3, seconds=8) for number in range(2)]
    done = trial.run(cells, retries=9)
    assert done.returncode == 0, done.stdout + done.stderr
    saw(done.stdout, "its worker ran out of memory")
    assert "mask cells get 2 times the CPUs that they ask for, so that fewer run at once" in done.stdout
