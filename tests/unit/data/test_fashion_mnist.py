"""Fashion-MNIST is MNIST's form under other digests: those of the gzipped files, so only these can be verified."""

import gzip
import hashlib
import struct
from dataclasses import replace

import numpy as np
import pytest

from awt.data import fashion_mnist, mnist
from awt.errors import InputError

LABELS = "t10k-labels-idx1-ubyte"


def encode_idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def published(monkeypatch) -> dict[str, bytes]:
    """A small Fashion-MNIST, whose digests stand in for the real ones, on a machine without mirrors."""
    random = np.random.default_rng(0)
    found = {}
    for prefix, points in (("train", 30), ("t10k", 10)):
        images = random.integers(0, 256, (points, 5, 4), np.uint8)
        targets = np.arange(points, dtype=np.uint8) % 10
        found[f"{prefix}-images-idx3-ubyte.gz"] = gzip.compress(encode_idx(images), mtime=0)
        found[f"{prefix}-labels-idx1-ubyte.gz"] = gzip.compress(encode_idx(targets), mtime=0)
    digests = {name.removesuffix(".gz"): hashlib.md5(data).hexdigest() for name, data in found.items()}
    source = replace(fashion_mnist.FILES.source, mirrors=())
    monkeypatch.setattr(fashion_mnist, "FILES", replace(fashion_mnist.FILES, digests=digests, source=source))
    return found


def store(folder, files):
    folder.mkdir()
    for name, data in files.items():
        (folder / name).write_bytes(data)


def test_reads_the_published_files_and_says_they_are_there(tmp_path, published, data_of):
    store(tmp_path / "fashion_mnist", published)
    raw = fashion_mnist.read(data_of("fashion_mnist"), tmp_path)
    assert raw.train_x.shape == (30, 5, 4, 1)
    assert raw.test_y.tolist() == list(range(10))
    content = gzip.decompress(published[f"{LABELS}.gz"])
    assert raw.sources[LABELS] == hashlib.sha256(content).hexdigest()
    found = fashion_mnist.present(tmp_path)
    assert [path.name for path in found.paths] == list(published)
    assert found.missing == ()


def test_what_is_missing_is_named(tmp_path, published):
    some = {name: data for name, data in published.items() if not name.startswith(LABELS)}
    store(tmp_path / "fashion_mnist", some)
    found = fashion_mnist.present(tmp_path)
    assert [path.name for path in found.paths] == list(some)
    assert found.missing == (f"{LABELS}.gz",)


@pytest.mark.parametrize("kept_as", [LABELS, f"{LABELS}.gz"])
def test_another_copy_of_the_same_content_cannot_be_verified(tmp_path, published, data_of, kept_as, snapshot):
    content = gzip.decompress(published.pop(f"{LABELS}.gz"))
    other = gzip.compress(content, compresslevel=1) if kept_as.endswith(".gz") else content
    store(tmp_path / "fashion_mnist", published | {kept_as: other})
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=f"{kept_as}: not Fashion-MNIST's .*{LABELS}.gz as published"):
        fashion_mnist.read(data_of("fashion_mnist"), tmp_path)
    with pytest.raises(InputError, match="left as it is"):
        fashion_mnist.present(tmp_path)
    assert snapshot(tmp_path) == before


def test_files_of_the_same_names_in_the_data_folder_are_mnists(tmp_path, published, data_of):
    store(tmp_path / "fashion_mnist", published)
    (tmp_path / LABELS).write_bytes(b"MNIST's")
    fashion_mnist.read(data_of("fashion_mnist"), tmp_path)
    with pytest.raises(InputError, match=f"{tmp_path / LABELS}: not MNIST's"):
        mnist.present(tmp_path)


def test_offline_the_message_names_file_and_folder(tmp_path, published, data_of, monkeypatch, snapshot):
    source = replace(fashion_mnist.FILES.source, mirrors=("http://127.0.0.1:1/",))
    monkeypatch.setattr(fashion_mnist, "FILES", replace(fashion_mnist.FILES, source=source))
    with pytest.raises(InputError) as caught:
        fashion_mnist.read(data_of("fashion_mnist"), tmp_path)
    for part in ("train-images-idx3-ubyte.gz", str(tmp_path / "fashion_mnist"), "AWT_DATA_DIR", "http://127.0.0.1:1/"):
        assert part in str(caught.value)
    assert snapshot(tmp_path) == {}
