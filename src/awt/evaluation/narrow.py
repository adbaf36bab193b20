"""Trained networks as they are attacked: without the units that their masks cut off."""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer
from awt.attacks.battery import Model
from awt.data.dataset import Dataset
from awt.models.compact import compact
from awt.models.network import decode_weights, fitting, nonzero
from awt.models.zoo import build
from awt.params import Model as Architecture


def narrow_model(architecture: Mapping[str, Any], dataset: Dataset, data: Buffer) -> Model:
    """Of model.npz. All pixels stay: attacks may move those that the network does not see."""
    whole = build(Architecture.of(architecture), dataset)
    weights = fitting(whole, decode_weights(data, "model.npz"), "model.npz")
    narrow = compact(whole, weights, nonzero(weights), pixels=False)
    return Model(narrow.network, narrow.weights(weights))
