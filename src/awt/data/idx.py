"""Data sets in the form of MNIST: four IDX files, gzipped or not."""

import gzip
import math
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from awt import artifacts
from awt.data.checks import labels
from awt.data.dataset import Raw
from awt.data.published import Present, Source, checked, download, first_of, md5
from awt.errors import InputError

CLASSES = 10


@dataclass(frozen=True)
class Files:
    """The four files of a data set by their md5.

    Digests are of the decompressed content, since gzip's own bytes differ from one copy to the next, or, where only
    those are known, of the gzipped files as published (`compressed`); then no other copy can be verified.
    """

    source: Source
    digests: dict[str, str]
    compressed: bool = False
    in_root: bool = False  # looked for in the data folder itself, too


def read(files: Files, root: Path) -> Raw:
    # every local file first: a corrupt one is reported before anything is downloaded
    found = {name: _local(files, name, root) for name in files.digests}
    contents = {
        name: download(files.source, f"{name}.gz", root, _verified(files, name)) if content is None else content
        for name, content in found.items()
    }
    train_x, train_y = _points("train", contents)
    test_x, test_y = _points("t10k", contents)
    sources = {name: artifacts.sha256(content) for name, content in contents.items()}
    return Raw(train_x, train_y, test_x, test_y, scale=255.0, classes=CLASSES, sources=sources)


def present(files: Files, root: Path) -> Present:
    paths = {name: _path(files, name, root) for name in files.digests}
    for name in files.digests:
        _local(files, name, root)
    return Present(
        tuple(path for path in paths.values() if path is not None),
        tuple(f"{name}.gz" for name, path in paths.items() if path is None),
    )


def parse_idx(content: bytes, source: str) -> np.ndarray:
    """The array of a decompressed IDX file of bytes; `source` names it in errors."""
    if len(content) < 4 or content[:3] != b"\0\0\x08" or len(content) < 4 + 4 * content[3]:
        raise InputError(f"{source}: starts with {content[:4].hex() or 'nothing'}, which is no IDX file of bytes")
    start = 4 + 4 * content[3]
    shape = struct.unpack(f">{content[3]}I", content[4:start])
    if len(content) - start != math.prod(shape):
        raise InputError(f"{source}: {len(content) - start} values; its shape {list(shape)} needs {math.prod(shape)}")
    return np.frombuffer(content, np.uint8, offset=start).reshape(shape)


def _points(prefix: str, contents: dict[str, bytes]) -> tuple[np.ndarray, np.ndarray]:
    images, targets = f"{prefix}-images-idx3-ubyte", f"{prefix}-labels-idx1-ubyte"
    x = parse_idx(contents[images], images)
    if x.ndim != 3:
        raise InputError(f"{images}: shape {list(x.shape)}; images must be [n, height, width]")
    y = labels(parse_idx(contents[targets], targets), len(x), CLASSES, targets)
    return x[..., np.newaxis], y


def _path(files: Files, name: str, root: Path) -> Path | None:
    folders = [root / files.source.folder, *([root] if files.in_root else [])]
    return first_of(folder / file for folder in folders for file in (f"{name}.gz", name))


def _local(files: Files, name: str, root: Path) -> bytes | None:
    """The verified content of a file on this machine, or None where there is none."""
    path = _path(files, name, root)
    return None if path is None else checked(path, f"{files.source.title}'s {name}", _verified(files, name))


def _verified(files: Files, name: str) -> Callable[[Path], bytes]:
    """A file's decompressed content, or a ValueError that says what is wrong with it."""

    def verified(path: Path) -> bytes:
        data = path.read_bytes()
        content = _decompressed(data)
        digest = md5(data if files.compressed else content)
        if digest != files.digests[name]:
            of = f"{name}.gz as published" if files.compressed else "the decompressed content"
            raise ValueError(f"its md5 is {digest}; that of {of} is {files.digests[name]}")
        return content

    return verified


def _decompressed(data: bytes) -> bytes:
    try:
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"truncated or corrupt gzip ({error})") from None
