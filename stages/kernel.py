"""Computes, once per initialisation, what every mask search shares, and a Gram matrix on a reference subset."""

import sys
from pathlib import Path

import pandas as pd

from awt.artifacts import decode_npy, encode_csv, encode_json, read_json, write
from awt.errors import InputError, run
from awt.kernels.tiles import Tile, assemble, index, spectrum, symmetric_tiles
from awt.runtime import Cell, Entry, Source
from awt.stage import ARTIFACTS, Stage, stage

DATA = ARTIFACTS / "data"


def dense_sides(work: Stage, dataset: Source) -> dict[int, Entry]:
    """By seed: initial weights, adversarial examples of the dense network, its outputs on them."""
    shared = {"model": work.params.model.as_json(), "threat": work.params.threat.as_json()}
    search = {"batch": work.params.search.batch, "attack": work.params.search.attack.as_json()}
    function = "awt.kernels.dense_side:dense_side"
    cells = [
        Cell(
            "dense",
            f"dense side seed {seed}",
            function,
            {**shared, **search, "seed": seed},
            {"dataset": dataset},
        )
        for seed in work.params.seeds
    ]
    return dict(zip(work.params.seeds, work.run(cells), strict=True))


def probes(work: Stage, dataset: Source, sides: dict[int, Entry]) -> dict[int, Entry]:
    """By seed: the dense kernel times the search's probe vectors."""
    shared = {"model": work.params.model.as_json()}
    search = {"probes": work.params.search.probes, "epochs": work.params.search.epochs}
    function = "awt.kernels.dense_side:probe_products"
    cells = [
        Cell(
            "probe",
            f"probe products seed {seed}",
            function,
            {**shared, **search, "seed": seed},
            {"dataset": dataset, **{name: side.source(f"{name}.npz") for name in ("initial", "dense")}},
        )
        for seed, side in sides.items()
    ]
    return dict(zip(sides, work.run(cells), strict=True))


def gram_tiles(work: Stage, dataset: Source, sides: dict[int, Entry]) -> dict[tuple[int, Tile], Entry]:
    """By seed and tile: the class-traced kernel of the dense network on the reference subset."""
    tiles = list(symmetric_tiles(work.params.kernel.reference, work.params.kernel.tile))
    cells = {
        (seed, tile): Cell(
            "tile",
            f"gram seed {seed} {tile.name}",
            "awt.kernels.gram:tile",
            {"model": work.params.model.as_json(), "rows": tile.rows, "columns": tile.columns},
            {"dataset": dataset, "weights": side.source("initial.npz")},
        )
        for seed, side in sides.items()
        for tile in tiles
    }
    return dict(zip(cells, work.run(list(cells.values())), strict=True))


def spectra(points: int, tiles: dict[tuple[int, Tile], Entry]) -> pd.DataFrame:
    rows = []
    for seed in dict.fromkeys(seed for seed, _ in tiles):
        blocks = {t: decode_npy(entry.read("tile.npy"), t.name) for (s, t), entry in tiles.items() if s == seed}
        values = spectrum(assemble(points, blocks))
        rows += [{"seed": seed, "index": i + 1, "eigenvalue": value} for i, value in enumerate(values)]
    return pd.DataFrame(rows)


def main() -> None:
    with stage("kernel") as work:
        points = work.params.kernel.reference
        available = read_json(DATA / "dataset.json")["counts"]["train"]
        if points > available:
            raise InputError(f"kernel.reference: {points} is more than the {available} training points")
        dataset = Source.of(DATA / "dataset.npz")
        sides = dense_sides(work, dataset)
        products = probes(work, dataset, sides)
        tiles = gram_tiles(work, dataset, sides)
        side_files: dict[str, bytes | Path] = {}
        for seed, side in sides.items():
            side_files[f"seed-{seed}/dense.npz"] = side.path("dense.npz")
            side_files[f"seed-{seed}/probe.npz"] = products[seed].path("probe.npz")
        gram: dict[str, bytes | Path] = {
            f"seed-{seed}/{tile.name}": entry.path("tile.npy") for (seed, tile), entry in tiles.items()
        }
        gram["index.json"] = encode_json(index(points, work.params.kernel.tile))
        work.publish(ARTIFACTS / "initial", {f"seed-{s}.npz": side.path("initial.npz") for s, side in sides.items()})
        work.publish(ARTIFACTS / "dense_side", side_files)
        work.publish(ARTIFACTS / "gram", gram)
        write(ARTIFACTS / "plots" / "spectrum.csv", encode_csv(spectra(points, tiles)))


if __name__ == "__main__":
    sys.exit(run(main))
