"""The stage that makes the table and the page of what the other stages measured."""

import io
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from awt.artifacts import decode_npz, sha256
from awt.lineage.versions import versions
from awt.workflows.tickets.grid import DESCRIBED, PLOTS
from awt.workflows.tickets.mask import INDEX
from awt.workflows.tickets.params import Params
from awt.workflows.tickets.reporting import Findings, build
from awt.workflows.workflow import ARTIFACTS, RECORDS, Inputs, Outs, Run

TABLES = ("results", "sanity", "dynamics", "mixture", "search", "retrain", "kernels", "spectra")
STAGES = ("prepare", "kernel", "mask", "retrain", "evaluate", "report")


def report(run: Run, params: Params, inputs: Inputs) -> Outs:
    def files() -> Mapping[str, bytes | Path]:
        masks = inputs.json(INDEX)["masks"]
        hashed = [f"{ARTIFACTS}/data/dataset.npz", INDEX, f"{ARTIFACTS}/metrics.json", f"{PLOTS}/heatmaps.npz"]
        hashed += [f"{PLOTS}/{name}.csv" for name in TABLES] + [f"{ARTIFACTS}/masks/{one['file']}" for one in masks]
        tables = {name: pd.read_csv(io.BytesIO(inputs.read(f"{PLOTS}/{name}.csv"))) for name in TABLES}
        found = Findings(
            params=params,
            dataset=inputs.json(DESCRIBED),
            **tables,
            heatmaps=decode_npz(inputs.read(f"{PLOTS}/heatmaps.npz"), "heatmaps.npz"),
            masks=masks,
            versions={name: found for name, found in versions().items() if name != "python"},  # the lock file's
            hashes={path: sha256(inputs.read(path)) for path in hashed},
            records={name: f"../{RECORDS}/{name}.json" for name in STAGES},
        )
        return {f"report/{name}": content for name, content in build(found).items()}

    return Outs(rest=files)
