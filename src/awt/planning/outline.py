"""What is known of an experiment's data before it is prepared: its shape, its classes, the sizes of its parts.

A data set that the table lacks, and that is no file with a header, is known once it was prepared.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from awt import params
from awt.artifacts import read_json
from awt.data.split import PARTS, stratified_split
from awt.errors import InputError
from awt.runtime.cell import Source


class Known(NamedTuple):
    """A published data set: its images' shape, its points, those of its own test set, its classes."""

    shape: tuple[int, int, int]
    points: int
    test: int | None
    classes: int


KNOWN = {
    "digits": Known((8, 8, 1), 1797, None, 10),
    "mnist": Known((28, 28, 1), 60_000, 10_000, 10),
    "fashion_mnist": Known((28, 28, 1), 60_000, 10_000, 10),
    "cifar10": Known((32, 32, 3), 50_000, 10_000, 10),
    "cifar100": Known((32, 32, 3), 50_000, 10_000, 100),
}


@dataclass(frozen=True)
class Outline:
    """A data set's shape, classes and points by part; once prepared, also its file and statistics."""

    shape: tuple[int, int, int]
    classes: int
    counts: Mapping[str, int]
    itemsize: int = 1  # bytes of a stored value
    prepared: Source | None = None
    statistics: Mapping[str, Any] | None = None  # mean and std, by channel

    @property
    def pixels(self) -> int:
        height, width, channels = self.shape
        return height * width * channels

    @property
    def points(self) -> int:
        return sum(self.counts.values())

    def described(self) -> dict[str, Any]:
        """As dataset.json has it; where statistics are not known, such as any data might have."""
        channels = self.shape[2]
        found = self.statistics or {"mean": [0.25] * channels, "std": [0.25] * channels}
        return {"shape": list(self.shape), "classes": self.classes, "counts": dict(self.counts), **found}


def outline(data: params.Data, artifacts: Path) -> Outline:
    """Of the prepared data, where that is what the parameters ask for; else of the table or the file's header."""
    expected = _expected(data)
    path = artifacts / "data" / "dataset.json"
    if path.exists() and (artifacts / "data" / "dataset.npz").exists():
        found = read_json(path)
        if _is_asked_for(found, expected, data):
            return Outline(
                shape=tuple(found["shape"]),
                classes=found["classes"],
                counts=found["counts"],
                itemsize=1 if expected is None else expected.itemsize,
                prepared=Source.of(artifacts / "data" / "dataset.npz"),
                statistics={name: found[name] for name in ("mean", "std")},
            )
    if expected is None:
        raise InputError(
            f"params.yaml: data.name: nothing is known of {data.path or data.name} yet: "
            "run the prepare stage first (`dvc repro prepare`)"
        )
    return expected


def _is_asked_for(found: Mapping[str, Any], expected: Outline | None, data: params.Data) -> bool:
    if (found["name"], found["seed"]) != (data.name, data.seed):
        return False
    if data.sha256 is not None and data.sha256 not in found["sources"].values():
        return False
    if expected is None:
        return True
    theirs = tuple(found["shape"]), found["classes"], found["counts"]
    return theirs == (expected.shape, expected.classes, dict(expected.counts))


def _expected(data: params.Data) -> Outline | None:
    if data.name == "npz" and data.path is not None:
        return _of_file(data, Path(data.path)) if Path(data.path).is_file() else None
    mixture = Known((1, data.gaussian.dimension, 1), data.gaussian.points, None, 2)
    known = (KNOWN | {"gaussian": mixture}).get(data.name)
    if known is None:
        return None
    labels = np.arange(known.points) % known.classes  # how classes are shared out does not change the parts' sizes
    itemsize = 4 if data.name == "gaussian" else 1
    return Outline(known.shape, known.classes, _counts(labels, known.classes, known.test, data), itemsize)


def _counts(labels: np.ndarray, classes: int, test: int | None, data: params.Data) -> dict[str, int]:
    split = stratified_split(labels, classes, test, data)
    return {part: len(getattr(split, part)) for part in PARTS}


def _of_file(data: params.Data, path: Path) -> Outline:
    """Of an .npz: the labels, and of the images no more than the header."""
    try:
        with zipfile.ZipFile(path) as archive:
            shape, itemsize = _header(archive, "x")
            labels = np.lib.format.read_array(io.BytesIO(archive.read("y.npy")), allow_pickle=False).astype(int)
            test = _header(archive, "x_test")[0][0] if "x_test.npy" in archive.namelist() else None
        if len(shape) not in (2, 3, 4) or labels.shape != shape[:1] or labels.min() < 0:
            raise ValueError(f"x {list(shape)} and y {list(labels.shape)} do not go together")
    except (ValueError, OSError, KeyError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise InputError(f"params.yaml: data.path: {path} is not a readable .npz with x and y ({error})") from None
    classes = int(labels.max()) + 1
    height, width, channels = (1, shape[1], 1) if len(shape) == 2 else (*shape[1:], 1)[:3]
    return Outline((height, width, channels), classes, _counts(labels, classes, test, data), itemsize)


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], int]:
    """An array's shape and the bytes of a value as it will be stored: bytes stay, floats become float32."""
    with archive.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    return shape, 1 if dtype == np.uint8 else 4
