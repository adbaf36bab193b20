"""The cells of the dense network's side of a search, computed once per initialisation and shared by every search."""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer, decode_npz, encode_npz
from awt.attacks.ball import Threat, ball
from awt.attacks.pgd import Attack
from awt.data.dataset import decode
from awt.kernels.estimators import estimator
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.network import decode_weights, encode_weights
from awt.options import from_json
from awt.tickets.dense_side import attacked_batches, kernel_views, seen_batches


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
    batch, seed = params["batch"], params["seed"]
    adversarial, outputs = attacked_batches(network, threat, attack, weights, dataset, batch, seed, watch)
    return {"dense.npz": encode_npz({"adversarial": adversarial, "outputs": outputs})}


def views(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: views of the dense kernel Θ(X, X̃) for the search, by epoch (one for all where the estimator has no fresh
    ones; none where the search does not match kernels) and batch, and for the curves, of some batches."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    network = build(from_json(Model, params["model"]), dataset)
    weights = decode_weights(inputs["teacher"], "teacher")
    side = decode_npz(inputs["dense"], "dense.npz")
    seed, chosen = params["seed"], estimator(params["estimator"], params["probes"])
    batches = seen_batches(dataset, params["batch"], side["adversarial"], side["outputs"], seed)
    epochs = params["epochs"] if params["matched"] else 0
    search, held_out = kernel_views(chosen, network, weights, batches, epochs, seed, watch)
    return {"views.npz": encode_npz({"search": search, "held_out": held_out})}
