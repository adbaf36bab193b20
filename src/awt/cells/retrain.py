"""The cell that retrains one ticket."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pandas as pd

from awt.artifacts import Buffer, encode_csv
from awt.attacks.ball import Ball, Threat, ball
from awt.data.dataset import Dataset, decode
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.compact import Compact, compact
from awt.models.network import Masks, Weights, apply_mask, decode_mask, decode_weights, encode_weights
from awt.options import from_json
from awt.training.adversarial import train
from awt.training.options import Training

CURVE = ["epoch", "loss", "train_adversarial", "validation_natural", "validation_adversarial"]


class Start(NamedTuple):
    """What a run begins with; what is trained is the `narrow` network."""

    dataset: Dataset
    initial: Weights
    mask: Masks
    threat: Ball
    narrow: Compact

    def whole(self, weights: Weights) -> Weights:
        """Expands weights of the narrow network to the whole one."""
        return self.narrow.restored(weights, apply_mask(self.initial, self.mask))


def start(params: Mapping[str, Any], inputs: Mapping[str, Buffer]) -> Start:
    """What a retrain cell of these parameters and inputs begins with."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(from_json(Model, params["model"]), dataset)
    initial = decode_weights(inputs["initial"], "initial.npz")
    mask = decode_mask(inputs["mask"], "mask.npz") if "mask" in inputs else network.everything()
    threat = ball(from_json(Threat, params["threat"]), dataset.std)
    # pixels that the network does not see take no part in ℓ∞ attacks; in others they do, as random starts go there
    return Start(dataset, initial, mask, threat, compact(network, initial, mask, pixels=threat.norm == "linf"))


def retrain(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: model.npz and curve.csv of a mask, or without one of the dense network, trained adversarially from its
    starting weights."""
    begun = start(params, inputs)
    dataset, narrow = begun.dataset, begun.narrow
    weights, rows = train(
        narrow.network,
        narrow.weights(begun.initial),
        narrow.mask(begun.mask),
        replace(
            dataset,
            train_x=narrow.pixels(dataset.train_x),
            validation_x=narrow.pixels(dataset.validation_x),
            test_x=narrow.pixels(dataset.test_x),
        ),
        begun.threat,
        from_json(Training, params["training"]),
        params["seed"],
        watch,
    )
    whole = begun.whole(weights)
    return {"model.npz": encode_weights(whole), "curve.csv": encode_csv(pd.DataFrame(rows, columns=CURVE))}
