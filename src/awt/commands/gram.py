"""`awt gram`: a Gram matrix of any network of the experiment, over any of its points, in a folder of the user's."""

import argparse
import math
from pathlib import Path
from typing import Any

from awt.artifacts import read_json
from awt.attacks.pgd import Attack
from awt.commands.tickets import tickets_experiment
from awt.data.dataset import described
from awt.errors import InputError
from awt.kernels.diagnostics import largest
from awt.kernels.tiles import INDEX, Gram
from awt.lineage.repository import ticket
from awt.params.checking import checked
from awt.runtime.cell import Source
from awt.services.gram import INFINITE, PointSet, Request, Subject, adversarial_cell, compute, points_cell
from awt.workflows.running import Session, check_out, publish
from awt.workflows.tickets.grid import DATASET, DESCRIBED, initial
from awt.workflows.tickets.mask import INDEX as MASKS
from awt.workflows.tickets.params import Params
from awt.workflows.workflow import ARTIFACTS


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
    parser.add_argument("--count", type=int, help="how many, from the first (default: kernel.reference_points)")
    parser.add_argument(
        "--other",
        choices=["natural", "adversarial"],
        default="natural",
        help="the points' other side: themselves (default), or the network's adversarial examples near them, by the "
        "attack of tickets.shared: the mixed kernel",
    )
    parser.add_argument(
        "--classes", choices=["full", "trace"], default="trace", help="all pairs of outputs, or their trace (default)"
    )
    parser.add_argument("--unprojected", action="store_true", help="gradients through pruned weights as well")
    parser.add_argument("--memory-gb", type=float, help="for a tile's computation (default: kernel.tile_memory_gb)")
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where index.json and the tiles go")


def gram(arguments: argparse.Namespace) -> None:
    """Computes a Gram matrix, or what of it the store lacks, and says what it is like."""
    check_out("--out", arguments.out, INDEX, "a Gram matrix", lambda name: name.startswith("tile-"))
    asked, params = tickets_experiment("gram")
    dataset = read_json(Path(DESCRIBED))
    subject = _subject(arguments, params, described(dataset))
    count, memory = _count(arguments, params, dataset["counts"]), _memory_gb(arguments, params)
    with Session(asked, "gram") as session:
        [natural] = session.run([points_cell(arguments.points, count, Source.of(Path(DATASET)))])
        rows, columns = PointSet(arguments.points, count, natural.source("x.npy")), None
        if arguments.other == "adversarial":
            [attacked] = session.run([adversarial_cell(params.threat, _attack(params), subject, natural)])
            columns = PointSet(arguments.points, count, attacked.source("x.npy"), adversarial=True)
        request = Request(subject, rows, columns, arguments.classes, projected=not arguments.unprojected)
        [computed] = compute(session.run, [request], memory)
        publish(arguments.out, computed.files())
        reused = len(session.reused() & {entry.key for entry in computed.tiles})
    _show(Gram(arguments.out), computed.engine, len(computed.tiles), reused)


def _attack(params: Params) -> Attack:
    """The attack that the methods share, by which searches see adversarial examples."""
    given = params.tickets.shared.get("attack")
    return Attack() if given is None else checked(Attack, given, "params.yaml: tickets.shared.attack")


def _show(gram: Gram, engine: str, tiles: int, reused: int) -> None:
    index = gram.index
    outputs = f" x {index.classes} x {index.classes}" if index.shape == "full" else ", class-traced"
    name = "largest eigenvalue" if index.symmetric else "largest singular value"
    print(f"{index.rows} x {index.columns} points{outputs}; {tiles} tiles of side {index.side}, engine {engine}")
    print(f"{tiles - reused} tiles computed, {reused} reused")
    print(f"trace {gram.trace():.6g}, {name} {largest(gram):.6g}")
    print(gram.folder.resolve())


def _subject(arguments: argparse.Namespace, params: Params, data: dict[str, Any]) -> Subject:
    method, trained = arguments.method, arguments.trained
    seed = params.seeds[0] if arguments.seed is None else arguments.seed
    if seed not in params.seeds:
        raise InputError(f"--seed: {seed} is not one of the experiment's {list(params.seeds)}")
    start = Path(initial(seed))
    if method == INFINITE and (trained or arguments.other == "adversarial"):
        raise InputError("--method: infinite has no weights: neither --trained nor --other adversarial apply to it")
    if method == INFINITE or (method == "dense" and not trained):
        if arguments.density not in (None, 1.0):
            raise InputError(f"--density: {arguments.density:g} of the dense network, whose only one is 1")
        return Subject(method, 1.0, seed, trained, params.model, data, Source.of(start))
    masks = [mask for mask in read_json(Path(MASKS))["masks"] if mask["seed"] == seed]
    chosen = ticket(masks, method, arguments.density)
    weights = Path(ARTIFACTS, "models", chosen["file"]) if trained else start
    mask = None if method == "dense" or chosen["trains_all"] else Source.of(Path(ARTIFACTS, "masks", chosen["file"]))
    return Subject(method, chosen["density"], seed, trained, params.model, data, Source.of(weights), mask)


def _count(arguments: argparse.Namespace, params: Params, counts: dict[str, int]) -> int:
    there = counts[arguments.points]
    if there == 0:
        raise InputError(f"--points: the experiment has no {arguments.points} points")
    count = min(params.kernel.reference_points, there) if arguments.count is None else arguments.count
    if not 1 <= count <= there:
        raise InputError(f"--count: {count} of the {there} {arguments.points} points; ask for 1 to {there}")
    return int(count)


def _memory_gb(arguments: argparse.Namespace, params: Params) -> float:
    given = params.kernel.tile_memory_gb if arguments.memory_gb is None else arguments.memory_gb
    if not 0 < given < math.inf:
        raise InputError(f"--memory-gb: {given:g} is no amount of memory; it must be above 0")
    return float(given)
