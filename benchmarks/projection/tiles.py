"""Tiles of Gram matrices, of random points the size of MNIST's."""

from itertools import islice
from pathlib import Path
from typing import Any

MODELS: dict[str, dict[str, Any]] = {
    "mlp": {"name": "awt.models.mlp:MLP", "widths": [300, 100], "init": "glorot"},
    "cnn": {"name": "awt.models.cnn:CNN", "widths": [32, 64, 1024], "init": "he"},
    "vgg16": {"name": "awt.models.vgg16:VGG16", "widths": [64, 128, 256, 512, 512], "init": "he"},
}
MNIST = {"shape": [28, 28, 1], "classes": 10, "mean": [0.13], "std": [0.31]}
IMAGENET = {"shape": [224, 224, 3], "classes": 10, "mean": [0.5] * 3, "std": [0.25] * 3}


def tile_cells(folder: Path, name: str, side: int, count: int) -> list[Any]:
    """The first tiles of a traced Gram matrix of random points the size of MNIST's."""
    from awt.models.architecture import Model
    from awt.options import from_json
    from awt.runtime.cell import Source
    from awt.services.gram import PointSet, Request, Subject, tile_cell

    weights, x = (Source.of(folder / file) for file in (f"{name}.npz", "x.npy"))
    subject = Subject("dense", 1.0, 0, False, from_json(Model, MODELS[name]), MNIST, weights)
    request = Request(subject, PointSet("train", 4096, x))
    return [tile_cell(request, tile, side) for tile in islice(request.index(side).tiles(), count)]


def write_inputs(folder: str) -> str:
    """Random points and initial weights, in files."""
    import numpy as np

    from awt.artifacts import encode_npy, write
    from awt.models.network import encode_weights

    x = np.random.default_rng(0).random((4096, 28, 28, 1), np.float32)
    write(Path(folder, "x.npy"), encode_npy(x))
    for name in ("mlp", "cnn"):
        write(Path(folder, f"{name}.npz"), encode_weights(network(name, MNIST).initialise(0)))
    return folder


def network(name: str, data: dict[str, Any]) -> Any:
    from awt.data.dataset import Description
    from awt.models.architecture import Model, build
    from awt.options import from_json

    return build(from_json(Model, MODELS[name]), Description.of(data))
