"""Which trained network the user means: of a method of the experiment, of a cell, of a file, of a checkpoint."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from awt.artifacts import read_json, read_npz, sha256_file
from awt.errors import InputError
from awt.lineage.repository import ticket
from awt.params import Params
from awt.runtime.cell import Source, from_json
from awt.runtime.known import matching, only
from awt.training.cells import RETRAIN, checkpoint_cell
from awt.workflows.running import ARTIFACTS, Stage, store_of

MODELS = ARTIFACTS / "models"


@dataclass(frozen=True)
class Trained:
    """A trained network's file, and what is known of it: method (of a file, its name), density, seed."""

    source: Source
    about: dict[str, Any]
    title: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what",
        metavar="WHAT",
        help="a method of the experiment; a finished retrain cell, by its key, the key's beginning or its label; a "
        "model file (.npz); or a folder of a retrain cell's checkpoints",
    )
    parser.add_argument("--density", type=float, help="of the method's network (default: the only one)")
    parser.add_argument("--seed", type=int, help="of the method's network (default: the experiment's first)")


def find(arguments: argparse.Namespace, params: Params) -> Trained:
    """The network that the arguments name; a checkpoint is made a model by a cell of its own."""
    what, path = arguments.what, Path(arguments.what)
    index = MODELS / "index.json"
    models = read_json(index)["models"] if index.exists() else []
    if what in {model["method"] for model in models}:
        return _of_method(arguments, models)
    if path.is_dir():
        found = _of_checkpoint(path)
    elif path.is_file() or path.suffix == ".npz":
        found = _of_file(path, params)
    else:
        found = _of_cell(arguments, params)
    for option in ("density", "seed"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option}: says which network of a method; {what} is one network: leave it out")
    return _recognised(found, models)


def _of_method(arguments: argparse.Namespace, models: list[dict[str, Any]]) -> Trained:
    seeds = list(dict.fromkeys(model["seed"] for model in models))
    seed = seeds[0] if arguments.seed is None else arguments.seed
    if seed not in seeds:
        raise InputError(f"--seed: {seed} is not one of the experiment's {seeds}")
    mine = [model for model in models if model["seed"] == seed]
    model = ticket(mine, arguments.what, arguments.density, ("WHAT", "--density"))
    path = MODELS / model["file"]
    _density(path)
    return Trained(Source.of(path), _about(model), _title(model))


def _of_file(path: Path, params: Params) -> Trained:
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a method of the experiment or a model file (.npz)")
    about = {"method": path.stem, "density": _density(path), "seed": params.seeds[0]}
    return Trained(Source.of(path), about, str(path))


def _of_cell(arguments: argparse.Namespace, params: Params) -> Trained:
    what, store = arguments.what, store_of(params)
    matches = [one for one in matching(store, what) if one.cell.kind == "retrain"]
    finished = [one for one in matches if one.state == "done"]
    if matches and not finished:
        raise InputError(
            f"WHAT: {matches[0].cell.label} ({matches[0].key[:12]}) is not finished; "
            f"its checkpoints, if any, are in {store.checkpoints(matches[0].key)}"
        )
    if not finished:
        known = read_json(MODELS / "index.json")["models"]
        if what.replace("_", "").isalnum():
            ticket(known, what, arguments.density, ("WHAT", "--density"))
        raise InputError(
            f"WHAT: {what!r} is neither a method of the experiment, a file, a folder, nor a finished retrain cell "
            "(`awt cells` lists those)"
        )
    one = only(finished, what)
    entry = store.find(one.key)
    if entry is None:
        raise InputError(f"WHAT: {one.cell.label} ({one.key[:12]}) is damaged in the store: run `dvc repro` again")
    about = {"method": one.cell.label, "density": _density(entry.path("model.npz")), "seed": one.cell.params["seed"]}
    return Trained(entry.source("model.npz"), about, f"{one.cell.label} ({one.key[:12]})")


def _of_checkpoint(folder: Path) -> Trained:
    steps = [path for path in folder.iterdir() if path.name.isdigit() and (path / "state").is_dir()]
    step = folder if (folder / "state").is_dir() else max(steps, key=lambda path: int(path.name), default=None)
    if step is None:
        raise InputError(
            f"{folder}: no checkpoints in it; those of a retrain cell are in its folder of the store's work"
        )
    described = step.resolve().parents[1] / "cell.json"
    if not described.is_file():
        raise InputError(
            f"{folder}: {described} is missing, which says what the checkpoint is of: name it in its store"
        )
    cell = from_json(read_json(described))
    if cell.function != RETRAIN:
        raise InputError(f"{folder}: a checkpoint of {cell.label}, not of a retrain cell")
    work = Stage("retrain")  # whose code the cell's key must name
    try:
        [entry] = work.run([checkpoint_cell(cell, step.resolve())])
    finally:
        work.close()
    about = {"method": cell.label, "density": _density(entry.path("model.npz")), "seed": cell.params["seed"]}
    return Trained(entry.source("model.npz"), about, f"checkpoint {step.resolve().name} of {cell.label}")


def _recognised(found: Trained, models: list[dict[str, Any]]) -> Trained:
    """With method, density and seed of the experiment's model that has the same content, if one does."""
    for model in models:
        path = MODELS / model["file"]
        if path.exists() and sha256_file(path) == found.source.sha256:
            return Trained(found.source, _about(model), f"{found.title}: {_title(model)}")
    return found


def _density(path: Path) -> float:
    """The share of a model's weights that are not 0, once it is known to be a readable model."""
    arrays = read_npz(path)
    kernels = [array for name, array in arrays.items() if name.endswith("/kernel")]
    if not kernels or any(array.dtype.kind != "f" or array.size == 0 for array in arrays.values()):
        raise InputError(f"{path}: no model: a model has <layer>/kernel and <layer>/bias, of floats")
    return sum(np.count_nonzero(kernel) for kernel in kernels) / sum(kernel.size for kernel in kernels)


def _about(model: dict[str, Any]) -> dict[str, Any]:
    return {name: model[name] for name in ("method", "density", "seed")}


def _title(model: dict[str, Any]) -> str:
    return "{method}, density {density:g}, seed {seed}".format(**model)
