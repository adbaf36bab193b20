"""Trained networks as they are attacked: without the units that their masks cut off."""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer
from awt.attacks.battery import Victim
from awt.data.dataset import Dataset
from awt.models.architecture import Model, build
from awt.models.compact import compact
from awt.models.network import decode_weights, fitting, nonzero
from awt.options import from_json


def narrow_victim(model: Mapping[str, Any], dataset: Dataset, data: Buffer) -> Victim:
    """Of model.npz. All pixels stay: attacks may move those that the network does not see."""
    whole = build(from_json(Model, model), dataset)
    weights = fitting(whole, decode_weights(data, "model.npz"), "model.npz")
    narrow = compact(whole, weights, nonzero(weights), pixels=False)
    return Victim(narrow.network, narrow.weights(weights))
