"""The user's own data: one .npz with arrays x and y, and x_test and y_test where it has a test set."""

import io
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from awt.artifacts import Arrays, sha256
from awt.data.checks import check_digest, labels
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.errors import InputError

NAMES = ("x", "y", "x_test", "y_test")
# what zipfile and numpy raise on bytes that are no .npz, or no longer
_CORRUPT = (zipfile.BadZipFile, zlib.error, struct.error, EOFError)
_UNREADABLE = (*_CORRUPT, ValueError, OSError, KeyError, RuntimeError, MemoryError)


def read(data: Data, root: Path) -> Raw:
    if data.path is None:
        raise InputError("data.path is null; with data.name npz it names the file to read")
    path = Path(data.path)
    content = _content(path)
    digest = sha256(content)
    check_digest(digest, path, data.sha256)
    found = _arrays(content, path)
    x, scale = _pixels(found["x"], f"{path}: x")
    y = labels(found["y"], len(x), None, f"{path}: y")
    classes = int(y.max()) + 1
    test_x, test_y = _test(found, x, classes, path)
    return Raw(x, y, test_x, test_y, scale=scale, classes=classes, sources={path.name: digest})


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(
            f"{path} not found in {Path.cwd()}: data.path names an .npz file, relative to the current folder"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: not readable ({error}); data.path names an .npz file") from None


def _arrays(content: bytes, path: Path) -> Arrays:
    """The arrays this reader knows; any others are the user's business, and may even be pickles."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            present = set(archive.namelist())
    except _UNREADABLE as error:
        raise InputError(
            f"{path}: truncated, or not an .npz ({error}); numpy.savez(path, x=x, y=y) writes one"
        ) from None
    known = [name for name in NAMES if f"{name}.npy" in present]
    _check_names(known, path)
    return {name: _array(content, name, path) for name in known}


def _check_names(known: list[str], path: Path) -> None:
    pairs = [("x", "y")]
    if "x_test" in known or "y_test" in known:
        pairs.append(("x_test", "y_test"))
    missing = [name for pair in pairs for name in pair if name not in known]
    if missing:
        raise InputError(
            f"{path}: no array {' and no array '.join(missing)}; x and y are needed, x_test and y_test go together"
        )


def _array(content: bytes, name: str, path: Path) -> np.ndarray:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            # whole, so that its checksum is compared before numpy believes what it says
            member = archive.read(f"{name}.npy")
        return np.asarray(np.lib.format.read_array(io.BytesIO(member), allow_pickle=False))
    except _UNREADABLE as error:
        raise InputError(
            f"{path}: {name}: not a readable plain array ({error}); "
            f"it must hold numbers (no Python objects, no pickles) and be complete"
        ) from None


def _test(found: Arrays, x: np.ndarray, classes: int, path: Path) -> tuple[np.ndarray, np.ndarray] | tuple[None, None]:
    if "x_test" not in found:
        return None, None
    test_x, _ = _pixels(found["x_test"], f"{path}: x_test")
    if (test_x.dtype, test_x.shape[1:]) != (x.dtype, x.shape[1:]):
        raise InputError(
            f"{path}: x_test: points of {test_x.dtype} {list(test_x.shape[1:])}; "
            f"they must be like those of x, {x.dtype} {list(x.shape[1:])} (height, width, channels)"
        )
    return test_x, labels(found["y_test"], len(test_x), classes, f"{path}: y_test")


def _pixels(x: np.ndarray, source: str) -> tuple[np.ndarray, float]:
    """Points as [n, height, width, channels], and the divisor that brings them to [0, 1]."""
    if x.ndim not in (2, 3, 4) or x.size == 0:
        raise InputError(
            f"{source}: shape {list(x.shape)}; it must be [n, height, width], [n, height, width, channels] "
            f"or [n, features], and not empty"
        )
    shaped = x[:, np.newaxis, :, np.newaxis] if x.ndim == 2 else x.reshape(*x.shape[:3], -1)
    if x.dtype == np.uint8:
        return shaped, 255.0
    if not np.issubdtype(x.dtype, np.floating):
        raise InputError(f"{source}: type {x.dtype}; it must be uint8 (0..255) or floating (0..1)")
    _check_range(x, source)
    return shaped.astype(np.float32), 1.0


def _check_range(x: np.ndarray, source: str) -> None:
    for wrong, what in ((~np.isfinite(x), "not finite"), ((x < 0) | (x > 1), "outside [0, 1]")):
        if wrong.any():
            where = np.unravel_index(int(wrong.argmax()), x.shape)
            raise InputError(
                f"{source}: {int(wrong.sum())} value(s) {what}, first {x[where]} at {list(map(int, where))}; "
                f"floating pixels must be finite and in [0, 1]"
            )
