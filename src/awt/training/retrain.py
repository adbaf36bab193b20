"""The cell that retrains one ticket."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from awt.artifacts import Buffer, encode_csv
from awt.attacks.ball import ball
from awt.data.dataset import decode
from awt.models.network import decode_mask, decode_weights, encode_weights
from awt.models.zoo import build
from awt.params import Model, Retrain, Threat
from awt.runtime import Context
from awt.training.adversarial import train

CURVE = ["epoch", "loss", "train_adversarial", "validation_natural", "validation_adversarial"]


def retrain(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: model.npz and curve.csv of a mask, or without one of the dense network, trained adversarially from its
    starting weights."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(Model.of(params["model"]), dataset)
    weights, rows = train(
        network,
        decode_weights(inputs["initial"], "initial.npz"),
        decode_mask(inputs["mask"], "mask.npz") if "mask" in inputs else network.everything(),
        dataset,
        ball(Threat.of(params["threat"]), dataset.std),
        Retrain.of(params["retrain"]),
        params["seed"],
        context,
    )
    return {"model.npz": encode_weights(weights), "curve.csv": encode_csv(pd.DataFrame(rows, columns=CURVE))}
