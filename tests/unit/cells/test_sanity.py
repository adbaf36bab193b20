"""The cell that looks whether a network only seems robust says what the examination of its network says."""

import jax
import numpy as np

from awt.artifacts import decode_json
from awt.attacks.ball import Ball
from awt.attacks.battery import Victim, keys_of
from awt.cells.sanity import check
from awt.evaluation.sanity import examine
from awt.keys import key
from awt.models.network import encode_weights


def test_says_what_the_examination_says(model, build_network, random_weights, dataset, dataset_npz, quiet):
    network = build_network("mlp")
    weights = random_weights(network)
    threat = {"norm": "linf", "eps": 0.05, "eps_unit": "pixel", "clip": True}
    params = {"model": model("mlp"), "threat": threat, "points": 8, "seed": 3}
    files = check(params, {"dataset": dataset_npz, "model": encode_weights(weights)}, quiet)
    keys = keys_of(key(3, "sanity"), np.arange(8))
    victim, ball = Victim(network, weights), Ball("linf", 0.05, (1.0,), True)
    flags, lines = examine(victim, ball, dataset.test_x[:8], dataset.test_y[:8], keys)
    assert decode_json(files["sanity.json"], "sanity.json") == jax.device_get({"flags": flags, **lines})
