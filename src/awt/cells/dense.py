"""The cells of the dense network's side of a search, computed once per initialisation and shared by every search."""

from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from awt.artifacts import Buffer, decode_npz, encode_npz
from awt.attacks.ball import Threat, ball
from awt.attacks.pgd import Attack, attacked
from awt.data.dataset import decode
from awt.kernels.estimators import estimator, residual
from awt.keys import key
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.network import decode_weights, encode_weights
from awt.options import from_json
from awt.tickets.dense_side import Seen, kernel_views, partition


def initial_weights(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: θ₀ of a seed."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(from_json(Model, params["model"]), dataset)
    return {"initial.npz": encode_weights(network.initialise(params["seed"]))}


def dense_side(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: by batch, adversarial examples of the dense network (the teacher's weights) and its outputs on them."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(from_json(Model, params["model"]), dataset)
    threat = ball(from_json(Threat, params["threat"]), dataset.std)
    attack = from_json(Attack, params["attack"])
    weights = decode_weights(inputs["teacher"], "teacher")
    indices = partition(len(dataset.train_y), params["batch"], params["seed"])
    base = key(params["seed"], "dense side", "attack")
    adversarial, outputs = [], []
    for number, batch in enumerate(indices):
        x, y = dataset.train_x[batch], dataset.train_y[batch]
        moved, logits = attacked(network, threat, attack, weights, x, y, jax.random.fold_in(base, number))
        adversarial.append(np.asarray(moved))
        outputs.append(np.asarray(logits))
        watch.progress(number + 1, len(indices))
        watch.check_stop()
    return {"dense.npz": encode_npz({"adversarial": np.stack(adversarial), "outputs": np.stack(outputs)})}


def views(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: views of the dense kernel Θ(X, X̃) for the search, by epoch (one for all where the estimator has no fresh
    ones; none where the search does not match kernels) and batch, and for the curves, of some batches."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(from_json(Model, params["model"]), dataset)
    weights = decode_weights(inputs["teacher"], "teacher")
    side = decode_npz(inputs["dense"], "dense.npz")
    seed, chosen = params["seed"], estimator(params["estimator"], params["probes"])
    indices = partition(len(dataset.train_y), params["batch"], seed)
    outputs = jnp.asarray(side["outputs"])
    batches = Seen(
        jnp.asarray(dataset.train_x[indices]),
        jnp.asarray(side["adversarial"]),
        jax.vmap(residual)(outputs, jnp.asarray(dataset.train_y[indices])),
    )
    epochs = 0 if not params["matched"] else params["epochs"] if chosen.fresh else 1
    search, held_out = kernel_views(chosen, network, weights, batches, epochs, seed, watch)
    return {"views.npz": encode_npz({"search": search, "held_out": held_out})}
