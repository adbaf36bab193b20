"""The stage that trains every masked network adversarially from its starting weights."""

from collections.abc import Mapping
from pathlib import Path

from awt.artifacts import FORMAT_VERSION, curves, encode_csv, encode_json
from awt.services.training import training_cell
from awt.workflows.tickets.grid import DATASET, PLOTS, Ticket, grid
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import ARTIFACTS, Inputs, Outs, Run

INDEX, CURVES = f"{ARTIFACTS}/models/index.json", f"{PLOTS}/retrain.csv"


def retrain(run: Run, params: Params, inputs: Inputs) -> Outs:
    tickets = grid(params)

    def files_of(one: Ticket) -> dict[str, str]:
        """Data, starting weights, and the mask unless all weights are trained."""
        kept = {} if one.recipe.method.trains_all else {"mask": one.mask}
        return {"dataset": DATASET, "initial": one.start, **kept}

    entries = run(
        [
            training_cell(
                "retrain",
                f"retrain {one.name}",
                one.name.seed,
                params.model,
                params.threat,
                params.retrain,
                {name: inputs.source(path) for name, path in files_of(one).items()},
                one.name.tags,
            )
            for one in tickets
        ]
    )
    names = [one.name for one in tickets]

    def rest() -> Mapping[str, bytes | Path]:
        index = [
            {**one.name.tags, "file": Path(one.model).name, "trains_all": one.recipe.method.trains_all}
            for one in tickets
        ]
        return {
            INDEX: encode_json({"format_version": FORMAT_VERSION, "models": index}),
            CURVES: encode_csv(curves((entry.read("curve.csv") for entry in entries), names)),
        }

    return Outs({one.model: entry.source("model.npz") for one, entry in zip(tickets, entries, strict=True)}, rest)
