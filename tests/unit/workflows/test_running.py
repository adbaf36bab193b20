"""Folders of results are replaced whole, or not at all."""

import pytest

from awt.workflows.running import publish


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_is_replaced_whole(tmp_path):
    source = tmp_path / "source"
    source.write_bytes(b"copied")
    folder = tmp_path / "outs"
    publish(folder, {"a": b"1", "sub/b": source})
    assert content(folder) == {"a": b"1", "sub/b": b"copied"}
    publish(folder, {"c": b"2"})
    assert content(folder) == {"c": b"2"}
    publish(folder, {})
    assert list(folder.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outs", "source"]


def test_a_failure_leaves_the_old_one(tmp_path):
    folder = tmp_path / "outs"
    publish(folder, {"a": b"1"})
    with pytest.raises(FileNotFoundError):
        publish(folder, {"b": b"2", "c": tmp_path / "absent"})
    assert content(tmp_path) == {"outs/a": b"1"}
