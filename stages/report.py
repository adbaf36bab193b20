"""Makes the table and the page from what the other stages measured."""

import sys
from pathlib import Path

from awt.artifacts import read_csv, read_json, read_npz, sha256_file
from awt.errors import run
from awt.lineage.records import versions
from awt.report import Inputs, build
from awt.stage import ARTIFACTS, RECORDS, stage

PLOTS = ARTIFACTS / "plots"
REPORT = Path("report")
HASHED = ("data/dataset.npz", "masks/index.json", "metrics.json", "plots/results.csv", "plots/retrain.csv",
          "plots/sanity.csv", "plots/dynamics.csv", "plots/mixture.csv", "plots/search.csv", "plots/kernels.csv",
          "plots/spectra.csv", "plots/heatmaps.npz")  # fmt: skip


def main() -> None:
    with stage("report") as work:
        masks = read_json(ARTIFACTS / "masks" / "index.json")["masks"]
        files = [*HASHED, *(f"masks/{mask['file']}" for mask in masks)]
        inputs = Inputs(
            params=work.params,
            dataset=read_json(ARTIFACTS / "data" / "dataset.json"),
            results=read_csv(PLOTS / "results.csv"),
            sanity=read_csv(PLOTS / "sanity.csv"),
            dynamics=read_csv(PLOTS / "dynamics.csv"),
            mixture=read_csv(PLOTS / "mixture.csv"),
            search=read_csv(PLOTS / "search.csv"),
            retrain=read_csv(PLOTS / "retrain.csv"),
            kernels=read_csv(PLOTS / "kernels.csv"),
            spectra=read_csv(PLOTS / "spectra.csv"),
            heatmaps=read_npz(PLOTS / "heatmaps.npz"),
            masks=masks,
            versions={name: found for name, found in versions().items() if name != "python"},  # the lock file's
            hashes={f"{ARTIFACTS}/{name}": sha256_file(ARTIFACTS / name) for name in files},
            records={
                name: f"../{RECORDS}/{name}.json"
                for name in ("prepare", "kernel", "mask", "retrain", "evaluate", "report")
            },
        )
        work.publish(REPORT, build(inputs))
        print(f"report: {(REPORT / 'index.html').resolve()}")


if __name__ == "__main__":
    sys.exit(run(main))
