"""The data stage as a whole: its files, what they decode to, and where it looks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from awt.artifacts import decode_npz, encode_npz, sha256
from awt.data import digits
from awt.data.dataset import decode
from awt.data.options import Data
from awt.data.prepare import data_root, prepare
from awt.errors import InputError


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return prepare(Data(), Path("unused"))


def colours(dtype: type = np.uint8) -> tuple[np.ndarray, np.ndarray]:
    x = np.random.default_rng(0).integers(0, 256, (60, 3, 4, 2)).astype(np.uint8)
    return x if dtype is np.uint8 else x.astype(dtype) / 255, np.arange(60) % 3


def test_bytes_are_the_same_every_time(files):
    assert prepare(Data(), Path("elsewhere")) == files
    assert prepare(Data(seed=1), Path("unused")) != files


def test_dataset_is_the_source_at_the_splits_indices(files):
    dataset = decode(files["dataset.npz"], "dataset.npz")
    split = decode_npz(files["split.npz"], "split.npz")
    raw = digits.read(Data(), Path("unused"))
    assert sorted(np.concatenate(list(split.values()))) == list(range(1797))
    for part, chosen in split.items():
        x, y = getattr(dataset, f"{part}_x"), getattr(dataset, f"{part}_y")
        assert (x.dtype, y.dtype) == (np.float32, np.int32)
        assert np.array_equal(x, raw.train_x[chosen] / np.float32(16))
        assert np.array_equal(y, raw.train_y[chosen])
    assert dataset.shape == (8, 8, 1)
    assert dataset.classes == 10
    assert decode(memoryview(files["dataset.npz"]), "dataset.npz").shape == (8, 8, 1)


def test_summary_agrees_with_the_arrays(files):
    dataset = decode(files["dataset.npz"], "dataset.npz")
    summary = json.loads(files["dataset.json"])
    assert summary["counts"] == {"train": 1294, "validation": 144, "test": 359}
    for part, counts in summary["class_counts"].items():
        assert counts == np.bincount(getattr(dataset, f"{part}_y"), minlength=10).tolist()
    assert (summary["name"], summary["shape"], summary["classes"]) == ("digits", [8, 8, 1], 10)
    assert (summary["mean"], summary["std"]) == (dataset.mean.tolist(), dataset.std.tolist())
    assert (summary["format_version"], summary["seed"]) == (1, 0)
    assert list(summary["sources"]) == ["sklearn.datasets.load_digits"]


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_mean_and_std_are_per_channel_over_the_training_pixels(tmp_path, monkeypatch, dtype):
    x, y = colours(dtype)
    np.savez(tmp_path / "mine.npz", x=x, y=y)
    monkeypatch.setattr("awt.data.dataset._BLOCK", 100)  # several blocks
    files = prepare(Data(name="npz", path=str(tmp_path / "mine.npz"), train_limit=20), tmp_path)
    dataset = decode(files["dataset.npz"], "dataset.npz")
    assert dataset.train_x.shape == (20, 3, 4, 2)
    pixels = dataset.train_x.astype(np.float64).reshape(-1, 2)
    assert (dataset.mean.dtype, dataset.std.dtype) == (np.float32, np.float32)
    np.testing.assert_allclose(dataset.mean, pixels.mean(axis=0), rtol=1e-6)
    np.testing.assert_allclose(dataset.std, pixels.std(axis=0), rtol=1e-6)


def test_an_own_test_set_and_no_validation(tmp_path):
    x, y = colours()
    np.savez(tmp_path / "mine.npz", x=x, y=y, x_test=x[::-1], y_test=y[::-1])
    digest = sha256((tmp_path / "mine.npz").read_bytes())
    path = str(tmp_path / "mine.npz")
    files = prepare(Data(name="npz", path=path, sha256=digest, validation_share=0.0), tmp_path)
    dataset = decode(files["dataset.npz"], "dataset.npz")
    assert dataset.validation_x.shape == (0, 3, 4, 2)
    assert dataset.validation_y.shape == (0,)
    assert len(dataset.train_x) == 60
    assert np.array_equal(dataset.test_x, x[::-1] / np.float32(255))
    summary = json.loads(files["dataset.json"])
    assert summary["counts"] == {"train": 60, "validation": 0, "test": 60}
    assert summary["sources"] == {"mine.npz": digest}


def test_decode_names_what_is_missing_or_of_another_version(files):
    content = decode_npz(files["dataset.npz"], "dataset.npz")
    with pytest.raises(InputError, match=r"^there: no array mean;"):
        decode(encode_npz({name: array for name, array in content.items() if name != "mean"}), "there")
    with pytest.raises(InputError, match=r"^there: format version 99; this code reads 1"):
        decode(encode_npz({**content, "format_version": 99}), "there")
    with pytest.raises(InputError, match=r"^there: not a readable .npz"):
        decode(files["dataset.npz"][:1000], "there")


def test_the_data_folder_is_the_parameters_or_the_environments_or_the_repositorys(monkeypatch):
    monkeypatch.setenv("AWT_DATA_DIR", "environment")
    assert data_root(Data(root="own"), Path("repository")) == Path("own")
    assert data_root(Data(), Path("repository")) == Path("environment")
    monkeypatch.delenv("AWT_DATA_DIR")
    assert data_root(Data(), Path("repository")) == Path("repository/data")


def test_the_real_mnist_has_its_known_mean_and_deviation():
    root = Path(os.environ.get("AWT_DATA_DIR") or ".no-data")
    if not list(root.glob("mnist/*idx*")) + list(root.glob("*idx*")):
        pytest.skip("needs real MNIST: set AWT_DATA_DIR to a folder that has mnist/")
    summary = json.loads(prepare(Data(name="mnist", validation_share=0.0), Path("unused"))["dataset.json"])
    assert summary["counts"] == {"train": 60000, "validation": 0, "test": 10000}
    assert summary["mean"] == pytest.approx([0.1307], abs=5e-5)
    assert summary["std"] == pytest.approx([0.3081], abs=5e-5)


def test_importing_it_leaves_jax_alone():
    code = "import sys, awt.data.prepare; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
