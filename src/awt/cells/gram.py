"""The cells of a Gram matrix: one plans the tiles' side within a memory budget, the others compute a tile each."""

import math
from collections.abc import Mapping
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from awt.artifacts import Buffer, encode_json, encode_npy, view_npy
from awt.attacks.examples import padded
from awt.cells.points import subject
from awt.data.dataset import Description
from awt.errors import InputError, WorkError
from awt.kernels.exact import tangent_kernel
from awt.kernels.infinite import infinite_kernels
from awt.kernels.tiles import DTYPE
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.network import Masks, Network, Weights
from awt.options import from_json

LARGEST_SIDE = 512  # beyond it tiles are no faster, and too few for a cluster
STEP = 8  # sides are multiples of it, which vector units like
COPIES = 2  # of a tile beside the program's own output: its file, and that in the cluster's shared memory

_kernel = jax.jit(tangent_kernel, static_argnums=0, static_argnames=("projected", "shape"))


def tile(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: the tangent kernel between a range of points and a range of the same or of others."""
    network, weights, mask = subject(params, inputs)
    down, across = slice(*params["rows"]), slice(*params["columns"])
    rows = view_npy(inputs["rows"], "rows.npy")[down]
    columns = view_npy(inputs["columns" if "columns" in inputs else "rows"], "columns.npy")[across]
    if params["engine"] == "exact":
        height, width = params["program"]
        arguments = padded(rows, height), padded(columns, width), mask
        found = _kernel(network, weights, *arguments, projected=params["projected"], shape=params["shape"])
        block = np.asarray(found, DTYPE)[: len(rows), : len(columns)]
    else:
        block = _infinite(network, rows, columns, params["shape"])
    if not np.isfinite(block.sum(dtype=np.float64)):
        raise WorkError("the kernel is not finite: the network's training diverged")
    return {"tile.npy": encode_npy(block)}


def _infinite(network: Network, rows: np.ndarray, columns: np.ndarray, shape: str) -> np.ndarray:
    """Of the infinitely wide network: the same for every class, and nothing between classes."""
    classes = network.weighted[-1].units
    ntk = infinite_kernels(network, rows, columns).ntk.astype(DTYPE)
    return classes * ntk if shape == "trace" else ntk[:, :, None, None] * np.eye(classes, dtype=DTYPE)


def plan(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: the side of the largest tiles whose computation stays within a memory budget, and what it takes.

    The side starts at all points, 512 at most. A program that needs more than there is shrinks by the square root of
    the excess, since a tile's bytes grow with the square of its side; then the points are spread evenly over the tiles.
    """
    network = build(from_json(Model, params["model"]), Description.of(params["data"]))
    points, budget = max(params["counts"]), params["memory_gb"] * 2**30
    needed = cache(partial(_bytes if params["engine"] == "exact" else _infinite_bytes, network, params))
    side = min(points, LARGEST_SIDE)
    while needed(side) > budget:
        watch.log(f"a side of {side} takes {needed(side)} bytes")
        if side == 1:
            raise InputError(
                f"kernel.tile_memory_gb: {params['memory_gb']:g} is too little: even a tile of a single pair of points "
                f"takes {needed(1) / 2**30:.2g}"
            )
        side = min(side - 1, max(1, _rounded(math.floor(side * math.sqrt(budget / needed(side))))))
    side = _even(points, side)
    return {"plan.json": encode_json({"side": side, "bytes": needed(side), "engine": params["engine"]})}


def _rounded(side: int) -> int:
    return side // STEP * STEP if side >= STEP else side


def _even(points: int, side: int) -> int:
    """The smallest side that gives no more tiles: what is ragged is padded, and computed in vain."""
    even = _ceil_of(points, _ceil_of(points, side))
    return min(side, _ceil_of(even, STEP) * STEP) if side >= STEP else even


def _ceil_of(whole: int, part: int) -> int:
    return -(-whole // part)


def _bytes(network: Network, params: Mapping[str, Any], side: int) -> int:
    """What a tile of a side takes of a worker's memory: the compiled program's, and the copies of its result."""

    def arguments() -> tuple[Weights, jax.Array, jax.Array, Masks | None]:
        rows, columns = (jnp.zeros((min(side, count), *params["data"]["shape"])) for count in params["counts"])
        mask = {name: jnp.ones(shape, bool) for name, shape in network.kernel_shapes.items()}
        return network.initialise(0), rows, columns, mask if params["masked"] else None

    lowered = _kernel.lower(network, *jax.eval_shape(arguments), projected=params["projected"], shape=params["shape"])
    found = lowered.compile().memory_analysis()
    if found is None:
        raise WorkError(f"JAX does not say what memory a program takes on {jax.default_backend()}")
    program = found.temp_size_in_bytes + found.argument_size_in_bytes + found.output_size_in_bytes
    return int(program + COPIES * found.output_size_in_bytes)


def _infinite_bytes(network: Network, params: Mapping[str, Any], side: int) -> int:
    """Two kernels in double precision and the tile; what lies between positions is bounded in awt.kernels.infinite."""
    outputs = network.weighted[-1].units ** 2 if params["shape"] == "full" else 1
    return side**2 * (2 * 8 + (1 + COPIES) * outputs * DTYPE.itemsize)
