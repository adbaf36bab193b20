"""Finds a mask for every method, density and seed."""

import sys
from pathlib import Path

from awt.artifacts import FORMAT_VERSION, curves, decode_json, encode_csv, encode_json, write
from awt.errors import run
from awt.kernels.dense_cells import has_dense_side, has_teacher
from awt.params import Params
from awt.runtime import Entry, Source
from awt.stage import ARTIFACTS, stage
from awt.tickets.cells import Name, grid, mask_cell, takes_after


def inputs_of(params: Params, name: Name, masks: dict[Name, Entry]) -> dict[str, Source]:
    """The files that a method is given; of a mask that takes after another, that one."""
    method, density, seed = name
    initial = Source.of(ARTIFACTS / "initial" / f"seed-{seed}.npz")
    found = {"dataset": Source.of(ARTIFACTS / "data" / "dataset.npz"), "initial": initial}
    side = ARTIFACTS / "dense_side" / method / f"seed-{seed}"
    if has_teacher(params, method):
        trained = params.search.recipe(method).teacher_epochs
        found["teacher"] = Source.of(side / "teacher.npz") if trained else initial
    if has_dense_side(params, method):
        found |= {name: Source.of(side / f"{name}.npz") for name in ("dense", "views")}
    if (other := takes_after(params, method)) is not None:
        found["other"] = masks[other, density, seed].source("mask.npz")
    return found


def main() -> None:
    with stage("mask") as work:
        params, names = work.params, grid(work.params)
        masks: dict[Name, Entry] = {}
        for after in (False, True):  # those that take after another come second
            asked = [name for name in names if (takes_after(params, name[0]) is not None) == after]
            found = work.run([mask_cell(params, name, inputs_of(params, name, masks)) for name in asked])
            masks |= dict(zip(asked, found, strict=True))

        files: dict[str, bytes | Path] = {}
        index = []
        for method, density, seed in names:
            entry, file = masks[method, density, seed], f"{method}-{density:.12g}-seed{seed}"
            about = decode_json(entry.read("mask.json"), "mask.json")
            files[f"{file}.npz"] = entry.path("mask.npz")
            if about["start"] == "searched":
                files[f"{file}-start.npz"] = entry.path("start.npz")
            index.append({**about, "method": method, "file": f"{file}.npz"})
        files["index.json"] = encode_json({"format_version": FORMAT_VERSION, "masks": index})
        work.publish(ARTIFACTS / "masks", files)
        found_curves = curves((masks[name].read("curve.csv") for name in names), names)
        write(ARTIFACTS / "plots" / "search.csv", encode_csv(found_curves))


if __name__ == "__main__":
    sys.exit(run(main))
