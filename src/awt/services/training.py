"""Training as cells, for drivers: of a ticket, of a teacher; and what reads the checkpoint of an unfinished one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from awt.attacks.ball import Threat
from awt.models.architecture import Model
from awt.models.registry import resolved
from awt.names import CHECKPOINT
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.training.objectives.registry import resolved as resolved_training
from awt.training.options import Training

RETRAIN = "awt.cells.retrain:retrain"


def training_cell(
    kind: str,
    label: str,
    seed: int,
    model: Model,
    threat: Threat,
    training: Training,
    inputs: Mapping[str, Source],
    tags: Mapping[str, Any],
) -> Cell:
    """Trains the network of `inputs`: dataset, initial and, of a sparse one, mask."""
    params = {
        "seed": seed,
        "model": as_json(resolved(model)),
        "threat": as_json(threat),
        "training": as_json(resolved_training(training)),
    }
    return Cell(kind, label, RETRAIN, params, inputs, tags)


def checkpoint_cell(cell: Cell, step: Path) -> Cell:
    """The network of a training cell as one of the cell's checkpoints has it."""
    state = step / "state"
    files = sorted(path for path in state.rglob("*") if path.is_file())
    return Cell(
        kind="retrain",
        label=f"checkpoint {step.name} of {cell.label}",
        function="awt.cells.checkpoint:restore",
        params={name: cell.params[name] for name in ("seed", "model", "threat")},
        inputs={**cell.inputs, **{f"{CHECKPOINT}{path.relative_to(state)}": Source.of(path) for path in files}},
        tags={**cell.tags, "step": int(step.name)},
    )
