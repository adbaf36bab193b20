"""MNIST: its four IDX files, gzipped or not, found locally or downloaded, and verified either way."""

import gzip
import hashlib
import math
import os
import queue
import struct
import threading
import urllib.request
import zlib
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import numpy as np

from awt import artifacts, params
from awt.data.checks import labels
from awt.data.dataset import Raw
from awt.errors import InputError, is_disk_full

# md5 of the decompressed file: gzip's own bytes differ from one copy to the next
DIGESTS = {
    "train-images-idx3-ubyte": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte": "27ae3e4e09519cfbb04c329615203637",
}
MIRRORS = (
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
)
ANSWER_SECONDS = 4.5  # for one mirror to answer: offline, all of them together stay below ten
LARGEST_DOWNLOAD = 64 * 2**20
CLASSES = 10


def read(data: params.Data, root: Path) -> Raw:
    # every local file first: a corrupt one is reported before anything is downloaded
    found = {name: _local(name, root) for name in DIGESTS}
    contents = {name: _download(name, root) if content is None else content for name, content in found.items()}
    train_x, train_y = _points("train", contents)
    test_x, test_y = _points("t10k", contents)
    sources = {name: artifacts.sha256(content) for name, content in contents.items()}
    return Raw(train_x, train_y, test_x, test_y, scale=255.0, classes=CLASSES, sources=sources)


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


def _folders(root: Path) -> tuple[Path, Path]:
    return root / "mnist", root


def _local(name: str, root: Path) -> bytes | None:
    """The verified content of a file on this machine, or None where there is none."""
    candidates = [folder / file for folder in _folders(root) for file in (f"{name}.gz", name)]
    # a dangling link counts as there: to download over it would destroy what someone set up
    path = next((path for path in candidates if os.path.lexists(path)), None)
    if path is None:
        return None
    try:
        return _verified(path.read_bytes(), name)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: not MNIST's {name}: {error}. It is left as it is; "
            f"remove it to have it downloaded again, or put a good copy in its place"
        ) from None


def _verified(data: bytes, name: str) -> bytes:
    """The decompressed content, or a ValueError that says what is wrong with it."""
    content = _decompressed(data)
    digest = hashlib.md5(content, usedforsecurity=False).hexdigest()
    if digest != DIGESTS[name]:
        raise ValueError(f"md5 of the decompressed content is {digest}, should be {DIGESTS[name]}")
    return content


def _is_gzip(data: bytes) -> bool:
    return data[:2] == b"\x1f\x8b"


def _decompressed(data: bytes) -> bytes:
    try:
        return gzip.decompress(data) if _is_gzip(data) else data
    except (OSError, EOFError, zlib.error) as error:
        raise ValueError(f"truncated or corrupt gzip ({error})") from None


def _download(name: str, root: Path) -> bytes:
    """The content from the first mirror that has it, kept in the data folder once it is verified."""
    refusals = []
    for mirror in MIRRORS:
        try:
            data = _fetch(f"{mirror}{name}.gz")
            content = _verified(data, name)
        except (OSError, HTTPException, ValueError) as error:
            refusals.append(f"{mirror}: {error}")
            continue
        _keep(_folders(root)[0] / (f"{name}.gz" if _is_gzip(data) else name), data)
        return content
    looked = " or ".join(map(str, _folders(root)))
    raise InputError(
        f"MNIST's {name} (or {name}.gz) is not in {looked}, and no mirror gave it ({'; '.join(refusals)}). "
        f"Put the four files of MNIST in {_folders(root)[0]}, or name the folder that has them "
        f"with AWT_DATA_DIR or data.root in params.yaml, or run again with a network"
    )


def _fetch(url: str) -> bytes:
    with _open(url) as response:
        data: bytes = response.read(LARGEST_DOWNLOAD)
    return data


def _open(url: str) -> Any:
    """An answered request. urlopen's timeout leaves out the name lookup and starts anew for every address of
    a host, so the wait is for a thread, which a machine without a network may abandon."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(url, timeout=ANSWER_SECONDS))
        except HTTPError as error:
            error.close()  # it holds the connection
            answers.put(error)
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"no answer within {ANSWER_SECONDS} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _keep(path: Path, data: bytes) -> None:
    try:
        artifacts.write(path, data)
    except OSError as error:
        if is_disk_full(error):
            raise
        raise InputError(
            f"{path}: cannot write the download ({error}); "
            f"name a writable folder with AWT_DATA_DIR or data.root in params.yaml"
        ) from None
