"""The user's own file: every form it may have, and every fault named with its file and array."""

import io
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.artifacts import sha256
from awt.data import npz
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.errors import InputError

X = np.arange(6 * 2 * 3, dtype=np.uint8).reshape(6, 2, 3)
Y = np.array([0, 1, 2, 0, 1, 2])


def encode(**arrays: object) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def read(path: Path | str, digest: str | None = None) -> Raw:
    return npz.read(Data(name="npz", path=str(path), sha256=digest), Path("unused"))


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "mine.npz"


@pytest.mark.parametrize(
    ("shape", "expected"), [((6, 6), (6, 1, 6, 1)), ((6, 2, 3), (6, 2, 3, 1)), ((6, 1, 2, 3), (6, 1, 2, 3))]
)
@pytest.mark.parametrize("kind", [np.uint8, np.float16, np.float32, np.float64, ">f4"])
def test_shapes_and_types(path, shape, expected, kind):
    x = X.reshape(shape) if kind is np.uint8 else (X.reshape(shape) / 64).astype(kind)
    path.write_bytes(encode(x=x, y=Y))
    raw = read(path)
    assert raw.train_x.shape == expected
    assert raw.train_x.dtype == (np.uint8 if kind is np.uint8 else np.float32)
    assert np.array_equal(raw.train_x.ravel(), x.ravel())
    assert raw.scale == (255.0 if kind is np.uint8 else 1.0)
    assert raw.train_y.dtype == np.int32
    assert raw.train_y.tolist() == Y.tolist()
    assert raw.classes == 3
    assert raw.test_x is None
    assert raw.sources == {"mine.npz": sha256(path.read_bytes())}


def test_own_test_set_compressed_and_with_other_arrays(path):
    np.savez_compressed(
        path, x=X, y=Y.astype(np.uint8), x_test=X[:2], y_test=[2, 2], names=np.array(["a", None], object)
    )
    raw = read(path)
    assert np.array_equal(raw.test_x[..., 0], X[:2])
    assert raw.test_y.tolist() == [2, 2]


def test_a_relative_path_starts_at_the_current_folder(path, monkeypatch):
    path.write_bytes(encode(x=X, y=Y))
    monkeypatch.chdir(path.parent)
    assert len(read("mine.npz").train_x) == 6


def test_the_digest_is_checked_or_told(path, capsys):
    path.write_bytes(encode(x=X, y=Y))
    digest = sha256(path.read_bytes())
    read(path)
    note = capsys.readouterr().out
    assert note.count("\n") == 1
    assert digest in note
    read(path, digest)
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError, match=rf"{path}: its sha256 is {digest}, but data\.sha256 says {'0' * 64}"):
        read(path, "0" * 64)


def with_value(value: float) -> np.ndarray:
    x = np.zeros(X.shape)
    x[3, 1, 2] = value
    return x


