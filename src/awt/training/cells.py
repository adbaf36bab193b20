"""The cells of the retrain stage: one for each mask."""

from typing import Any

from awt.params import Params
from awt.runtime import Cell, Source


def retrain_cell(params: Params, mask: dict[str, Any], inputs: dict[str, Source]) -> Cell:
    return Cell(
        kind="retrain",
        label=f"retrain {mask['method']} {mask['density']:g} seed {mask['seed']}",
        function="awt.training.retrain:retrain",
        params={
            "seed": mask["seed"],
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "retrain": params.retrain.as_json(),
        },
        inputs=inputs,
    )
