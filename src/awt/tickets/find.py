"""The cell that finds one mask: a method at a density from an initialisation."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd

from awt.artifacts import FORMAT_VERSION, Buffer, decode_npz, encode_csv, encode_json
from awt.attacks.ball import ball
from awt.data.dataset import decode
from awt.errors import WorkError
from awt.models.network import Masks, decode_weights, encode_mask
from awt.models.zoo import build
from awt.params import Model, Search, Threat
from awt.runtime import Context
from awt.tickets.masks import total_kept
from awt.tickets.registry import METHODS
from awt.tickets.setting import Setting

CURVE = ["epoch", "target_distance", "kernel_distance", "kernel_distance_error", "changed"]


def find_mask(params: Mapping[str, Any], inputs: Mapping[str, Buffer], context: Context) -> dict[str, bytes]:
    """Cell: mask.npz, mask.json (counts) and curve.csv of a method, a density and a seed."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    side = decode_npz(inputs["dense"], "dense.npz")
    setting = Setting(
        network=build(Model.of(params["model"]), dataset),
        initial=decode_weights(inputs["initial"], "initial.npz"),
        density=params["density"],
        seed=params["seed"],
        search=Search.of(params["search"]),
        threat=ball(Threat.of(params["threat"]), dataset.std),
        x=jnp.asarray(dataset.train_x[side["indices"]]),
        y=jnp.asarray(dataset.train_y[side["indices"]]),
        dense_side=side,
        views=decode_npz(inputs["views"], "views.npz"),
        context=context,
    )
    ticket = METHODS[params["method"]](setting)
    about = describe(ticket.mask)
    _check(about, setting)
    about |= {name: params[name] for name in ("method", "density", "seed")}
    return {
        "mask.npz": encode_mask(ticket.mask),
        "mask.json": encode_json(about | {"format_version": FORMAT_VERSION}),
        "curve.csv": encode_csv(pd.DataFrame(ticket.curve, columns=CURVE)),
    }


def describe(mask: Masks) -> dict[str, Any]:
    """Counts of a mask, whole and by layer."""
    layers = {name: {"kept": int(np.sum(np.asarray(kept))), "size": int(kept.size)} for name, kept in mask.items()}
    return {
        "kept": sum(layer["kept"] for layer in layers.values()),
        "total": sum(layer["size"] for layer in layers.values()),
        "layers": layers,
    }


def _check(about: dict[str, Any], setting: Setting) -> None:
    """A mask of another density would make its comparisons worthless: refuse it here, whoever made it."""
    wanted = total_kept(setting.network.kernel_shapes, setting.density)
    empty = [name for name, layer in about["layers"].items() if layer["kept"] == 0]
    if about["kept"] != wanted or empty:
        raise WorkError(f"mask keeps {about['kept']} weights instead of {wanted}; empty layers: {empty or 'none'}")
