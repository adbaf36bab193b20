"""A trained network as files for others: arrays, and a description that says how to use them.

weights.npz has the whole network, with a 0 for each pruned weight; compact.npz the same function without the units, and
without the pixels, that the pruned weights cut off; network.json the layers of both, in order. Both take whole images
[n, height, width, channels] in [0, 1]. A forward pass scaled as `ntk` has it is scaled in the exported weights.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from awt.artifacts import Arrays, encode_json, encode_npz
from awt.models.compact import compact
from awt.models.layers import Conv, Dense, Flatten, Layer, MaxPool, Normalise, Relu
from awt.models.network import Network, Weights, nonzero

FORMAT_VERSION = 1
PIXELS = "pixels"  # the array of the values, of an image as a row, that the compacted network sees


@dataclass(frozen=True, eq=False)
class Exported:
    """A network as numpy arrays by name, and its layers in order as network.json has them."""

    arrays: Arrays
    layers: list[dict[str, Any]]
    multiply_adds: int  # for an image

    def as_json(self, file: str) -> dict[str, Any]:
        sizes = {
            name: [array for key, array in self.arrays.items() if key.endswith(name)] for name in ("kernel", "bias")
        }
        return {
            "file": file,
            "layers": self.layers,
            "weights": sum(kernel.size for kernel in sizes["kernel"]),
            "nonzero_weights": sum(int(np.count_nonzero(kernel)) for kernel in sizes["kernel"]),
            "biases": sum(bias.size for bias in sizes["bias"]),
            "multiply_adds": self.multiply_adds,
        }


def whole(network: Network, weights: Weights, shape: tuple[int, int, int]) -> Exported:
    """The network as it is, for images of a shape."""
    return _exported(*_unscaled(network, weights), shape, None)


def compacted(network: Network, weights: Weights, shape: tuple[int, int, int]) -> Exported:
    """The same function with the units alone that take part in it."""
    network, weights = _unscaled(network, weights)
    narrow = compact(network, weights, nonzero(weights), pixels=True, step=1, least=0)
    channels = shape[2]
    seen = None
    if isinstance(network.weighted[0], Dense) and narrow.network.weighted[0].inputs < network.weighted[0].inputs:
        seen = (narrow.kept[0][:, None] * channels + np.arange(channels)).ravel()
    return _exported(narrow.network, narrow.weights(weights), shape, seen)


def files(
    full: Exported, small: Exported, shape: tuple[int, int, int], classes: int, source: Mapping[str, Any]
) -> dict[str, bytes]:
    """weights.npz, compact.npz and network.json."""
    networks = {"whole": full.as_json("weights.npz"), "compact": small.as_json("compact.npz")}
    normalise = next(layer for layer in full.layers if layer["kind"] == "normalise")
    about = {
        "format_version": FORMAT_VERSION,
        "input": {"shape": list(shape), "axes": ["height", "width", "channels"], "range": [0, 1]},
        "normalise": {name: normalise[name] for name in ("mean", "std")},
        "classes": classes,
        "density": networks["whole"]["nonzero_weights"] / networks["whole"]["weights"],
        "networks": networks,
        "source": dict(source),
    }
    return {
        "weights.npz": encode_npz(full.arrays),
        "compact.npz": encode_npz(small.arrays),
        "network.json": encode_json(about),
    }


def _unscaled(network: Network, weights: Weights) -> tuple[Network, Weights]:
    """The same function with forward passes that scale nothing."""
    scales = {layer.name: layer.scale for layer in network.weighted}
    layers = tuple(
        replace(layer, init="lecun") if isinstance(layer, Dense | Conv) else layer for layer in network.layers
    )
    return Network(layers), {
        name: {"kernel": part["kernel"] * scales[name], "bias": part["bias"]} for name, part in weights.items()
    }


def _exported(network: Network, weights: Weights, shape: tuple[int, int, int], seen: np.ndarray | None) -> Exported:
    arrays: Arrays = {} if seen is None else {PIXELS: seen.astype(np.int64)}
    layers = []
    height, width, _ = shape
    multiply_adds = 0
    for layer in network.layers:
        layers.append(_described(layer))
        if isinstance(layer, Flatten) and seen is not None:
            layers.append({"kind": "select", "index": PIXELS, "count": len(seen)})
        if isinstance(layer, MaxPool):
            height, width = height // 2, width // 2
        if isinstance(layer, Dense | Conv):
            arrays |= {f"{layer.name}/{part}": np.asarray(array) for part, array in weights[layer.name].items()}
            positions = height * width if isinstance(layer, Conv) else 1
            multiply_adds += positions * arrays[f"{layer.name}/kernel"].size
    return Exported(arrays, layers, multiply_adds)


def _described(layer: Layer) -> dict[str, Any]:
    match layer:
        case Normalise():
            return {"kind": "normalise", "mean": list(layer.mean), "std": list(layer.std)}
        case Relu():
            return {"kind": "relu"}
        case Flatten():
            return {"kind": "flatten"}
        case MaxPool():
            return {"kind": "maxpool", "size": 2, "stride": 2}
    size = {"size": layer.size, "padding": "same", "stride": 1} if isinstance(layer, Conv) else {}
    names = {part: f"{layer.name}/{part}" for part in ("kernel", "bias")}
    kind = "conv" if isinstance(layer, Conv) else "dense"
    return {"kind": kind, "name": layer.name, "inputs": layer.inputs, "units": layer.units, **size, **names}
