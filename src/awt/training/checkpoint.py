"""The cell that makes a model of a retrain cell's checkpoint."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax

from awt.artifacts import Buffer
from awt.models.network import encode_weights, fitting
from awt.runtime import Context
from awt.runtime.resume import read_part
from awt.training.cells import CHECKPOINT
from awt.training.retrain import start


def restore(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: model.npz of the weights that a checkpoint has, of the whole network though only a part is in training."""
    begun = start(params, inputs)
    with tempfile.TemporaryDirectory() as folder:
        for name, data in inputs.items():
            if name.startswith(CHECKPOINT):
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        template = {"training": {"weights": jax.eval_shape(begun.narrow.network.initialise, 0)}}
        weights = read_part(Path(folder) / CHECKPOINT, template)["training"]["weights"]
    return {"model.npz": encode_weights(begun.whole(fitting(begun.narrow.network, weights, "the checkpoint")))}
