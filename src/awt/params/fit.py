"""Whether parameters fit the data that they will meet."""

from typing import Any

from awt.errors import InputError
from awt.params.sections import POOLED, Params


def check_data(params: Params, described: dict[str, Any]) -> None:
    """What parameters ask of the data that they will meet (dataset.json): found before hours of work, not after."""
    points, shape = described["counts"]["train"], described["shape"]
    asked = {
        "kernel.reference": params.kernel.reference,
        "search.batch": params.search.batch,
        "retrain.batch": params.retrain.batch,
    }
    for name, value in asked.items():
        if value > points:
            raise InputError(f"params.yaml: {name}: {value} is more than the {points} training points")
    model = params.model.name
    if model in POOLED and min(shape[:2]) < (least := 2 ** POOLED[model].halvings):
        raise InputError(
            f"params.yaml: model.name: {model} pools {POOLED[model].halvings} times and needs images of "
            f"{least} x {least} at least, not {shape[0]} x {shape[1]}"
        )
    _check_disk(params, points, described["classes"])


def _check_disk(params: Params, points: int, classes: int) -> None:
    """The dense kernel's views must fit the budget: the whole tensor of 781 batches of CIFAR-100 would be 128 GB."""
    budget = params.kernel.disk_gb
    for name in params.search.methods:
        search = params.search.recipe(name)
        if params.search.base(name) != "awt" or search.gamma == 0:
            continue
        row = search.batch * classes
        views = {"full": row**2, "probe": search.epochs * search.probes * row, "residual": row, "diagonal": row}
        size = {kind: 4e-9 * (points // search.batch) * numbers for kind, numbers in views.items()}
        if size[search.estimator] > budget:
            others = [f"`estimator: {kind}` ({size[kind]:.3g} GB)" for kind in views if size[kind] <= budget]
            fewer = "fewer search.probes" if search.estimator == "probe" else "a smaller search.batch"
            raise InputError(
                f"params.yaml: search.estimator: {search.estimator} stores {size[search.estimator]:.3g} GB an "
                f"initialisation ({name}), more than kernel.disk_gb: {budget:g}; "
                f"choose {', '.join([*others, fewer])}, or raise it"
            )
