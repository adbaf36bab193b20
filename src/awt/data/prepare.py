"""Reading a data set and splitting it, into the files that every later stage starts from."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from awt.artifacts import FORMAT_VERSION, Arrays, encode_json, encode_npz
from awt.data import cifar10, cifar100, digits, fashion_mnist, folder, gaussian, mnist, npz
from awt.data.dataset import Raw, arrays
from awt.data.options import Data
from awt.data.published import Present
from awt.data.split import PARTS, stratified_split

# by data.name; the second argument is the folder of downloaded files
READERS: dict[str, Callable[[Data, Path], Raw]] = {
    "cifar10": cifar10.read,
    "cifar100": cifar100.read,
    "digits": digits.read,
    "fashion_mnist": fashion_mnist.read,
    "folder": folder.read,
    "gaussian": gaussian.read,
    "mnist": mnist.read,
    "npz": npz.read,
}
# of those that are downloaded, what is in the folder already
PRESENT: dict[str, Callable[[Path], Present]] = {
    "cifar10": cifar10.present,
    "cifar100": cifar100.present,
    "fashion_mnist": fashion_mnist.present,
    "mnist": mnist.present,
}


def prepare(data: Data, repository: Path) -> dict[str, bytes]:
    """The stage's files by name; the same parameters and sources give the same bytes."""
    raw = READERS[data.name](data, data_root(data, repository))
    split = stratified_split(raw.train_y, raw.classes, None if raw.test_y is None else len(raw.test_y), data)
    content = arrays(raw, split)
    return {
        "dataset.npz": encode_npz(content),
        "split.npz": encode_npz({part: getattr(split, part) for part in PARTS}),
        "dataset.json": encode_json(_summary(content, raw, data)),
    }


def data_root(data: Data, repository: Path) -> Path:
    """The folder of downloaded files: the parameters' own, else the environment's, else the repository's."""
    return Path(data.root or os.environ.get("AWT_DATA_DIR") or repository / "data")


def _summary(content: Arrays, raw: Raw, data: Data) -> dict[str, Any]:
    per_class = {part: np.bincount(content[f"{part}_y"], minlength=raw.classes).tolist() for part in PARTS}
    return {
        "format_version": FORMAT_VERSION,
        "name": data.name,
        "shape": list(raw.train_x.shape[1:]),
        "classes": raw.classes,
        "counts": {part: sum(counts) for part, counts in per_class.items()},
        "class_counts": per_class,
        "mean": content["mean"].tolist(),
        "std": content["std"].tolist(),
        "sources": raw.sources,
        "seed": data.seed,
    }
