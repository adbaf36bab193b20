"""The cell that looks whether a trained network only seems robust."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from awt.artifacts import Buffer, encode_json
from awt.attacks.ball import Threat, ball
from awt.attacks.battery import keys_of
from awt.cells.narrow import narrow_victim
from awt.data.dataset import decode
from awt.evaluation.sanity import examine
from awt.keys import key
from awt.loop import Watch
from awt.options import from_json


def check(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: flags, and robust accuracy against ε and against steps, on the first test points."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    victim = narrow_victim(params["model"], dataset, inputs["model"])
    x, y = dataset.test_x[: params["points"]], dataset.test_y[: params["points"]]
    keys = keys_of(key(params["seed"], "sanity"), np.arange(len(y)))
    flags, lines = examine(victim, ball(from_json(Threat, params["threat"]), dataset.std), x, y, keys, watch)
    return {"sanity.json": encode_json({"flags": flags, **lines})}
