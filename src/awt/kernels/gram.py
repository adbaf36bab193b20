"""The cell that computes one tile of a Gram matrix."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax

from awt.artifacts import Buffer, encode_npy
from awt.data.dataset import decode
from awt.kernels.exact import tangent_kernel
from awt.models.network import decode_weights
from awt.models.zoo import build
from awt.params import Model
from awt.runtime import Context

_kernel = jax.jit(tangent_kernel, static_argnums=0, static_argnames=("projected", "shape"))


def tile(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: the class-traced tangent kernel between two ranges of training points."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(Model.of(params["model"]), dataset)
    weights = decode_weights(inputs["weights"], "initial.npz")
    points = partial(_range, dataset.train_x)
    return {
        "tile.npy": encode_npy(
            _kernel(network, weights, points(params["rows"]), points(params["columns"]), shape="trace")
        )
    }


def _range(x: Any, bounds: tuple[int, int]) -> Any:
    return x[slice(*bounds)]
