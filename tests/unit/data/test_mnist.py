"""MNIST is read from whatever holds its exact content, and only that; local files are left alone."""

import gzip
import hashlib
import os
import struct
from dataclasses import replace
from pathlib import Path
from threading import Event

import numpy as np
import pytest

from awt.data import download, mnist
from awt.data.options import Data
from awt.errors import InputError

IMAGES = "train-images-idx3-ubyte"
DATA = Data(name="mnist")


def encode_idx(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def arrays() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    found = {}
    for prefix, points in (("train", 30), ("t10k", 10)):
        found[f"{prefix}-images-idx3-ubyte"] = random.integers(0, 256, (points, 5, 4), np.uint8)
        found[f"{prefix}-labels-idx1-ubyte"] = np.arange(points, dtype=np.uint8) % 10
    return found


@pytest.fixture
def contents(arrays, monkeypatch) -> dict[str, bytes]:
    """A small MNIST, whose digests stand in for the real ones, on a machine without mirrors."""
    found = {name: encode_idx(array) for name, array in arrays.items()}
    digests = {name: hashlib.md5(data).hexdigest() for name, data in found.items()}
    monkeypatch.setattr(mnist, "FILES", replace(mnist.FILES, digests=digests))
    set_mirrors(monkeypatch)
    return found


def set_mirrors(monkeypatch: pytest.MonkeyPatch, *mirrors: str) -> None:
    source = replace(mnist.FILES.source, mirrors=mirrors)
    monkeypatch.setattr(mnist, "FILES", replace(mnist.FILES, source=source))


def store(folder: Path, contents: dict[str, bytes], compressed: bool = True) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in contents.items():
        data = gzip.compress(content) if compressed else content
        (folder / (f"{name}.gz" if compressed else name)).write_bytes(data)


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("folder", ["mnist", "."])
def test_reads_either_folder_compressed_or_not(tmp_path, arrays, contents, folder, compressed):
    store(tmp_path / folder, contents, compressed)
    raw = mnist.read(DATA, tmp_path)
    assert np.array_equal(raw.train_x[..., 0], arrays[IMAGES])
    assert raw.train_x.shape == (30, 5, 4, 1)
    assert raw.train_y.dtype == np.int32
    assert raw.test_y.tolist() == list(range(10))
    assert (raw.scale, raw.classes) == (255.0, 10)
    assert raw.sources == {name: hashlib.sha256(data).hexdigest() for name, data in contents.items()}


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


FAULTS = {
    "truncated gzip": lambda content: gzip.compress(content)[:-20],
    "truncated content": lambda content: gzip.compress(content[:-20]),
    "corrupt gzip": lambda content: gzip.compress(content)[:10] + b"\xff" * 50,
    "bit flipped in the gzip": lambda content: flip(gzip.compress(content)),
    "bit flipped in the content": lambda content: gzip.compress(flip(content)),
    "not compressed, bit flipped": flip,
    "an error page": lambda content: b"<html>not found</html>",
    "empty": lambda content: b"",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_file_is_named_and_left_alone(tmp_path, contents, monkeypatch, fault, mirror, snapshot):
    store(tmp_path / "mnist", contents)
    path = tmp_path / "mnist" / f"{IMAGES}.gz"
    path.write_bytes(FAULTS[fault](contents[IMAGES]))
    before = snapshot(tmp_path)
    # a mirror that has it must not be asked either
    with mirror({f"{IMAGES}.gz": gzip.compress(contents[IMAGES])}) as url:
        set_mirrors(monkeypatch, url)
        with pytest.raises(InputError, match="left as it is") as caught:
            mnist.read(DATA, tmp_path)
    assert str(path) in str(caught.value)
    assert snapshot(tmp_path) == before


def test_a_folder_or_dangling_link_in_a_files_place_is_named(tmp_path, contents):
    store(tmp_path / "mnist", contents)
    path = tmp_path / "mnist" / f"{IMAGES}.gz"
    path.unlink()
    path.symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=str(path)):
        mnist.read(DATA, tmp_path)
    assert path.is_symlink()
    path.unlink()
    path.mkdir()
    with pytest.raises(InputError, match=str(path)):
        mnist.read(DATA, tmp_path)


def test_labels_are_checked_whatever_the_digest_says(tmp_path, contents, monkeypatch):
    name = "t10k-labels-idx1-ubyte"
    contents[name] = encode_idx(np.full(10, 10, np.uint8))
    monkeypatch.setitem(mnist.FILES.digests, name, hashlib.md5(contents[name]).hexdigest())
    store(tmp_path, contents)
    with pytest.raises(InputError, match=rf"{name}: label 10 is out of range; labels must be 0\.\.9"):
        mnist.read(DATA, tmp_path)


def compressed_files(contents: dict[str, bytes]) -> dict[str, bytes]:
    return {f"{name}.gz": gzip.compress(content, mtime=0) for name, content in contents.items()}


def test_missing_files_come_from_the_first_mirror_that_has_their_content(
    tmp_path, contents, monkeypatch, mirror, snapshot
):
    good = compressed_files(contents)
    corrupt = {name: data[:-9] for name, data in good.items()}
    other = {name: gzip.compress(b"other") for name in good}
    with mirror({}) as empty, mirror(corrupt) as cut, mirror(other) as wrong, mirror(good) as right:
        set_mirrors(monkeypatch, "http://127.0.0.1:1/", empty, cut, wrong, right)
        raw = mnist.read(DATA, tmp_path)
    assert len(raw.train_x) == 30
    assert snapshot(tmp_path / "mnist") == good
    set_mirrors(monkeypatch)
    assert np.array_equal(mnist.read(DATA, tmp_path).train_x, raw.train_x)


def test_only_missing_files_are_downloaded(tmp_path, contents, monkeypatch, mirror, snapshot):
    store(tmp_path / "mnist", contents, compressed=False)
    (tmp_path / "mnist" / IMAGES).unlink()
    before = snapshot(tmp_path / "mnist")
    wanted = {f"{IMAGES}.gz": gzip.compress(contents[IMAGES])}
    with mirror(wanted) as url:
        set_mirrors(monkeypatch, url)
        mnist.read(DATA, tmp_path)
    assert snapshot(tmp_path / "mnist") == before | wanted


def test_corrupt_downloads_are_refused_and_not_kept(tmp_path, contents, monkeypatch, mirror, snapshot):
    corrupt = {name: flip(data) for name, data in compressed_files(contents).items()}
    with mirror(corrupt) as url:
        set_mirrors(monkeypatch, url)
        with pytest.raises(InputError, match=url):
            mnist.read(DATA, tmp_path)
    assert snapshot(tmp_path) == {}


def test_without_file_and_network_the_message_says_what_to_do(tmp_path, contents, monkeypatch, snapshot):
    set_mirrors(monkeypatch, "http://127.0.0.1:1/")
    with pytest.raises(InputError) as caught:
        mnist.read(DATA, tmp_path)
    for part in (IMAGES, str(tmp_path / "mnist"), "AWT_DATA_DIR", "data.root", "http://127.0.0.1:1/"):
        assert part in str(caught.value)
    assert snapshot(tmp_path) == {}


def test_a_mirror_that_never_answers_is_given_up(tmp_path, contents, monkeypatch):
    monkeypatch.setattr(download, "ANSWER_SECONDS", 0.01)
    set_mirrors(monkeypatch, "http://silent/")
    answer = Event()
    monkeypatch.setattr(download.urllib.request, "urlopen", lambda url, timeout: answer.wait())
    with pytest.raises(InputError, match="http://silent/: no answer within"):
        mnist.read(DATA, tmp_path)
    answer.set()


def test_a_file_in_the_folders_place_is_named_and_kept(tmp_path, contents, monkeypatch, mirror, snapshot):
    (tmp_path / "mnist").write_bytes(b"mine")
    with mirror(compressed_files(contents)) as url:
        set_mirrors(monkeypatch, url)
        with pytest.raises(InputError, match="cannot write the download"):
            mnist.read(DATA, tmp_path)
    assert snapshot(tmp_path) == {"mnist": b"mine"}


@pytest.fixture
def real(monkeypatch) -> Path:
    """The folder of the real files; no mirror is asked for what is not there."""
    set_mirrors(monkeypatch)
    root = Path(os.environ.get("AWT_DATA_DIR") or ".no-data")
    if not any((folder / f"{IMAGES}{end}").exists() for folder in (root / "mnist", root) for end in ("", ".gz")):
        pytest.skip("needs real MNIST: set AWT_DATA_DIR to a folder that has mnist/")
    return root


def test_the_real_files(real):
    raw = mnist.read(DATA, real)
    assert raw.train_x.shape == (60000, 28, 28, 1)
    assert raw.test_x.shape == (10000, 28, 28, 1)
    assert np.bincount(raw.train_y).tolist() == [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949]
    assert raw.train_y[:5].tolist() == [5, 0, 4, 1, 9]


@pytest.mark.parametrize("fault", ["truncated gzip", "bit flipped in the gzip", "not compressed, bit flipped"])
def test_a_faulty_copy_of_a_real_file_is_named(tmp_path, real, fault, snapshot):
    name = "t10k-labels-idx1-ubyte"
    found = next(path for folder in (real / "mnist", real) for path in folder.glob(f"{name}*"))
    content = found.read_bytes()
    content = gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content
    copy = tmp_path / found.name
    copy.write_bytes(FAULTS[fault](content))
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=name) as caught:
        mnist.read(DATA, tmp_path)
    assert str(copy) in str(caught.value)
    assert snapshot(tmp_path) == before
