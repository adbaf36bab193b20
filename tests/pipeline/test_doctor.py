"""`awt doctor` in a repository that is well, and in ones that are broken, each in a way of its own that it names."""

import json
import os
import uuid
from pathlib import Path

import numpy as np
import pytest

from awt.artifacts import encode_npz
from awt.commands.main import parser
from awt.doctor import examine, here
from awt.doctor.finding import Finding, guarded
from awt.doctor.judge import Node, judge_node, judge_processors
from awt.doctor.look import Place, look
from awt.errors import run
from awt.runtime.store import Store
from awt.workflows.experiment import experiment

PROJECT = Path(__file__).parents[2]


@pytest.fixture
def workspace(fresh, monkeypatch):
    """A repository, and the environment of a shell in it."""
    made = fresh()
    for name in ("RAY_ADDRESS", "AWT_STORE", "AWT_EXECUTOR", "AWT_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(made.path)
    return made


def doctor(capsys, *words):
    """The exit code, and findings by check."""
    arguments = parser(["doctor"]).parse_args(["doctor", "--json", *words])
    capsys.readouterr()
    code = run(lambda: arguments.function(arguments))
    output = capsys.readouterr()
    found = json.loads(output.out)
    assert found["ok"] is (code == 0)
    assert "Traceback" not in output.err
    return code, [Finding(**finding) for finding in found["findings"]]


def of(findings, state):
    return {finding.check: finding.text for finding in findings if finding.state == state}


def test_a_repository_that_is_well(workspace, capsys):
    code, findings = doctor(capsys)
    assert (code, of(findings, "FAIL")) == (0, {})
    checks = {finding.check for finding in findings}
    assert checks == {
        "params", "packages", "python", "git", "dvc", "data", "store", "code", "temporary", "cluster", "device",
        "memory", "resources",
    }  # fmt: skip
    left = [path.name for path in (workspace.path / ".awt").rglob("*") if path.is_file()]
    assert left == ["format"]  # of a store without cells


def invalid_parameters(workspace, monkeypatch, tmp_path):
    workspace.edit({"tickets.shared.epochs": -1})
    return "params", "tickets.shared.epochs"


def missing_data(workspace, monkeypatch, tmp_path):
    workspace.edit({"data.name": "mnist"})
    monkeypatch.setenv("AWT_DATA_DIR", str(tmp_path))
    return "data", "`awt data fetch mnist`"


def corrupt_data(workspace, monkeypatch, tmp_path):
    workspace.edit({"data.name": "mnist", "data.root": str(tmp_path)})
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "train-images-idx3-ubyte").write_bytes(b"no digits")
    return "data", "train-images-idx3-ubyte: not"


def other_data(workspace, monkeypatch, tmp_path):
    content = encode_npz({"x": np.zeros((20, 4, 4), np.uint8), "y": np.arange(20) % 2})
    (tmp_path / "own.npz").write_bytes(content)
    workspace.edit({"data.name": "npz", "data.path": str(tmp_path / "own.npz"), "data.sha256": "0" * 64})
    return "data", "sha256"


