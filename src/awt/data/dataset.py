"""What a reader returns, what later stages work with, and the file format between the two."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from awt.artifacts import FORMAT_VERSION, Arrays, Buffer, decode_npz
from awt.data.split import PARTS, Split
from awt.errors import InputError

_BLOCK = 2**22  # values in float64 at a time, so that statistics of a large data set take little memory


@dataclass(frozen=True, eq=False)
class Raw:
    """A data set as its reader found it: x is [n, height, width, channels], and x / scale is in [0, 1]."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray | None
    test_y: np.ndarray | None
    scale: float
    classes: int
    sources: dict[str, str]  # name -> sha256 of the decompressed content


@dataclass(frozen=True, eq=False)
class Dataset:
    """A data set ready for use: x float32 in [0, 1], y int32; mean and std are per channel, of train_x."""

    train_x: np.ndarray
    train_y: np.ndarray
    validation_x: np.ndarray
    validation_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    mean: np.ndarray
    std: np.ndarray
    classes: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, channels = self.train_x.shape[1:]
        return height, width, channels


@dataclass(frozen=True, eq=False)
class Description:
    """What a network must know of its data, without the data."""

    shape: tuple[int, int, int]
    classes: int
    mean: np.ndarray
    std: np.ndarray

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Description":
        """Of the content of dataset.json, or of what `described` keeps of it."""
        height, width, channels = value["shape"]
        mean, std = (np.asarray(value[name], np.float32) for name in ("mean", "std"))
        return cls((height, width, channels), value["classes"], mean, std)


def described(value: Mapping[str, Any]) -> dict[str, Any]:
    """The part of dataset.json that a `Description` is made of."""
    return {name: value[name] for name in ("shape", "classes", "mean", "std")}


def arrays(raw: Raw, split: Split) -> Arrays:
    """The content of dataset.npz: pixels as stored, since uint8 is a quarter of float32."""
    found: Arrays = {}
    for part in PARTS:
        x, y = _source(raw, part)
        chosen = getattr(split, part)
        found[f"{part}_x"], found[f"{part}_y"] = x[chosen], y[chosen]
    found["mean"], found["std"] = moments(found["train_x"], raw.scale)
    found["scale"] = np.array(raw.scale, np.float32)
    found["classes"] = np.array(raw.classes, np.int32)
    found["format_version"] = np.array(FORMAT_VERSION, np.int32)
    return found


def decode(data: Buffer, source: str) -> Dataset:
    """The data set of a dataset.npz; `source` names it in errors."""
    names = [f"{part}_{axis}" for part in PARTS for axis in "xy"] + ["mean", "std", "scale", "classes"]
    return from_arrays(_found(data, source, names))


def from_arrays(found: Arrays) -> Dataset:
    """The data set of what `arrays` gives."""
    scale = found["scale"].astype(np.float32)
    pixels = {f"{part}_x": _unit(found[f"{part}_x"], scale) for part in PARTS}
    labels = {f"{part}_y": found[f"{part}_y"] for part in PARTS}
    return Dataset(**pixels, **labels, mean=found["mean"], std=found["std"], classes=int(found["classes"]))


def decode_first(data: Buffer, source: str, part: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The first so many points of a part, x and y as in a `Dataset`, without the rest of it in memory."""
    x, y = f"{part}_x", f"{part}_y"
    found = _found(data, source, [x, y, "scale"])
    if not 1 <= count <= len(found[y]):
        raise InputError(f"{source}: {count} {part} points asked for; it has {len(found[y])}")
    return _unit(found[x][:count], found["scale"].astype(np.float32)), found[y][:count]


def _found(data: Buffer, source: str, names: list[str]) -> Arrays:
    """The named arrays of a dataset.npz, once it is known to be one."""
    names = ["format_version", *names]
    found = decode_npz(data, source, names)
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(f"{source}: no array {', '.join(missing)}; a dataset.npz of the data stage has them all")
    version = int(found["format_version"])
    if version != FORMAT_VERSION:
        raise InputError(f"{source}: format version {version}; this code reads {FORMAT_VERSION}: run the data stage")
    return found


def _source(raw: Raw, part: str) -> tuple[np.ndarray, np.ndarray]:
    if part == "test" and raw.test_x is not None and raw.test_y is not None:
        return raw.test_x, raw.test_y
    return raw.train_x, raw.train_y


def _unit(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    found = x.astype(np.float32)
    found /= scale
    return found


def moments(x: np.ndarray, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation of each channel, over all its pixels."""
    pixels = x[..., 0].size
    points = max(1, _BLOCK // x[0].size)
    blocks = range(0, len(x), points)

    def block(start: int) -> np.ndarray:
        return x[start : start + points].astype(np.float64)

    mean = sum(block(start).sum(axis=(0, 1, 2)) for start in blocks) / pixels
    variance = sum(((block(start) - mean) ** 2).sum(axis=(0, 1, 2)) for start in blocks) / pixels
    return (mean / scale).astype(np.float32), (np.sqrt(variance) / scale).astype(np.float32)
