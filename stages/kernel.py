"""Computes, once per initialisation, what every mask search shares, and a Gram matrix on a reference subset."""

import sys
from pathlib import Path

import pandas as pd

from awt.artifacts import decode_npy, encode_csv, encode_json, write
from awt.errors import run
from awt.kernels.cells import dense_side_cell, tile_cell, views_cell
from awt.kernels.tiles import Tile, assemble, index, spectrum, symmetric_tiles
from awt.runtime import Entry, Source
from awt.stage import ARTIFACTS, stage


def spectra(points: int, tiles: dict[tuple[int, Tile], Entry]) -> pd.DataFrame:
    rows = []
    for seed in dict.fromkeys(seed for seed, _ in tiles):
        blocks = {t: decode_npy(entry.read("tile.npy"), t.name) for (s, t), entry in tiles.items() if s == seed}
        values = spectrum(assemble(points, blocks))
        rows += [{"seed": seed, "index": i + 1, "eigenvalue": value} for i, value in enumerate(values)]
    return pd.DataFrame(rows)


def main() -> None:
    with stage("kernel") as work:
        params, seeds = work.params, work.params.seeds
        dataset = Source.of(ARTIFACTS / "data" / "dataset.npz")
        sides = dict(zip(seeds, work.run([dense_side_cell(params, seed, dataset) for seed in seeds]), strict=True))
        views = work.run([views_cell(params, seed, dataset, sides[seed]) for seed in seeds])
        names = [(s, tile) for s in seeds for tile in symmetric_tiles(params.kernel.reference, params.kernel.tile)]
        entries = work.run([tile_cell(params, seed, tile, dataset, sides[seed]) for seed, tile in names])
        tiles = dict(zip(names, entries, strict=True))

        side_files: dict[str, bytes | Path] = {}
        for seed, view in zip(seeds, views, strict=True):
            side_files[f"seed-{seed}/dense.npz"] = sides[seed].path("dense.npz")
            side_files[f"seed-{seed}/views.npz"] = view.path("views.npz")
        gram: dict[str, bytes | Path] = {
            f"seed-{seed}/{tile.name}": entry.path("tile.npy") for (seed, tile), entry in tiles.items()
        }
        gram["index.json"] = encode_json(index(params.kernel.reference, params.kernel.tile))
        work.publish(ARTIFACTS / "initial", {f"seed-{s}.npz": side.path("initial.npz") for s, side in sides.items()})
        work.publish(ARTIFACTS / "dense_side", side_files)
        work.publish(ARTIFACTS / "gram", gram)
        write(ARTIFACTS / "plots" / "spectrum.csv", encode_csv(spectra(params.kernel.reference, tiles)))


if __name__ == "__main__":
    sys.exit(run(main))
