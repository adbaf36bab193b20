"""The points of a Gram matrix as small files of their own, so that a tile's cell never sees the whole data set."""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import Buffer, encode_npy, view_npy
from awt.attacks.ball import Threat, ball
from awt.attacks.examples import ATTACKED_AT_ONCE, attacked_points
from awt.attacks.pgd import Attack
from awt.data.dataset import Description, decode_first
from awt.errors import InputError
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.network import Masks, Network, Weights, apply_mask, decode_mask, decode_weights
from awt.options import from_json


def natural(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: the first points of a part of the data set, and their labels."""
    x, y = decode_first(inputs["dataset"], "dataset.npz", params["part"], params["count"])
    return {"x.npy": encode_npy(x), "y.npy": encode_npy(y)}


def adversarial(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: adversarial examples of a network near given points."""
    network, weights, mask = subject(params, inputs)
    weights = weights if mask is None else apply_mask(weights, mask)
    threat = ball(from_json(Threat, params["threat"]), Description.of(params["data"]).std)
    attack = from_json(Attack, params["attack"])
    x, y = view_npy(inputs["x"], "x.npy"), view_npy(inputs["y"], "y.npy")
    moved = attacked_points(network, threat, attack, weights, x, y, params["seed"], watch, ATTACKED_AT_ONCE)
    return {"x.npy": encode_npy(moved)}


def subject(params: Mapping[str, Any], inputs: Mapping[str, Buffer]) -> tuple[Network, Weights, Masks | None]:
    """The network of a cell, its weights, and the mask of a sparse one."""
    network = build(from_json(Model, params["model"]), Description.of(params["data"]))
    weights = decode_weights(inputs["weights"], "weights.npz")
    if {name: layer["kernel"].shape for name, layer in weights.items()} != network.kernel_shapes:
        raise InputError("the weights are of another network than params.yaml describes: run `dvc repro`")
    return network, weights, decode_mask(inputs["mask"], "mask.npz") if "mask" in inputs else None
