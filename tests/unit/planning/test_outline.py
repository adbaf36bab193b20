"""What is known of data that was not prepared."""

import numpy as np
import pytest

from awt.artifacts import encode_json, write
from awt.data import prepare
from awt.errors import InputError
from awt.planning.outline import outline


def test_the_parts_of_known_data(params, tmp_path):
    digits = outline(params().data, tmp_path)
    assert (digits.shape, digits.classes) == ((8, 8, 1), 10)
    assert digits.counts == {"train": 1294, "validation": 144, "test": 359}
    mnist = outline(params({"data.name": "mnist", "data.validation": 0.0, "data.limit": 20_000}).data, tmp_path)
    assert mnist.counts == {"train": 20_000, "validation": 0, "test": 10_000}
    assert mnist.prepared is None
    mixture = outline(params({"data.name": "gaussian"}).data, tmp_path)
    assert (mixture.shape, mixture.classes, mixture.points) == ((1, 100, 1), 2, 5000)


@pytest.fixture
def prepared(params, tmp_path):
    """Folders of prepared digits."""
    for name, content in prepare(params().data, tmp_path).items():
        write(tmp_path / "data" / name, content)
    return tmp_path


def test_prepared_data(params, prepared):
    found = outline(params().data, prepared)
    assert found.counts == outline(params().data, prepared / "elsewhere").counts
    assert found.prepared is not None
    assert found.described()["mean"] != outline(params().data, prepared / "elsewhere").described()["mean"]


@pytest.mark.parametrize(
    "change", [{"data.limit": 300}, {"data.seed": 1}, {"data.validation": 0.2}, {"data.name": "mnist"}]
)
def test_data_prepared_for_other_parameters_does_not_count(params, prepared, change):
    assert outline(params(change).data, prepared).prepared is None


def test_a_file_by_its_header(params, tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, x=np.zeros((50, 6, 7), np.float64), y=np.arange(50) % 5)
    found = outline(params({"data.name": "npz", "data.path": str(path)}).data, tmp_path)
    assert (found.shape, found.classes, found.itemsize) == ((6, 7, 1), 5, 4)
    assert found.counts == {"train": 36, "validation": 4, "test": 10}
    np.savez(path, x=np.zeros((50, 9), np.uint8), y=np.arange(50) % 5, x_test=np.zeros((8, 9), np.uint8))
    found = outline(params({"data.name": "npz", "data.path": str(path)}).data, tmp_path)
    assert (found.shape, found.itemsize, found.counts["test"]) == ((1, 9, 1), 1, 8)


def test_a_file_that_is_none(params, tmp_path):
    path = tmp_path / "mine.npz"
    data = params({"data.name": "npz", "data.path": str(path)}).data
    with pytest.raises(InputError, match=r"nothing is known of .*mine\.npz yet"):
        outline(data, tmp_path)
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"data\.path: .* is not a readable \.npz"):
        outline(data, tmp_path)


def test_data_that_only_preparing_tells(params, prepared):
    path = prepared / "gone.npz"
    data = params({"data.name": "npz", "data.path": str(path)}).data
    about = {"name": "npz", "seed": 0, "shape": [2, 2, 1], "classes": 3, "mean": [0.1], "std": [0.2], "sources": {}}
    write(prepared / "data" / "dataset.json", encode_json(about | {"counts": {"train": 9, "validation": 3, "test": 3}}))
    assert outline(data, prepared).counts["train"] == 9