OBJECTS = np.array([{}] * 6, object)
FLOATS = X / 255
FAULTS = {
    "objects as pixels": ({"x": OBJECTS, "y": Y}, "x: not a readable plain array"),
    "objects as labels": ({"x": X, "y": OBJECTS}, "y: not a readable plain array"),
    "NaN": ({"x": with_value(np.nan), "y": Y}, r"x: 1 value\(s\) not finite, first nan at \[3, 1, 2\]"),
    "infinite": ({"x": with_value(np.inf), "y": Y}, "x: .*not finite"),
    "above 1": ({"x": with_value(1.5), "y": Y}, r"x: 1 value\(s\) outside \[0, 1\], first 1.5"),
    "below 0": ({"x": with_value(-0.1), "y": Y}, r"x: .*outside \[0, 1\]"),
    "0..255 as floats": ({"x": X.astype(float), "y": Y}, r"x: .*outside \[0, 1\]"),
    "pixels of int64": ({"x": X.astype(int), "y": Y}, "x: type int64; it must be uint8"),
    "pixels of strings": ({"x": X.astype(str), "y": Y}, "x: type <U"),
    "pixels of complex": ({"x": X.astype(complex), "y": Y}, "x: type complex128"),
    "one dimension": ({"x": X[:, 0, 0], "y": Y}, r"x: shape \[6\]; it must be"),
    "five dimensions": ({"x": X[:, None, None], "y": Y}, r"x: shape \[6, 1, 1, 2, 3\]"),
    "no points": ({"x": X[:0], "y": Y[:0]}, r"x: shape \[0, 2, 3\]"),
    "no pixels": ({"x": X[:, :0], "y": Y}, r"x: shape \[6, 0, 3\]"),
    "lengths": ({"x": X, "y": Y[:5]}, "y: 5 labels for 6 points"),
    "labels as columns": ({"x": X, "y": Y[:, None]}, r"y: labels of shape \[6, 1\]"),
    "float labels": ({"x": X, "y": Y.astype(float)}, "y: labels of type float64; they must be integers"),
    "boolean labels": ({"x": X, "y": Y > 0}, "y: labels of type bool"),
    "negative label": ({"x": X, "y": Y - 1}, "y: label -1 is negative"),
    "gap": ({"x": X, "y": Y * 2}, "y: class 1 has no points though label 4 is there"),
    "labels from 1": ({"x": X, "y": Y + 1}, "y: class 0 has no points"),
    "huge label": ({"x": X, "y": np.uint64(Y) * np.uint64(2**62)}, "y: class 1 has no points"),
    "one class": ({"x": X, "y": Y * 0}, "y: every label is 0; there must be at least 2 classes"),
    "no x": ({"y": Y}, "no array x; x and y are needed"),
    "no y": ({"x": X}, "no array y"),
    "neither": ({"pixels": X}, "no array x and no array y"),
    "no y_test": ({"x": X, "y": Y, "x_test": X}, "no array y_test; .* go together"),
    "no x_test": ({"x": X, "y": Y, "y_test": Y}, "no array x_test"),
    "other test shape": (
        {"x": X, "y": Y, "x_test": X[:, :1], "y_test": Y},
        r"x_test: points of uint8 \[1, 3, 1\]",
    ),
    "other test type": ({"x": X, "y": Y, "x_test": FLOATS, "y_test": Y}, "x_test: points of float32"),
    "test lengths": ({"x": X, "y": Y, "x_test": X, "y_test": Y[1:]}, "y_test: 5 labels for 6 points"),
    "test label": (
        {"x": X, "y": Y, "x_test": X, "y_test": Y + 1},
        r"y_test: label 3 is out of range.*0\.\.2",
    ),
    "test NaN": ({"x": FLOATS, "y": Y, "x_test": with_value(np.nan), "y_test": Y}, "x_test: .*not finite"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_file_and_array(path, fault):
    arrays, message = FAULTS[fault]
    path.write_bytes(encode(**arrays))
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"^{path}: {message}"):
        read(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "content",
    [b"", b"x,y\n1,2\n", pickle.dumps({"x": [1], "y": [0]}), encode(x=X, y=Y)[:-30], encode(x=X, y=Y)[:100]],
    ids=["empty", "csv", "pickle", "cut at its end", "cut at its start"],
)
def test_what_is_no_npz_is_named(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"^{path}: truncated, or not an .npz"):
        read(path)


def test_an_npy_is_no_npz(path):
    with path.open("wb") as file:
        np.save(file, X)
    with pytest.raises(InputError, match=f"^{path}: truncated, or not an .npz"):
        read(path)


def test_a_member_that_is_no_array_is_named(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", "hello")
        archive.writestr("y.npy", "hello")
    with pytest.raises(InputError, match=f"^{path}: x: not a readable plain array"):
        read(path)


def test_a_missing_file_or_a_folder_is_named(path):
    with pytest.raises(InputError, match=rf"^{path} not found .*data\.path"):
        read(path)
    path.mkdir()
    with pytest.raises(InputError, match=rf"^{path}: not readable .*data\.path"):
        read(path)


@settings(max_examples=300)
@given(st.data(), st.booleans())
def test_damage_anywhere_is_refused_or_harmless(tmp_path_factory, data, compressed):
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    (np.savez_compressed if compressed else np.savez)(path, x=X, y=Y)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        raw = read(path)
    except InputError:  # anything else is a crash
        return
    assert np.array_equal(raw.train_x[..., 0], X)
    assert np.array_equal(raw.train_y, Y)
