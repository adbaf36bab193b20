"""Run records: what they say of git, and which cells they name."""

import subprocess

import pytest

from awt.artifacts import encode_json, write
from awt.errors import InputError
from awt.lineage.pipeline import code_of
from awt.lineage.records import Stopwatch, cells_of_records, git_state


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
        record = Stopwatch().record("mask", tmp_path, executor="serial", platform="cpu", cells=cells, seeds=[0])
        assert record["seconds"] >= 0
        write(folder / "artifacts" / "records" / "mask.json", encode_json(record))
    assert cells_of_records(tmp_path) == {"key0", "key1"}


def test_a_stage_that_is_not_declared(tmp_path):
    with pytest.raises(InputError, match=r"dvc\.yaml is missing"):
        code_of("mask", tmp_path)
    write(tmp_path / "dvc.yaml", b"stages: {}")
    with pytest.raises(InputError, match="no stage 'mask'"):
        code_of("mask", tmp_path)
