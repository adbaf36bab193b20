"""The cell that finds one mask: a method at a density from an initialisation."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np
import pandas as pd

from awt.artifacts import FORMAT_VERSION, Buffer, decode_npz, encode_csv, encode_json
from awt.attacks.ball import Threat, ball
from awt.data.dataset import decode
from awt.loop import Watch
from awt.models.architecture import Model, build
from awt.models.network import Masks, decode_mask, decode_weights, encode_mask, encode_weights
from awt.options import from_json
from awt.tickets.dense_side import partition
from awt.tickets.method import find, method
from awt.tickets.setting import NO_THREAT, Setting, Ticket

CURVE = ["epoch", "accuracy", "target_distance", "kernel_distance", "kernel_distance_error", "changed", "kept"]


def find_mask(params: Mapping[str, Any], inputs: Mapping[str, Buffer], watch: Watch) -> dict[str, bytes]:
    """Cell: mask.npz, mask.json (counts) and curve.csv of a method, a density and a seed; start.npz where the method
    says what training starts from."""
    asked = method(params["method"])
    options = from_json(asked.options, params["options"])
    setting = make_setting(params, inputs, getattr(options, "batch", None), watch)
    ticket = find(asked, setting, options)
    about = describe(ticket) | {name: params[name] for name in ("density", "seed")}
    columns = [*CURVE, *(f"kept {name}" for name in sorted(ticket.mask))]
    files = {
        "mask.npz": encode_mask(ticket.mask),
        "mask.json": encode_json(about | {"format_version": FORMAT_VERSION}),
        "curve.csv": encode_csv(pd.DataFrame(ticket.curve, columns=columns)),
    }
    return files if ticket.start is None else files | {"start.npz": encode_weights(ticket.start)}


def make_setting(params: Mapping[str, Any], inputs: Mapping[str, Buffer], batch: int | None, watch: Watch) -> Setting:
    """What a method is given, of a cell's parameters and files."""
    dataset = decode(inputs["dataset"], "dataset.npz")
    threat = ball(from_json(Threat, params["threat"]), dataset.std) if "threat" in params else NO_THREAT
    return Setting(
        network=build(from_json(Model, params["model"]), dataset),
        initial=decode_weights(inputs["initial"], "initial.npz"),
        density=params["density"],
        seed=params["seed"],
        dataset=dataset,
        threat=threat,
        watch=watch,
        indices=None if batch is None else partition(len(dataset.train_y), batch, params["seed"]),
        teacher=decode_weights(inputs["teacher"], "teacher.npz") if "teacher" in inputs else None,
        outputs=jnp.asarray(decode_npz(inputs["dense"], "dense.npz")["outputs"]) if "dense" in inputs else None,
        views=decode_npz(inputs["views"], "views.npz") if "views" in inputs else {},
        other=decode_mask(inputs["other"], "mask.npz") if "other" in inputs else None,
    )


def describe(ticket: Ticket) -> dict[str, Any]:
    """Counts of a ticket's mask, whole and by layer, and how it is to be trained."""
    layers = _counts(ticket.mask)
    return {
        "kept": sum(layer["kept"] for layer in layers.values()),
        "total": sum(layer["size"] for layer in layers.values()),
        "layers": layers,
        "start": "rewind" if ticket.start is None else "searched",
        "trains_all": ticket.trains_all,
    }


def _counts(mask: Masks) -> dict[str, dict[str, int]]:
    return {name: {"kept": int(np.sum(np.asarray(kept))), "size": int(kept.size)} for name, kept in mask.items()}
