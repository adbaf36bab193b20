"""`awt doctor` and a real cluster: each node that would fail the work is named, and only it."""

import json
import sys

import psutil
import pytest

DOCTOR = (sys.executable, "-c", "from awt.commands.main import main; main()", "doctor", "--json")


@pytest.fixture
def workspace(fresh, head):
    made = fresh()
    made.environment |= {"AWT_EXECUTOR": "ray", "RAY_ADDRESS": head.address}
    return made


@pytest.fixture
def node(head, monkeypatch):
    """Adds a node with an environment of its own, which workers there have as well."""
    added = []

    def add(environment, **offers):
        with monkeypatch.context() as patch:
            for name, value in environment.items():
                patch.setenv(name, value)
            added.append(head.add_node(**offers))
        head.wait_for_nodes()
        return added[-1].node_id[:6]

    yield add
    for one in added:
        head.remove_node(one, allow_graceful=False)


def doctor(workspace, *words):
    """The exit code, what failed by check and node, and all findings."""
    done = workspace.command(*DOCTOR, *words)
    assert "Traceback" not in done.stderr, done.stderr
    findings = json.loads(done.stdout)["findings"]
    failed = {(one["check"], one["where"][-7:-1]): one["text"] for one in findings if one["state"] == "FAIL"}
    return done.returncode, failed, findings


def test_a_node_with_other_versions_is_named(workspace, node, tmp_path):
    metadata = tmp_path / "optax-0.0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: optax\nVersion: 0.0.1\n")
    well, ill = node({}, num_cpus=1), node({"PYTHONPATH": str(tmp_path)}, num_cpus=1)
    code, failed, findings = doctor(workspace)
    assert code == 2
    assert failed.keys() == {("packages", ill)}
    assert "optax 0.0.1" in failed["packages", ill]
    answers = {one["check"] for one in findings if one["where"].endswith(f"({well})")}
    assert answers == {"packages", "code", "temporary", "memory", "store", "clock"}


@pytest.mark.slow
def test_gpus_that_are_not_there_are_named(workspace, node):
    claimed = node({}, num_cpus=1, num_gpus=1)
    code, failed, _ = doctor(workspace)
    assert code == 2
    assert failed.keys() == {("device", claimed)}
    assert "Ray has 1 GPUs there, and JAX sees 0" in failed["device", claimed]


@pytest.mark.slow
def test_resources_that_no_node_has_are_named(workspace, node):
    node({}, num_cpus=1)
    workspace.edit({"runtime.resources": {"tile": {"memory_gb": 4096}}})
    code, failed, _ = doctor(workspace)
    assert code == 2
    assert failed.keys() == {("resources", "")}
    assert "a tile cell asks for 1 CPUs, 0 GPUs, 4096 GB" in failed["resources", ""]


@pytest.mark.slow
def test_a_node_without_room_is_named(workspace, node, small_disk):
    cramped = node({"TMPDIR": str(small_disk("300k"))}, num_cpus=1)
    code, failed, _ = doctor(workspace)
    assert code == 2
    assert failed.keys() == {("temporary", cramped)}


@pytest.mark.slow
def test_a_node_that_is_silent_is_named(workspace, node, head):
    node({}, num_cpus=1)
    frozen = node({}, num_cpus=1)
    raylet = psutil.Process(head.worker_nodes and _raylet(head, frozen))
    raylet.suspend()
    try:
        code, failed, findings = doctor(workspace, "--seconds", "15")
    finally:
        raylet.resume()
    assert code == 2
    assert failed.keys() == {("node", frozen)}, findings


def _raylet(head, name):
    [found] = [one for one in head.worker_nodes if one.node_id.startswith(name)]
    return found.all_processes["raylet"][0].process.pid
