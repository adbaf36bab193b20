"""Trained networks as they are attacked: without the units that their masks cut off."""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer
from awt.attacks.battery import Victim
from awt.data.dataset import Dataset
from awt.models.architecture import Model, build
from awt.models.network import decode_weights, fitting
from awt.options import from_json


def narrow_victim(model: Mapping[str, Any], dataset: Dataset, data: Buffer) -> Victim:
    """Of model.npz."""
    whole = build(from_json(Model, model), dataset)
    weights = fitting(whole, decode_weights(data, "model.npz"), "model.npz")
    return Victim.narrow(whole, weights)
