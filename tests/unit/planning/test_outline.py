"""What is known of data that was not prepared."""

from pathlib import Path

import numpy as np
import pytest

from awt.artifacts import encode_json, write
from awt.data.options import Data, Gaussian
from awt.data.prepare import prepare
from awt.errors import InputError
from awt.planning.outline import DATASET, foresee, foreseen
from awt.workflows.running import DESCRIBED

DIGITS = Data(name="digits")


def outline(data, folder):
    return foreseen(data, folder)[0]


def test_the_parts_of_known_data(tmp_path):
    digits = outline(DIGITS, tmp_path)
    assert (digits["shape"], digits["classes"]) == ([8, 8, 1], 10)
    assert digits["counts"] == {"train": 1294, "validation": 144, "test": 359}
    mnist, prepared = foreseen(Data(name="mnist", validation_share=0.0, train_limit=20_000), tmp_path)
    assert mnist["counts"] == {"train": 20_000, "validation": 0, "test": 10_000}
    assert prepared is None
    mixture = outline(Data(name="gaussian"), tmp_path)
    assert (mixture["shape"], mixture["classes"], sum(mixture["counts"].values())) == ([1, 100, 1], 2, 5000)


@pytest.fixture
def prepared(tmp_path):
    """Prepares data in a folder."""

    def make(data=DIGITS):
        for name, content in prepare(data, tmp_path).items():
            write(tmp_path / Path(DATASET).parent / name, content)
        return tmp_path

    return make


def test_prepared_data(prepared):
    folder = prepared()
    outline, source = foreseen(DIGITS, folder)
    before, _ = foreseen(DIGITS, folder / "elsewhere")
    assert outline["counts"] == before["counts"]
    assert outline["mean"] != before["mean"]
    assert source.path == folder / DATASET


@pytest.mark.parametrize("change", [{"train_limit": 300}, {"seed": 1}, {"validation_share": 0.2}, {"name": "mnist"}])
def test_data_prepared_for_other_parameters_does_not_count(prepared, change):
    assert foreseen(Data(**{"name": "digits", **change}), prepared())[1] is None


def test_another_mixture_of_the_same_size_does_not_count(prepared):
    mixtures = [Data(name="gaussian", gaussian=Gaussian(points=60, distance=distance)) for distance in (3.0, 2.0)]
    folder = prepared(mixtures[0])
    assert [foreseen(mixture, folder)[1] is None for mixture in mixtures] == [False, True]


def test_a_file_by_its_header(tmp_path):
    path = tmp_path / "mine.npz"
    data = Data(name="npz", path=str(path))
    np.savez(path, x=np.zeros((50, 6, 7), np.float64), y=np.arange(50) % 5)
    found = outline(data, tmp_path)
    assert (found["shape"], found["classes"], found["itemsize"]) == ([6, 7, 1], 5, 4)
    assert found["counts"] == {"train": 36, "validation": 4, "test": 10}
    np.savez(path, x=np.zeros((50, 9), np.uint8), y=np.arange(50) % 5, x_test=np.zeros((8, 9), np.uint8))
    found = outline(data, tmp_path)
    assert (found["shape"], found["itemsize"], found["counts"]["test"]) == ([1, 9, 1], 1, 8)


def test_a_file_that_is_none(tmp_path):
    path = tmp_path / "mine.npz"
    data = Data(name="npz", path=str(path))
    with pytest.raises(InputError, match=r"nothing is known of .*mine\.npz yet"):
        outline(data, tmp_path)
    path.write_bytes(b"no archive")
    with pytest.raises(InputError, match=r"data\.path: .* is not a readable \.npz"):
        outline(data, tmp_path)


def test_data_that_only_preparing_tells(prepared):
    folder = prepared()
    about = {"name": "npz", "seed": 0, "shape": [2, 2, 1], "classes": 3, "mean": [0.1], "std": [0.2], "sources": {}}
    counts = {"train": 9, "validation": 3, "test": 3}
    write(folder / DESCRIBED, encode_json(about | {"counts": counts}))
    assert outline(Data(name="npz", path=str(folder / "gone.npz")), folder)["counts"] == counts


def test_what_the_stage_will_write(experiment):
    files = foresee(experiment().params)
    assert files[DESCRIBED]["counts"]["train"] == 1294
    assert files[DATASET].sha256.startswith("unknown")
