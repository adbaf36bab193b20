"""Finds a mask for every method, density and seed."""

import sys
from pathlib import Path

from awt.artifacts import FORMAT_VERSION, decode_json, encode_csv, encode_json, write
from awt.errors import run
from awt.runtime import Cell, Source
from awt.stage import ARTIFACTS, Stage, curves, stage


def grid(work: Stage) -> list[tuple[str, float, int]]:
    """Method, density, seed of every mask; the dense network has one density."""
    return [
        (method, density, seed)
        for method in work.params.search.methods
        for density in ((1.0,) if method == "dense" else work.params.search.densities)
        for seed in work.params.seeds
    ]


def mask_cell(work: Stage, method: str, density: float, seed: int, inputs: dict[str, Source]) -> Cell:
    # a cell knows its own method and density, not the grid: a density added elsewhere leaves it in the store
    search = work.params.search.as_json() | {"methods": [method], "densities": [density]}
    return Cell(
        kind="mask",
        label=f"mask {method} {density:g} seed {seed}",
        function="awt.tickets.find:find_mask",
        params={
            "method": method,
            "density": density,
            "seed": seed,
            "model": work.params.model.as_json(),
            "threat": work.params.threat.as_json(),
            "search": search,
        },
        inputs=inputs,
    )


def main() -> None:
    with stage("mask") as work:
        shared = {"dataset": Source.of(ARTIFACTS / "data" / "dataset.npz")}
        inputs = {
            seed: shared
            | {
                "initial": Source.of(ARTIFACTS / "initial" / f"seed-{seed}.npz"),
                "dense": Source.of(ARTIFACTS / "dense_side" / f"seed-{seed}" / "dense.npz"),
                "probe": Source.of(ARTIFACTS / "dense_side" / f"seed-{seed}" / "probe.npz"),
            }
            for seed in work.params.seeds
        }
        cells = grid(work)
        entries = work.run([mask_cell(work, *cell, inputs[cell[2]]) for cell in cells])
        files: dict[str, bytes | Path] = {}
        masks = []
        for entry, (method, density, seed) in zip(entries, cells, strict=True):
            name = f"{method}-{density:g}-seed{seed}.npz"
            files[name] = entry.path("mask.npz")
            masks.append({**decode_json(entry.read("mask.json"), "mask.json"), "file": name})
        files["index.json"] = encode_json({"format_version": FORMAT_VERSION, "masks": masks})
        work.publish(ARTIFACTS / "masks", files)
        write(ARTIFACTS / "plots" / "search.csv", encode_csv(curves(entries, cells)))


if __name__ == "__main__":
    sys.exit(run(main))
