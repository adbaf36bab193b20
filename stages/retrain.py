"""Trains every masked network adversarially from its initial weights."""

import sys
from pathlib import Path
from typing import Any

from awt.artifacts import FORMAT_VERSION, curves, encode_csv, encode_json, read_json, write
from awt.errors import run
from awt.runtime import Source
from awt.stage import ARTIFACTS, stage
from awt.training.cells import retrain_cell

MASKS = ARTIFACTS / "masks"


def inputs_of(mask: dict[str, Any]) -> dict[str, Source]:
    """Data, starting weights, and the mask unless all weights are trained."""
    rewound = ARTIFACTS / "initial" / f"seed-{mask['seed']}.npz"
    searched = MASKS / mask["file"].replace(".npz", "-start.npz")
    start = {"initial": Source.of(rewound if mask["start"] == "rewind" else searched)}
    kept = {} if mask["trains_all"] else {"mask": Source.of(MASKS / mask["file"])}
    return {"dataset": Source.of(ARTIFACTS / "data" / "dataset.npz")} | start | kept


def main() -> None:
    with stage("retrain") as work:
        masks = read_json(MASKS / "index.json")["masks"]
        inputs = [inputs_of(mask) for mask in masks]
        entries = work.run([retrain_cell(work.params, mask, files) for mask, files in zip(masks, inputs, strict=True)])

        files: dict[str, bytes | Path] = {
            mask["file"]: entry.path("model.npz") for mask, entry in zip(masks, entries, strict=True)
        }
        models = [{name: mask[name] for name in ("method", "density", "seed", "file", "trains_all")} for mask in masks]
        files["index.json"] = encode_json({"format_version": FORMAT_VERSION, "models": models})
        work.publish(ARTIFACTS / "models", files)
        names = [(mask["method"], mask["density"], mask["seed"]) for mask in masks]
        write(
            ARTIFACTS / "plots" / "retrain.csv",
            encode_csv(curves((entry.read("curve.csv") for entry in entries), names)),
        )


if __name__ == "__main__":
    sys.exit(run(main))
