"""The tickets workflow as a value: its stages, what each reads and writes."""

from awt.workflows.tickets.params import Params, check_data, effective
from awt.workflows.workflow import Stage, Workflow

PREPARE = Stage(
    "prepare",
    "Read and verify the data set, split it.",
    "awt.workflows.tickets.prepare:prepare",
    params=("data",),
    outs=("artifacts/data",),
    foresee="awt.planning.outline:foresee",
)
KERNEL = Stage(
    "kernel",
    "Per initialisation, the teacher and what every mask search shares; a tiled Gram matrix.",
    "awt.workflows.tickets.kernel:kernel",
    params=("seeds", "model", "threat", "kernel", "tickets.recipes"),
    reads=("artifacts/data",),
    outs=("artifacts/initial", "artifacts/dense_side", "artifacts/gram"),
)
MASK = Stage(
    "mask",
    "Find a mask for every method, density and seed.",
    "awt.workflows.tickets.mask:mask",
    params=("seeds", "model", "threat", "tickets"),
    reads=("artifacts/data", "artifacts/initial", "artifacts/dense_side"),
    outs=("artifacts/masks", "artifacts/plots/search.csv"),
)
RETRAIN = Stage(
    "retrain",
    "Train every masked network adversarially from its initial weights.",
    "awt.workflows.tickets.retrain:retrain",
    params=("seeds", "model", "threat", "tickets", "retrain"),
    reads=("artifacts/data", "artifacts/initial", "artifacts/masks"),
    outs=("artifacts/models", "artifacts/plots/retrain.csv"),
)
EVALUATE = Stage(
    "evaluate",
    "Attack every trained network on the test set; compare the networks' kernels.",
    "awt.workflows.tickets.evaluate:evaluate",
    params=("seeds", "data", "model", "threat", "kernel", "tickets", "retrain", "evaluate"),
    reads=("artifacts/data", "artifacts/initial", "artifacts/masks", "artifacts/models"),
    outs=(
        "artifacts/evaluation",
        "artifacts/examples",
        "artifacts/kernels",
        "artifacts/plots/results.csv",
        "artifacts/plots/sanity.csv",
        "artifacts/plots/dynamics.csv",
        "artifacts/plots/mixture.csv",
        "artifacts/plots/kernels.csv",
        "artifacts/plots/spectra.csv",
        "artifacts/plots/heatmaps.npz",
    ),
    metrics=("artifacts/metrics.json",),
)
REPORT = Stage(
    "report",
    "The table and the page.",
    "awt.workflows.tickets.report:report",
    params=("seeds", "data", "model", "threat", "kernel", "tickets", "retrain", "evaluate", "report"),
    reads=(
        "artifacts/data",
        "artifacts/masks",
        "artifacts/metrics.json",
        "artifacts/plots/results.csv",
        "artifacts/plots/sanity.csv",
        "artifacts/plots/dynamics.csv",
        "artifacts/plots/mixture.csv",
        "artifacts/plots/retrain.csv",
        "artifacts/plots/search.csv",
        "artifacts/plots/kernels.csv",
        "artifacts/plots/spectra.csv",
        "artifacts/plots/heatmaps.npz",
    ),
    outs=("report",),
)

PLOTS = """
plots:
  - adversarial accuracy:
      template: densities
      x: density
      y:
        artifacts/plots/results.csv: adversarial
  - natural accuracy:
      template: densities
      x: density
      y:
        artifacts/plots/results.csv: natural
  - target distance:
      template: curves
      x: epoch
      y:
        artifacts/plots/search.csv: target_distance
  - kernel distance:
      template: curves
      x: epoch
      y:
        artifacts/plots/search.csv: kernel_distance
  - retraining:
      template: curves
      x: epoch
      y:
        artifacts/plots/retrain.csv: train_adversarial
  - kernel spectrum:
      template: curves
      x: index
      y:
        artifacts/plots/spectra.csv: eigenvalue
"""

WORKFLOW = Workflow(
    "tickets",
    Params,
    (PREPARE, KERNEL, MASK, RETRAIN, EVALUATE, REPORT),
    effective=effective,
    check=check_data,
    plots=PLOTS,
)
