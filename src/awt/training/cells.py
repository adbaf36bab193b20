"""The cells of the retrain stage: one for each mask; and what reads the checkpoint of an unfinished one."""

from pathlib import Path
from typing import Any

from awt.params import Params
from awt.runtime import Cell, Source

RETRAIN = "awt.training.retrain:retrain"
CHECKPOINT = "checkpoint/"  # what the names of inputs that are a checkpoint's files start with


def retrain_cell(params: Params, mask: dict[str, Any], inputs: dict[str, Source]) -> Cell:
    return Cell(
        kind="retrain",
        label=f"retrain {mask['method']} {mask['density']:g} seed {mask['seed']}",
        function=RETRAIN,
        params={
            "seed": mask["seed"],
            "model": params.model.as_json(),
            "threat": params.threat.as_json(),
            "retrain": params.retrain.as_json(),
        },
        inputs=inputs,
    )


def checkpoint_cell(cell: Cell, step: Path) -> Cell:
    """The network of a retrain cell as one of the cell's checkpoints has it."""
    state = step / "state"
    files = sorted(path for path in state.rglob("*") if path.is_file())
    return Cell(
        kind="retrain",
        label=f"checkpoint {step.name} of {cell.label}",
        function="awt.training.checkpoint:restore",
        params={name: cell.params[name] for name in ("seed", "model", "threat")},
        inputs={**cell.inputs, **{f"{CHECKPOINT}{path.relative_to(state)}": Source.of(path) for path in files}},
    )
