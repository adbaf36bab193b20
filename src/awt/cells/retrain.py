"""The cell that retrains one ticket."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import pandas as pd

from awt.artifacts import Buffer, encode_csv
from awt.attacks.ball import Ball, Threat, ball
from awt.data.dataset import Dataset, decode
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.compact import Compact
from awt.models.network import Masks, Network, Weights, apply_mask, decode_mask, decode_weights, encode_weights
from awt.options import from_json
from awt.training.narrow import narrowed, train_narrow
from awt.training.options import Training

CURVE = ["epoch", "loss", "train_adversarial", "validation_natural", "validation_adversarial"]


class Start(NamedTuple):
    """What a run begins with; what is trained is the `narrow` network."""

    network: Network
    initial: Weights
    mask: Masks
    dataset: Dataset
    threat: Ball

    @property
    def narrow(self) -> Compact:
        return narrowed(self.network, self.initial, self.mask, self.threat)

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
    return Start(network, initial, mask, dataset, threat)


def retrain(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: model.npz and curve.csv of a mask, or without one of the dense network, trained adversarially from its
    starting weights."""
    begun = start(params, inputs)
    weights, rows = train_narrow(*begun, from_json(Training, params["training"]), params["seed"], watch)
    return {"model.npz": encode_weights(weights), "curve.csv": encode_csv(pd.DataFrame(rows, columns=CURVE))}
