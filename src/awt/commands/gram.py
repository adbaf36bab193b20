"""`awt gram`: a Gram matrix of any network of the experiment, over any of its points, in a folder of the user's."""

import argparse
import math
from pathlib import Path
from typing import Any

from awt.artifacts import read_json
from awt.data.dataset import described
from awt.errors import InputError
from awt.kernels.cells import INFINITE, PointSet, Request, Subject, adversarial_cell, points_cell
from awt.kernels.diagnostics import largest
from awt.kernels.service import compute
from awt.kernels.tiles import INDEX, Gram
from awt.lineage.repository import ticket
from awt.params import Params
from awt.runtime.cell import Source
from awt.workflows.running import ARTIFACTS, Stage, check_out, publish

DATA = ARTIFACTS / "data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--method",
        default="dense",
        help="of the ticket (default: dense, the whole network; infinite: its analytic limit)",
    )
    parser.add_argument("--density", type=float, help="of the ticket (default: the only one of its method)")
    parser.add_argument("--seed", type=int, help="of the initialisation (default: the first of params.yaml)")
    parser.add_argument("--trained", action="store_true", help="after retraining (default: at initialisation)")
    parser.add_argument("--points", choices=["train", "validation", "test"], default="train", help="(default: train)")
    parser.add_argument("--count", type=int, help="how many, from the first (default: kernel.reference)")
    parser.add_argument(
        "--other",
        choices=["natural", "adversarial"],
        default="natural",
        help="the points' other side: themselves (default), or the network's adversarial examples near them, by the "
        "attack of the search: the mixed kernel",
    )
    parser.add_argument(
        "--classes", choices=["full", "trace"], default="trace", help="all pairs of outputs, or their trace (default)"
    )
    parser.add_argument("--unprojected", action="store_true", help="gradients through pruned weights as well")
    parser.add_argument("--memory-gb", type=float, help="for a tile's computation (default: kernel.memory_gb)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where index.json and the tiles go")


def gram(arguments: argparse.Namespace) -> None:
    """Computes a Gram matrix, or what of it the store lacks, and says what it is like."""
    check_out("--out", arguments.out, INDEX, "a Gram matrix", lambda name: name.startswith("tile-"))
    work = Stage("kernel")  # so that its cells are those of the kernel stage
    try:
        dataset = read_json(DATA / "dataset.json")
        subject = _subject(arguments, work.params, described(dataset))
        count, memory = _count(arguments, work.params, dataset["counts"]), _memory_gb(arguments, work.params)
        [natural] = work.run([points_cell(arguments.points, count, Source.of(DATA / "dataset.npz"))])
        rows, columns = PointSet(arguments.points, count, natural.source("x.npy")), None
        if arguments.other == "adversarial":
            [moved] = work.run([adversarial_cell(work.params, subject, natural)])
            columns = PointSet(arguments.points, count, moved.source("x.npy"), adversarial=True)
        request = Request(subject, rows, columns, arguments.classes, projected=not arguments.unprojected)
        [computed] = compute(work.run, [request], memory)
        publish(arguments.out, computed.files())
        reused = len(work.reused() & {entry.key for entry in computed.tiles})
    finally:
        work.close()
    _show(Gram(arguments.out), computed.engine, len(computed.tiles), reused)


def _show(found: Gram, engine: str, tiles: int, reused: int) -> None:
    index = found.index
    outputs = f" x {index.classes} x {index.classes}" if index.shape == "full" else ", class-traced"
    name = "largest eigenvalue" if index.symmetric else "largest singular value"
    print(f"{index.rows} x {index.columns} points{outputs}; {tiles} tiles of side {index.side}, engine {engine}")
    print(f"{tiles - reused} tiles computed, {reused} reused")
    print(f"trace {found.trace():.6g}, {name} {largest(found):.6g}")
    print(found.folder.resolve())


def _subject(arguments: argparse.Namespace, params: Params, data: dict[str, Any]) -> Subject:
    method, trained = arguments.method, arguments.trained
    seed = params.seeds[0] if arguments.seed is None else arguments.seed
    if seed not in params.seeds:
        raise InputError(f"--seed: {seed} is not one of the experiment's {list(params.seeds)}")
    initial = ARTIFACTS / "initial" / f"seed-{seed}.npz"
    if method == INFINITE and (trained or arguments.other == "adversarial"):
        raise InputError("--method: infinite has no weights: neither --trained nor --other adversarial apply to it")
    if method == INFINITE or (method == "dense" and not trained):
        if arguments.density not in (None, 1.0):
            raise InputError(f"--density: {arguments.density:g} of the dense network, whose only one is 1")
        return Subject(method, 1.0, seed, trained, params.model, data, Source.of(initial))
    masks = [mask for mask in read_json(ARTIFACTS / "masks" / "index.json")["masks"] if mask["seed"] == seed]
    found = ticket(masks, method, arguments.density)
    weights = ARTIFACTS / "models" / found["file"] if trained else initial
    mask = None if method == "dense" or found["trains_all"] else Source.of(ARTIFACTS / "masks" / found["file"])
    return Subject(method, found["density"], seed, trained, params.model, data, Source.of(weights), mask)


def _count(arguments: argparse.Namespace, params: Params, counts: dict[str, int]) -> int:
    there = counts[arguments.points]
    if there == 0:
        raise InputError(f"--points: the experiment has no {arguments.points} points")
    count = min(params.kernel.reference, there) if arguments.count is None else arguments.count
    if not 1 <= count <= there:
        raise InputError(f"--count: {count} of the {there} {arguments.points} points; ask for 1 to {there}")
    return int(count)


def _memory_gb(arguments: argparse.Namespace, params: Params) -> float:
    given = params.kernel.memory_gb if arguments.memory_gb is None else arguments.memory_gb
    if not 0 < given < math.inf:
        raise InputError(f"--memory-gb: {given:g} is no amount of memory; it must be above 0")
    return float(given)
