"""The data sets that pipelines read, in memory."""

from pathlib import Path
from typing import Any

from awt.api.arguments import plain
from awt.data.dataset import Dataset, arrays, from_arrays
from awt.data.options import Data
from awt.data.prepare import READERS, data_root
from awt.data.split import stratified_split
from awt.params.checking import checked


def dataset(name: str = "digits", **options: Any) -> Dataset:
    """Reads a data set by name, split and scaled as pipelines have it: train_x, train_y, validation_x, …, mean, std.

    Args:
      name: "digits", "mnist", "fashion_mnist", "cifar10", "cifar100", "gaussian", or "npz" or "folder" with a `path`.
      options: as in the section `data` of params.yaml, e.g. train_limit=1000. Downloads go to `root`, else
        $AWT_DATA_DIR, else the folder data.
    """
    asked = checked(Data, plain({"name": name, **options}), "dataset")
    raw = READERS[asked.name](asked, data_root(asked, Path.cwd()))
    own_test = None if raw.test_y is None else len(raw.test_y)
    return from_arrays(arrays(raw, stratified_split(raw.train_y, raw.classes, own_test, asked)))
