"""The cell that throws one attack at one trained network, at the points of a chunk that are still standing."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from awt.artifacts import Buffer, decode_npz, encode_npz
from awt.attacks.attacker import make
from awt.attacks.ball import Threat, ball
from awt.attacks.battery import Victim, begin, keys_of, strike
from awt.attacks.outcome import Outcome
from awt.cells.narrow import narrow_victim
from awt.data.dataset import Dataset, decode
from awt.keys import key
from awt.loop import Watch
from awt.options import from_json


def attack(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: by point the label, which attack of the suite broke it, and the perturbation's size. Where they are to be
    kept, also the images that this attack broke points with."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    victim = narrow_victim(params["model"], dataset, inputs["model"])
    start, stop = params["points"]
    x, y = dataset.test_x[start:stop], dataset.test_y[start:stop]
    before = _before(inputs, victim, dataset, slice(start, stop))

    attacker = make(params["attack"], params["settings"])

    def report(name: str, turn: int, turns: int, standing: int) -> None:
        watch.check_stop()
        watch.progress(turn, turns, standing=standing)

    outcome = strike(
        victim,
        ball(from_json(Threat, params["threat"]), dataset.std),
        attacker,
        params["number"],
        x,
        y,
        keys_of(key(params["seed"], "evaluate", attacker.name), np.arange(start, stop)),
        before,
        report,
    )
    arrays = {
        "point": np.arange(start, stop, dtype=np.int32),
        "label": np.asarray(y, np.int32),
        "by": np.asarray(outcome.by, np.int8),
        "size": np.asarray(outcome.size, np.float32),
    }
    files = {"points.npz": encode_npz(arrays)}
    if params.get("keep_examples"):
        own = np.flatnonzero(outcome.by == params["number"])
        examples = {"point": arrays["point"][own], "label": arrays["label"][own], "x": outcome.moved[own]}
        files["examples.npz"] = encode_npz(examples)
    return files


def _before(inputs: Mapping[str, Buffer], victim: Victim, dataset: Dataset, chunk: slice) -> Outcome:
    x, y = dataset.test_x[chunk], dataset.test_y[chunk]
    if "before" not in inputs:
        return begin(victim, x, y)
    arrays = decode_npz(inputs["before"], "points.npz")
    return Outcome(arrays["by"].astype(int), np.array(x), arrays["size"])
