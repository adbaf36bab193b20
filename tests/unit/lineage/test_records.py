"""Run records: what they say of git, and which cells they name."""

import subprocess

import pytest

from awt.artifacts import encode_json, sha256, write
from awt.errors import InputError
from awt.lineage.records import RECORD_FORMAT, Run, cells_of_records, git_state, run_id
from awt.runtime.code import digest


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        identity = ["-c", "user.name=t", "-c", "user.email=t@t"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    git("init", "-q")
    for name in ("code.py", "dvc.lock", ".gitignore", "sub/dvc.lock"):
        write(tmp_path / name, b"first\n")
    git("add", "-A")
    git("commit", "-qm", "first")
    return tmp_path


def test_a_clean_tree(repository):
    state = git_state(repository)
    assert len(state["revision"]) == 40
    assert state["dirty"] is False
    assert state["diff_sha256"] is None


@pytest.mark.parametrize("name", ["dvc.lock", ".gitignore", "sub/dvc.lock", "untracked.txt"])
def test_what_dvc_itself_touches_is_not_dirt(repository, name):
    write(repository / name, b"second\n")
    assert git_state(repository)["dirty"] is False


def test_changed_code_is(repository):
    write(repository / "code.py", b"second\n")
    first = git_state(repository)
    write(repository / "code.py", b"third\n")
    second = git_state(repository)
    assert first["dirty"]
    assert second["dirty"]
    assert first["diff_sha256"] != second["diff_sha256"]


def test_outside_git(tmp_path):
    assert git_state(tmp_path) == {"revision": None, "dirty": None, "diff_sha256": None}


def test_records_name_their_cells(tmp_path):
    write(tmp_path / "pipelines" / "x" / "quick" / "params.yaml", b"")
    for number, folder in enumerate((tmp_path, tmp_path / "pipelines" / "x" / "quick")):
        cells = {"cells": [{"key": f"key{number}"}]}
        write(folder / "artifacts" / "records" / "mask.json", encode_json({"cells": cells}))
    assert cells_of_records(tmp_path) == {"key0", "key1"}


CODE = {"modules": {"awt.x": "abc"}, "distributions": {"numpy": "2"}, "python": "3.11"}
PIPELINE = b"""
stages:
  code: {cmd: w, outs: [artifacts/code.json]}
  first: {cmd: x, outs: [artifacts/one, artifacts/records/first.json]}
  second:
    cmd: y
    deps: [artifacts/one, given.csv]
    params: [artifacts/code.json: [second], artifacts/params.json: [a, b.c]]
    outs: [two]
    metrics: [m: {cache: true}]
"""


def test_a_stage_that_is_not_declared(tmp_path):
    with pytest.raises(InputError, match=r"dvc\.yaml is missing"):
        Run.begin("mask", tmp_path, tmp_path, {}, CODE)
    write(tmp_path / "dvc.yaml", PIPELINE)
    with pytest.raises(InputError, match="no stage 'mask', only first, second"):
        Run.begin("mask", tmp_path, tmp_path, {}, CODE)


def test_a_stage_without_parameters(tmp_path):
    write(tmp_path / "dvc.yaml", PIPELINE)
    assert Run.begin("first", tmp_path, tmp_path, {}, CODE).facts["params"] == {}


def test_a_record_commits_to_code_parameters_inputs_outputs_and_parents(tmp_path):
    write(tmp_path / "dvc.yaml", PIPELINE)
    write(tmp_path / "artifacts" / "one" / "x" / "y", b"in")
    write(tmp_path / "given.csv", b"given")
    write(tmp_path / "artifacts" / "records" / "first.json", b"record")
    run = Run.begin("second", tmp_path, tmp_path, {"a": 1, "b.c": {"d": [2], "e": None}}, CODE)
    write(tmp_path / "artifacts" / "one" / "x" / "y", b"changed while it ran")
    for name in ("two", "m"):
        write(tmp_path / name, name.encode())
    record = run.record(executor="serial", platform="cpu", cells={"retried": 2}, seeds=[0])
    assert record["format_version"] == RECORD_FORMAT
    assert record["seconds"] >= 0
    assert record["params"] == {"a": 1, "b.c.d": [2], "b.c.e": None}
    assert record["inputs"] == {"artifacts/one/x/y": sha256(b"in"), "given.csv": sha256(b"given")}
    assert record["outputs"] == {"two": sha256(b"two"), "m": sha256(b"m")}
    assert record["parents"] == {"first": sha256(b"record")}
    assert record["code"] == CODE | {"digest": digest(CODE)}
    assert record["retries"] == 2
    assert record["run"] == run_id(record) == run.id
    assert run_id(record | {"params": {}}) != run.id
