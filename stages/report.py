"""Makes the table and the page from what the other stages measured."""

import sys
from pathlib import Path

import pandas as pd

from awt.artifacts import read_json, sha256_file
from awt.errors import run
from awt.lineage.records import versions
from awt.report import Inputs, build
from awt.report.table import summary, text
from awt.stage import ARTIFACTS, RECORDS, stage

PLOTS = ARTIFACTS / "plots"
REPORT = Path("report")
HASHED = ("data/dataset.npz", "masks/index.json", "metrics.json", "plots/results.csv", "plots/retrain.csv",
          "plots/search.csv", "plots/spectrum.csv")  # fmt: skip


def main() -> None:
    with stage("report") as work:
        masks = read_json(ARTIFACTS / "masks" / "index.json")["masks"]
        files = [*HASHED, *(f"masks/{mask['file']}" for mask in masks)]
        inputs = Inputs(
            params=work.params,
            dataset=read_json(ARTIFACTS / "data" / "dataset.json"),
            results=pd.read_csv(PLOTS / "results.csv"),
            search=pd.read_csv(PLOTS / "search.csv"),
            retrain=pd.read_csv(PLOTS / "retrain.csv"),
            spectrum=pd.read_csv(PLOTS / "spectrum.csv"),
            masks=masks,
            versions=versions(),
            hashes={f"{ARTIFACTS}/{name}": sha256_file(ARTIFACTS / name) for name in files},
            records={
                name: f"../{RECORDS}/{name}.json"
                for name in ("prepare", "kernel", "mask", "retrain", "evaluate", "report")
            },
        )
        work.publish(REPORT, build(inputs))
        print(f"\n{text(summary(inputs.results))}\nreport: {(REPORT / 'index.html').resolve()}")


if __name__ == "__main__":
    sys.exit(run(main))
