"""Which trained network the user means: of a method of the experiment, of a cell, of a file, of a checkpoint."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from awt.artifacts import read_json, read_npz, sha256_file
from awt.errors import InputError
from awt.lineage.repository import ticket
from awt.names import TicketName
from awt.runtime.cell import Source, from_json
from awt.runtime.known import matching, only
from awt.services.training import RETRAIN, checkpoint_cell
from awt.workflows.experiment import Experiment
from awt.workflows.running import Session
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import ARTIFACTS

MODELS = Path(ARTIFACTS) / "models"


@dataclass(frozen=True)
class Trained:
    """A trained network's file, and what is known of it: its ticket's name (of a file, its own name in the method's
    place), and a title."""

    source: Source
    name: TicketName
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


def find(arguments: argparse.Namespace, asked: Experiment, params: Params) -> Trained:
    """The network that the arguments name; a checkpoint is made a model by a cell of its own."""
    what, path = arguments.what, Path(arguments.what)
    index = MODELS / "index.json"
    models = read_json(index)["models"] if index.exists() else []
    if what in {model["method"] for model in models}:
        return _of_method(arguments, models)
    if path.is_dir():
        network = _of_checkpoint(path, asked)
    elif path.is_file() or path.suffix == ".npz":
        network = _of_file(path, params)
    else:
        network = _of_cell(arguments, asked)
    for option in ("density", "seed"):
        if getattr(arguments, option) is not None:
            raise InputError(f"--{option}: says which network of a method; {what} is one network: leave it out")
    return _recognised(network, models)


def _of_method(arguments: argparse.Namespace, models: list[dict[str, Any]]) -> Trained:
    seeds = list(dict.fromkeys(model["seed"] for model in models))
    seed = seeds[0] if arguments.seed is None else arguments.seed
    if seed not in seeds:
        raise InputError(f"--seed: {seed} is not one of the experiment's {seeds}")
    mine = [model for model in models if model["seed"] == seed]
    model = ticket(mine, arguments.what, arguments.density, ("WHAT", "--density"))
    path = MODELS / model["file"]
    _density(path)
    return Trained(Source.of(path), TicketName.of(model), _title(model))


def _of_file(path: Path, params: Params) -> Trained:
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a method of the experiment or a model file (.npz)")
    return Trained(Source.of(path), TicketName(path.stem, _density(path), params.seeds[0]), str(path))


def _of_cell(arguments: argparse.Namespace, asked: Experiment) -> Trained:
    what, store = arguments.what, asked.store()
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
    name = TicketName(one.cell.label, _density(entry.path("model.npz")), one.cell.params["seed"])
    return Trained(entry.source("model.npz"), name, f"{one.cell.label} ({one.key[:12]})")


def _of_checkpoint(folder: Path, asked: Experiment) -> Trained:
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
    with Session(asked, "checkpoint") as session:
        [entry] = session.run([checkpoint_cell(cell, step.resolve())])
    name = TicketName(cell.label, _density(entry.path("model.npz")), cell.params["seed"])
    return Trained(entry.source("model.npz"), name, f"checkpoint {step.resolve().name} of {cell.label}")


def _recognised(network: Trained, models: list[dict[str, Any]]) -> Trained:
    """With the name of the experiment's model that has the same content, if one does."""
    for model in models:
        path = MODELS / model["file"]
        if path.exists() and sha256_file(path) == network.source.sha256:
            return Trained(network.source, TicketName.of(model), f"{network.title}: {_title(model)}")
    return network


def _density(path: Path) -> float:
    """The share of a model's weights that are not 0, once it is known to be a readable model."""
    arrays = read_npz(path)
    kernels = [array for name, array in arrays.items() if name.endswith("/kernel")]
    if not kernels or any(array.dtype.kind != "f" or array.size == 0 for array in arrays.values()):
        raise InputError(f"{path}: no model: a model has <layer>/kernel and <layer>/bias, of floats")
    return sum(np.count_nonzero(kernel) for kernel in kernels) / sum(kernel.size for kernel in kernels)


def _title(model: dict[str, Any]) -> str:
    return "{method}, density {density:g}, seed {seed}".format(**model)
