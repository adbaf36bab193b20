"""What is known of an experiment's data before it is prepared: its shape, its classes, the sizes of its parts.

A data set that the table lacks, and that is no file with a header, is known once it was prepared.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from awt.artifacts import read_json
from awt.data import gaussian
from awt.data.options import Data
from awt.data.split import PARTS, stratified_split
from awt.errors import InputError
from awt.planning.dry import not_known
from awt.runtime.cell import Source
from awt.workflows.running import DESCRIBED
from awt.workflows.workflow import ARTIFACTS

DATASET = f"{ARTIFACTS}/data/dataset.npz"

Outline = dict[str, Any]  # what matters of dataset.json, and as `itemsize` the bytes of a stored value


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


def foresee(params: Any) -> dict[str, Any]:
    """What the stage that prepares data will write, of the parameters' `data`, in the folder of the experiment."""
    outline, prepared = foreseen(params.data, Path())
    return {DESCRIBED: outline, DATASET: prepared or not_known(DATASET)}


def foreseen(data: Data, folder: Path) -> tuple[Outline, Source | None]:
    """Of the prepared data, where that is what the parameters ask for; else of the table or the file's header."""
    outline = _expected(data)
    if (folder / DESCRIBED).exists() and (folder / DATASET).exists():
        prepared = read_json(folder / DESCRIBED)
        if _is_asked_for(prepared, outline, data):
            itemsize = 1 if outline is None else outline["itemsize"]
            return {**prepared, "itemsize": itemsize}, Source.of(folder / DATASET)
    if outline is None:
        raise InputError(
            f"params.yaml: data.name: nothing is known of {data.path or data.name} yet: "
            "run the prepare stage first (`dvc repro prepare`)"
        )
    return outline, None


def _is_asked_for(prepared: Mapping[str, Any], outline: Outline | None, data: Data) -> bool:
    if (prepared["name"], prepared["seed"]) != (data.name, data.seed):
        return False
    if data.sha256 is not None and data.sha256 not in prepared["sources"].values():
        return False
    if data.name == "gaussian" and prepared["sources"] != gaussian.read(data, Path()).sources:
        return False
    return outline is None or all(prepared[name] == outline[name] for name in ("shape", "classes", "counts"))


def _expected(data: Data) -> Outline | None:
    if data.name == "npz" and data.path is not None:
        return _of_file(data, Path(data.path)) if Path(data.path).is_file() else None
    mixture = Known((1, data.gaussian.dimension, 1), data.gaussian.points, None, 2)
    known = (KNOWN | {"gaussian": mixture}).get(data.name)
    if known is None:
        return None
    labels = np.arange(known.points) % known.classes  # how classes are shared out does not change the parts' sizes
    return _outline(known.shape, known.classes, labels, known.test, data, 4 if data.name == "gaussian" else 1)


def _outline(
    shape: tuple[int, int, int], classes: int, labels: np.ndarray, test: int | None, data: Data, itemsize: int
) -> Outline:
    """Statistics, which only the points tell, are such as any data might have."""
    split = stratified_split(labels, classes, test, data)
    counts = {part: len(getattr(split, part)) for part in PARTS}
    statistics = {name: [0.25] * shape[2] for name in ("mean", "std")}
    return {"shape": list(shape), "classes": classes, "counts": counts, "itemsize": itemsize, **statistics}


def _of_file(data: Data, path: Path) -> Outline:
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
    height, width, channels = (1, shape[1], 1) if len(shape) == 2 else (*shape[1:], 1)[:3]
    return _outline((height, width, channels), int(labels.max()) + 1, labels, test, data, itemsize)


def _header(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], int]:
    """An array's shape and the bytes of a value as it will be stored: bytes stay, floats become float32."""
    with archive.open(f"{name}.npy") as member:
        version = np.lib.format.read_magic(member)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
    return shape, 1 if dtype == np.uint8 else 4
