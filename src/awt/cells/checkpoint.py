"""The cell that makes a model of a training cell's checkpoint."""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
import orbax.checkpoint as ocp

from awt.artifacts import Buffer
from awt.cells.retrain import start
from awt.errors import InputError
from awt.loop import Watch
from awt.models.network import encode_weights, fitting
from awt.names import CHECKPOINT


def restore(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
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


def read_part(state: Path, template: Any) -> Any:
    """The arrays that a template names of the state in a checkpoint's folder, as numpy's; nothing need be known of the
    rest, and none of it is read."""
    leaves, shape = jax.tree.flatten_with_path(template)
    try:
        with ocp.Checkpointer(ocp.PyTreeCheckpointHandler()) as reader:
            found = [_read_leaf(reader, state, path, leaf) for path, leaf in leaves]
    except Exception as error:  # orbax and tensorstore have no common one
        raise InputError(f"not a readable checkpoint ({type(error).__name__})") from None
    return jax.tree.unflatten(shape, found)


def _read_leaf(reader: ocp.Checkpointer, state: Path, path: tuple[Any, ...], leaf: Any) -> np.ndarray:
    """One array: of several read at once that cannot be, all but one would complain behind the caller's back."""
    item, kind = leaf, ocp.RestoreArgs(restore_type=np.ndarray)
    for part in reversed(path):
        item, kind = {part.key: item}, {part.key: kind}
    args = ocp.args.PyTreeRestore(item=item, restore_args=kind, partial_restore=True)
    return np.asarray(jax.tree.leaves(reader.restore(state, args=args))[0])