def store_is_a_file(workspace, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("AWT_STORE", str(tmp_path / "file"))
    return "store", "is a file"


def store_at_a_wrong_url(workspace, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    workspace.edit({"runtime.store": f"file://{tmp_path}/file/store"})
    monkeypatch.setattr(here, "STORE_SECONDS", 3.0)
    return "store", "runtime.store"


def no_cluster(workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    return "cluster", "no Ray cluster answers at 127.0.0.1:1"


def unknown_executor(workspace, monkeypatch, tmp_path):
    monkeypatch.setenv("AWT_EXECUTOR", "slurm")
    return "cluster", "AWT_EXECUTOR: 'slurm'"


def impossible_resources(workspace, monkeypatch, tmp_path):
    workspace.edit({"runtime.resources": {"mask": {"cpus": 4096}}})
    return "resources", "a mask cell asks for 4096 CPUs"


def no_gpu(workspace, monkeypatch, tmp_path):
    workspace.edit({"runtime.device": "gpu"})
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    (tmp_path / "nvidia-smi").write_text("#!/bin/sh\nexit 9\n")  # where there are GPUs, they are away
    (tmp_path / "nvidia-smi").chmod(0o755)
    return "device", "runtime.device: gpu"


def too_little_memory(workspace, monkeypatch, tmp_path):
    workspace.edit({"kernel.tile_memory_gb": 1.0e6})
    return "memory", "lower kernel.tile_memory_gb"


def other_version(workspace, monkeypatch, tmp_path):
    install(tmp_path, "optax", "0.0.1")
    monkeypatch.syspath_prepend(tmp_path)
    return "packages", "optax 0.0.1"


def install(folder, name, version):
    """A package as pip leaves it, without its code: its metadata are found before those of the real one."""
    metadata = folder / f"{name}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")


def cache_is_a_file(workspace, monkeypatch, tmp_path):
    (workspace.path / ".dvc" / "cache").touch()
    return "dvc", "cannot be written to"


def no_dvc(workspace, monkeypatch, tmp_path):
    (workspace.path / ".dvc").rename(tmp_path / "dvc")
    return "dvc", "has no .dvc"


def killed_dvc(workspace, monkeypatch, tmp_path):
    lock = workspace.path / ".dvc" / "tmp" / "rwlock"
    lock.parent.mkdir()
    lock.touch()
    return "dvc", "rwlock is not whole"


BREAKAGES = [
    invalid_parameters, missing_data, corrupt_data, other_data, store_is_a_file, store_at_a_wrong_url, no_cluster,
    unknown_executor, impossible_resources, no_gpu, too_little_memory, other_version, cache_is_a_file, no_dvc,
    killed_dvc,
]  # fmt: skip


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda breakage: breakage.__name__)
def test_what_is_broken_is_named_and_nothing_else(workspace, monkeypatch, tmp_path, capsys, breakage):
    check, words = breakage(workspace, monkeypatch, tmp_path)
    code, findings = doctor(capsys)
    failed = of(findings, "FAIL")
    assert code == 2
    assert failed.keys() == {check}
    assert words in failed[check]
    assert {finding.check for finding in findings} >= {"params", "packages", "git", "dvc", "temporary", "cluster"}


def test_a_full_disk_is_named(workspace, monkeypatch, capsys, small_disk):
    disk = small_disk("300k")
    (disk / "ballast").write_bytes(bytes(290_000))
    monkeypatch.setenv("AWT_STORE", str(disk / "store"))
    code, findings = doctor(capsys)
    assert code == 2
    assert "store" in of(findings, "FAIL")
    small_disk("500m")
    code, findings = doctor(capsys)
    assert code == 0
    assert "has only 0.5" in of(findings, "warning")["store"]


def test_what_is_odd_is_only_a_warning(workspace, monkeypatch, capsys, tmp_path):
    install(tmp_path, "pandas", "0.0.1")
    monkeypatch.syspath_prepend(tmp_path)
    store = Store(workspace.path / ".awt" / "store")
    for _ in range(2):
        entry = store.put(uuid.uuid4().hex, {"file": b"content"}, {})
    entry.path("file").write_bytes(b"contemt")
    (tmp_path / "python").symlink_to("/bin/false")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    code, findings = doctor(capsys)
    odd = of(findings, "warning")
    assert code == 0
    assert odd.keys() == {"packages", "python", "store"}
    assert "pandas 0.0.1" in odd["packages"]
    assert f"1 of 2 entries looked at are damaged ({entry.key[:12]})" in odd["store"]
    assert store.peek(entry.key) is not None  # where it was


def test_a_check_that_breaks_down_is_a_finding():
    def broken():
        yield Finding("git", "ok", "so far")
        raise RuntimeError("two\nlines")

    assert list(guarded("git", broken)) == [
        Finding("git", "ok", "so far"),
        Finding("git", "FAIL", "RuntimeError: two lines"),
    ]


def test_what_cells_compute_with_is_decisive_on_nodes():
    """A node with another version of what is in cells' keys would refuse them; of other packages it is only said."""
    packages = examine.decisive(experiment(PROJECT))
    assert packages >= {"jax", "jaxlib", "numpy", "optax", "neural-tangents", "scipy", "orbax-checkpoint"}
    assert not packages & {"dvc", "ray", "pydantic", "matplotlib"}
    own = look(examine.COMPARED)
    for name, state in (("scipy", "FAIL"), ("ray", "warning")):
        looks = {**own, "versions": own["versions"] | {name: "0.0.1"}}
        node = Node("n", {}, looks, "", own["time"], own["time"])
        [said] = [one for one in judge_node(node, own, None, packages) if one.check == "packages"]
        assert (said.state, said.text.split(" (")[0]) == (state, f"{name} 0.0.1")


def test_what_is_said_of_nodes(tmp_path, monkeypatch):
    """Of one that shares the driver's disk, one that does not, one whose clock is slow, and one that is silent."""
    monkeypatch.setattr("awt.doctor.look.URL_SECONDS", 1.0)
    own = look(examine.COMPARED)
    (tmp_path / "mark").touch()
    shared, apart = (look(examine.COMPARED, Place(str(tmp_path), mark)) for mark in ("mark", "another"))
    offer, now = {"CPU": 2.0, "memory": 8e9}, own["time"]

    def said(looks, error=""):
        return {one.check: one for one in judge_node(Node("n", offer, looks, error, now, now + 60), own, None)}

    assert said(shared)["store"].state == "ok"
    assert said(apart)["store"].state == "warning"
    bucket = look((), Place(str(tmp_path), "another", f"file://{tmp_path}/bucket"))["store"]
    blocked = look((), Place(str(tmp_path), "another", f"file://{tmp_path}/mark/bucket"))["store"]
    assert bucket == "shared"
    assert f"file://{tmp_path}/mark/bucket" in blocked
    assert said(shared)["clock"].text == "as here"
    slow = said({**shared, "time": now - 100})["clock"]
    assert (slow.state, slow.text) == ("ok", "100 s slow; nothing depends on it")
    silent = said(None, "no answer within 30 s")
    assert silent["node"].state == "FAIL"
    assert "no answer within 30 s" in silent["node"].text


def test_nodes_of_several_kinds_are_told():
    looks, offer = look(()), {"CPU": 2.0}
    alike = [Node(name, offer, looks, "", 0, 0) for name in "ab"]
    other = Node("c", offer, looks | {"processor": "another"}, "", 0, 0)
    assert list(judge_processors([*alike, other._replace(resources={})])) == []  # no cell runs on the last
    (told,) = judge_processors([*alike, other])
    assert told.state == "warning"
    assert "another" in told.text
