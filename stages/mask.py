"""Finds a mask for every method, density and seed."""

import sys
from pathlib import Path

from awt.artifacts import FORMAT_VERSION, curves, decode_json, encode_csv, encode_json, write
from awt.errors import run
from awt.runtime import Source
from awt.stage import ARTIFACTS, stage
from awt.tickets.cells import grid, mask_cell


def main() -> None:
    with stage("mask") as work:
        dataset = Source.of(ARTIFACTS / "data" / "dataset.npz")
        inputs = {
            seed: {
                "dataset": dataset,
                "initial": Source.of(ARTIFACTS / "initial" / f"seed-{seed}.npz"),
                "dense": Source.of(ARTIFACTS / "dense_side" / f"seed-{seed}" / "dense.npz"),
                "views": Source.of(ARTIFACTS / "dense_side" / f"seed-{seed}" / "views.npz"),
            }
            for seed in work.params.seeds
        }
        names = grid(work.params)
        entries = work.run([mask_cell(work.params, name, inputs[name[2]]) for name in names])

        files: dict[str, bytes | Path] = {}
        masks = []
        for entry, (method, density, seed) in zip(entries, names, strict=True):
            file = f"{method}-{density:.12g}-seed{seed}.npz"
            files[file] = entry.path("mask.npz")
            masks.append({**decode_json(entry.read("mask.json"), "mask.json"), "file": file})
        files["index.json"] = encode_json({"format_version": FORMAT_VERSION, "masks": masks})
        work.publish(ARTIFACTS / "masks", files)
        write(
            ARTIFACTS / "plots" / "search.csv",
            encode_csv(curves((entry.read("curve.csv") for entry in entries), names)),
        )


if __name__ == "__main__":
    sys.exit(run(main))
