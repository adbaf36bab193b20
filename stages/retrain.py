"""Trains every masked network adversarially from its initial weights."""

import sys
from pathlib import Path
from typing import Any

from awt.artifacts import FORMAT_VERSION, encode_csv, encode_json, read_json, write
from awt.errors import run
from awt.runtime import Cell, Source
from awt.stage import ARTIFACTS, Stage, curves, stage

MASKS = ARTIFACTS / "masks"


def retrain_cell(work: Stage, mask: dict[str, Any], dataset: Source, initial: Source) -> Cell:
    return Cell(
        kind="retrain",
        label=f"retrain {mask['method']} {mask['density']:g} seed {mask['seed']}",
        function="awt.training.retrain:retrain",
        params={
            "seed": mask["seed"],
            "model": work.params.model.as_json(),
            "threat": work.params.threat.as_json(),
            "retrain": work.params.retrain.as_json(),
        },
        inputs={"dataset": dataset, "initial": initial, "mask": Source.of(MASKS / mask["file"])},
    )


def main() -> None:
    with stage("retrain") as work:
        masks = read_json(MASKS / "index.json")["masks"]
        dataset = Source.of(ARTIFACTS / "data" / "dataset.npz")
        initial = {m["seed"]: Source.of(ARTIFACTS / "initial" / f"seed-{m['seed']}.npz") for m in masks}
        entries = work.run([retrain_cell(work, mask, dataset, initial[mask["seed"]]) for mask in masks])
        files: dict[str, bytes | Path] = {
            mask["file"]: entry.path("model.npz") for mask, entry in zip(masks, entries, strict=True)
        }
        models = [{name: mask[name] for name in ("method", "density", "seed", "file")} for mask in masks]
        files["index.json"] = encode_json({"format_version": FORMAT_VERSION, "models": models})
        work.publish(ARTIFACTS / "models", files)
        tickets = [(mask["method"], mask["density"], mask["seed"]) for mask in masks]
        write(ARTIFACTS / "plots" / "retrain.csv", encode_csv(curves(entries, tickets)))


if __name__ == "__main__":
    sys.exit(run(main))
