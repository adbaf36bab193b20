"""The cell that trains a ticket and its dense network side by side."""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer, encode_csv
from awt.attacks.ball import Threat, ball
from awt.data.dataset import decode
from awt.evaluation.dynamics import side_by_side
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.network import decode_mask, decode_weights
from awt.options import from_json
from awt.training.options import Training


def dynamics(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: a row of figures at the start and after each epoch, on the first test points."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    table = side_by_side(
        build(from_json(Model, params["model"]), dataset),
        decode_weights(inputs["initial"], "initial.npz"),
        decode_mask(inputs["mask"], "mask.npz"),
        dataset,
        ball(from_json(Threat, params["threat"]), dataset.std),
        from_json(Training, params["training"]),
        params["points"],
        params["seed"],
        watch,
    )
    return {"dynamics.csv": encode_csv(table)}
