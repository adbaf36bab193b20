"""The cells of the kernel stage; described here, computed by the modules beside this one."""

from awt.kernels.tiles import Tile
from awt.params import Params
from awt.runtime import Cell, Entry, Source


def dense_side_cell(params: Params, seed: int, dataset: Source) -> Cell:
    """Initial weights, adversarial examples of the dense network, its outputs on them."""
    return Cell(
        kind="dense",
        label=f"dense side seed {seed}",
        function="awt.kernels.dense_side:dense_side",
        params={
            "seed": seed,
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "batch": params.search.batch,
            "attack": params.search.attack.as_json(),
        },
        inputs={"dataset": dataset},
    )


def views_cell(params: Params, seed: int, dataset: Source, side: Entry) -> Cell:
    """The views of the dense kernel that the search compares with."""
    return Cell(
        kind="views",
        label=f"kernel views seed {seed}",
        function="awt.kernels.dense_side:kernel_views",
        params={
            "seed": seed,
            "model": params.model.as_json(),
            "estimator": params.search.estimator,
            "probes": params.search.probes,
            "epochs": params.search.epochs,
        },
        inputs={"dataset": dataset, "initial": side.source("initial.npz"), "dense": side.source("dense.npz")},
    )


def tile_cell(params: Params, seed: int, tile: Tile, dataset: Source, side: Entry) -> Cell:
    """A tile of the class-traced kernel of the dense network on the reference subset."""
    return Cell(
        kind="tile",
        label=f"gram seed {seed} {tile.name}",
        function="awt.kernels.gram:tile",
        params={"model": params.model.as_json(), "rows": tile.rows, "columns": tile.columns},
        inputs={"dataset": dataset, "weights": side.source("initial.npz")},
    )
