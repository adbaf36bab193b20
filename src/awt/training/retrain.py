"""The cell that retrains one ticket."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from awt.artifacts import Buffer, encode_csv
from awt.attacks.ball import ball
from awt.data.dataset import decode
from awt.models.compact import compact
from awt.models.network import apply_mask, decode_mask, decode_weights, encode_weights
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
    initial = decode_weights(inputs["initial"], "initial.npz")
    mask = decode_mask(inputs["mask"], "mask.npz") if "mask" in inputs else network.everything()
    threat = ball(Threat.of(params["threat"]), dataset.std)
    # pixels that the network does not see take no part in ℓ∞ attacks; in others they do, as random starts go there
    narrow = compact(network, initial, mask, pixels=threat.norm == "linf")
    weights, rows = train(
        narrow.network,
        narrow.weights(initial),
        narrow.mask(mask),
        replace(
            dataset,
            train_x=narrow.pixels(dataset.train_x),
            validation_x=narrow.pixels(dataset.validation_x),
            test_x=narrow.pixels(dataset.test_x),
        ),
        threat,
        Retrain.of(params["retrain"]),
        params["seed"],
        context,
    )
    whole = narrow.restored(weights, apply_mask(initial, mask))
    return {"model.npz": encode_weights(whole), "curve.csv": encode_csv(pd.DataFrame(rows, columns=CURVE))}
