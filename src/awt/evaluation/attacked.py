"""The cell that attacks one trained network on one chunk of test points."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import jax
import numpy as np

from awt.artifacts import Buffer, encode_npz
from awt.attacks.ball import ball
from awt.attacks.pgd import attacked
from awt.data.dataset import decode
from awt.errors import WorkError
from awt.keys import key
from awt.models.compact import compact
from awt.models.network import Network, Weights, decode_weights, nonzero
from awt.models.zoo import build
from awt.params import EvaluationAttack, Model, Threat
from awt.runtime import Context


def evaluate(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: by point, the natural prediction and under each restart the adversarial one."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    whole, trained = build(Model.of(params["model"]), dataset), decode_weights(inputs["model"], "model.npz")
    narrow = compact(whole, trained, nonzero(trained), pixels=False)
    network, weights = narrow.network, narrow.weights(trained)
    threat = ball(Threat.of(params["threat"]), dataset.std)
    attack = EvaluationAttack.of(params["attack"])
    chunk = slice(*params["points"])
    x, y = dataset.test_x[chunk], dataset.test_y[chunk]
    natural = _finite(_natural(network, weights, x))
    base = key(params["seed"], "evaluate", params["points"][0])
    adversarial = []
    for restart in range(attack.restarts):
        _, logits = attacked(network, threat, attack, weights, x, y, jax.random.fold_in(base, restart))
        adversarial.append(_finite(logits).argmax(axis=-1))
        context.progress(restart + 1, attack.restarts)
        context.check_stop()
    points = np.arange(*params["points"], dtype=np.int32)
    arrays = {
        "point": points,
        "label": y,
        "natural": natural.argmax(axis=-1),
        "adversarial": np.stack(adversarial, 1),
    }
    return {"points.npz": encode_npz({name: np.asarray(array, np.int32) for name, array in arrays.items()})}


@partial(jax.jit, static_argnames="network")
def _natural(network: Network, weights: Weights, x: jax.Array) -> jax.Array:
    return network.apply(weights, x)


def _finite(logits: jax.Array) -> np.ndarray:
    """A network that answers NaN must not count as unbroken."""
    values = np.asarray(logits)
    if not np.isfinite(values).all():
        raise WorkError("the network's outputs are not finite: its training diverged")
    return values
