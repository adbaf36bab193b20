"""File formats: the same content, the same bytes; nothing unpickled; nothing half-written."""

import numpy as np
import pytest

from awt import artifacts
from awt.errors import InputError


def test_npz_bytes_depend_on_the_arrays_alone(monkeypatch):
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False])}
    first = artifacts.encode_npz(arrays)
    monkeypatch.setattr("time.time", lambda: 2e9)
    assert artifacts.encode_npz(arrays) == first
    back = artifacts.decode_npz(first, "x")
    assert all(np.array_equal(back[name], arrays[name]) for name in arrays)


def test_objects_are_neither_written_nor_read(tmp_path):
    with pytest.raises(ValueError, match="pickle"):
        artifacts.encode_npz({"a": np.array([{}], object)})
    np.savez(tmp_path / "evil.npz", a=np.array([{}], object))
    with pytest.raises(InputError, match=r"evil\.npz: not a readable"):
        artifacts.read_npz(tmp_path / "evil.npz")
    np.save(tmp_path / "evil.npy", np.array([{}], object))
    with pytest.raises(InputError, match="not a readable"):
        artifacts.decode_npy((tmp_path / "evil.npy").read_bytes(), "evil.npy")


def test_a_single_array_is_no_archive():
    with pytest.raises(InputError, match=r"one\.npz: not a readable"):
        artifacts.decode_npz(artifacts.encode_npy(np.arange(3.0)), "one.npz")


@pytest.mark.parametrize("cut", [0, 1, 30, 100, -30, -1])
def test_truncated_files_are_named(cut):
    whole = artifacts.encode_npz({"a": np.arange(100.0)})
    with pytest.raises(InputError, match=r"cut\.npz"):
        artifacts.decode_npz(whole[:cut], "cut.npz")


@pytest.mark.parametrize(
    "array", [np.arange(6.0).reshape(2, 3), np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)), np.array(3)]
)
def test_a_view_is_the_array_itself(array):
    data = memoryview(artifacts.encode_npy(array))
    view = artifacts.view_npy(data, "x.npy")
    np.testing.assert_array_equal(view, array)
    assert view.dtype == array.dtype
    assert not view.flags.writeable
    assert np.shares_memory(view, np.frombuffer(data, np.uint8))


@pytest.mark.parametrize("cut", [0, 5, 40, -1])
def test_a_view_of_less_than_an_array(cut):
    with pytest.raises(InputError, match=r"cut\.npy: not a readable"):
        artifacts.view_npy(artifacts.encode_npy(np.arange(10.0))[:cut], "cut.npy")


def test_arrays_by_name():
    data = artifacts.encode_npz({"a": np.zeros(2), "b": np.ones(2)})
    assert list(artifacts.decode_npz(data, "x", ["b", "c"])) == ["b"]


def test_json_refuses_what_it_cannot_say():
    with pytest.raises(ValueError, match="JSON"):
        artifacts.encode_json({"a": float("nan")})
    with pytest.raises(InputError, match=r"bad\.json"):
        artifacts.decode_json(b"{", "bad.json")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "file"
    artifacts.write(path, b"old")

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="No space"):
        artifacts.write(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]


def test_a_missing_file_says_how_to_get_it(tmp_path):
    for function in (artifacts.read, artifacts.sha256_file, artifacts.read_json, artifacts.read_npz):
        with pytest.raises(InputError, match="is missing: run `dvc repro`"):
            function(tmp_path / "absent")
