"""`awt export`: a trained network as files that need nothing of awt to be used."""

import argparse
import importlib.util
from pathlib import Path
from typing import Any

from awt.artifacts import decode_json, read, read_json
from awt.commands import trained
from awt.commands.table import table
from awt.commands.tickets import tickets_experiment
from awt.data.dataset import Description
from awt.errors import InputError
from awt.export import files as library
from awt.models.architecture import build
from awt.models.network import decode_weights, fitting
from awt.models.registry import resolved
from awt.workflows.running import check_out, publish
from awt.workflows.tickets.grid import DESCRIBED

INDEX = "network.json"
FILES = ("weights.npz", "compact.npz", INDEX, "network.onnx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    trained.add_arguments(parser)
    parser.add_argument(
        "--to",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="for weights.npz (the whole network), compact.npz (without dead units), network.json (their layers)",
    )
    parser.add_argument("--onnx", action="store_true", help="the compacted network as network.onnx as well")


def export(arguments: argparse.Namespace) -> None:
    """Writes a network's files, and says how large it is."""
    folder = arguments.to
    check_out("--to", folder, INDEX, "an exported network", FILES.__contains__)
    if arguments.onnx and importlib.util.find_spec("onnx") is None:
        raise InputError('--onnx: needs the package onnx: pip install "awt[onnx]", or pip install onnx')
    asked, params = tickets_experiment("export")
    data = Description.of(read_json(Path(DESCRIBED)))
    chosen = trained.find(arguments, asked, params)
    path = chosen.source.path
    network = build(resolved(params.model), data)
    weights = fitting(network, decode_weights(read(path), str(path)), str(path))
    whole, compact = (make(network, weights, data.shape) for make in (library.whole, library.compacted))
    source = chosen.name.tags | {"file": str(path), "sha256": chosen.source.sha256}
    files: dict[str, bytes | Path] = {**library.files(whole, compact, data.shape, data.classes, source)}
    if arguments.onnx:
        from awt.export import onnx  # an extra, which need not be installed

        files["network.onnx"] = onnx.encode(compact, data.shape, data.classes)
    publish(folder, files)
    print(_text(chosen.title, decode_json(read(folder / INDEX), INDEX), folder))


def _text(title: str, about: dict[str, Any], folder: Path) -> str:
    columns = ["weights", "nonzero_weights", "biases", "multiply_adds"]
    rows = [[name, *(str(about["networks"][name][column]) for column in columns)] for name in ("whole", "compact")]
    head = ["network", "weights", "not 0", "biases", "multiply-adds"]
    return "\n".join([title, *table(head, rows), str(folder.resolve())])
