"""`awt attack`: what is left of a trained network's accuracy under any suite of attacks and any threat."""

import argparse
import contextlib
import difflib
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np

from awt.artifacts import Arrays, decode_json, encode_json, read_json
from awt.attacks.ball import Threat
from awt.attacks.outcome import NATURAL
from awt.attacks.registry import ATTACKS, SUITES
from awt.attacks.registry import suite as attacks_of
from awt.commands import trained
from awt.commands.table import table
from awt.commands.tickets import tickets_experiment
from awt.errors import InputError
from awt.evaluation.scores import flags, points_of, score
from awt.loading import is_reference
from awt.options import as_json
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry
from awt.services.evaluation import Judged, Run, chunks, outcome_of, run_suite, sanity_cell
from awt.workflows.running import Session
from awt.workflows.tickets.grid import DATASET, DESCRIBED
from awt.workflows.tickets.params import Params


def add_arguments(parser: argparse.ArgumentParser) -> None:
    trained.add_arguments(parser)
    parser.add_argument(
        "--suite",
        metavar="NAME",
        help="of attacks, or one attack, or module:name of your own (default: the experiment's first)",
    )
    parser.add_argument("--eps", type=float, help="size of the perturbation (default: the experiment's)")
    for option, text in (("norm", "of the perturbation"), ("eps_unit", "of eps")):
        choices = get_args(get_type_hints(Threat)[option])
        parser.add_argument(
            f"--{option.replace('_', '-')}", choices=choices, help=f"{text} (default: the experiment's)"
        )
    parser.add_argument("--points", type=int, metavar="N", help="the first N test points (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def attack(arguments: argparse.Namespace) -> None:
    """Runs the cells of the evaluate stage, or finds them in the store, and says what came out."""
    with contextlib.redirect_stdout(sys.stderr):  # progress: only the answer goes to stdout
        answer = _attacked(arguments)
    print(encode_json(answer).decode() if arguments.json else _text(answer) + "\n", end="")


def _attacked(arguments: argparse.Namespace) -> dict[str, Any]:
    asked, params = tickets_experiment("attack")
    points = _points(arguments, read_json(Path(DESCRIBED))["counts"]["test"])
    suite, threat = _suite(arguments, params), _threat(arguments, params.threat)
    network = trained.find(arguments, asked, params)
    attacks, computed = attacks_of(suite), set[str]()
    with Session(asked, "attack") as session:

        def run(cells: Sequence[Cell]) -> list[Entry]:
            entries = session.run(cells)
            computed.update(entry.key for entry in entries)
            return entries

        files = {"dataset": Source.of(Path(DATASET)), "model": network.source}
        judged = Judged(network.name, params.model, threat, files)
        evaluate = params.evaluate  # so that the cells are those of the evaluate stage
        pieces = chunks(points, evaluate.chunk_points)
        *_, [last] = run_suite(run, attacks, evaluate.attacks, [judged], pieces, evaluate.keep_examples)
        outcome, signs = outcome_of(last), _signs(run, judged, min(evaluate.sanity_points, points))
        reused = len(session.reused() & computed)
    by_point = points_of({suite: outcome})
    shares = score(by_point, [suite])
    return {
        "network": network.name.tags | {"title": network.title, "sha256": network.source.sha256},
        "threat": as_json(threat),
        "suite": suite,
        "points": points,
        "natural": shares["natural"],
        "attacks": _by_attack(outcome, attacks),
        "robust": {
            name: shares[f"adversarial{end}"] for name, end in (("share", ""), ("low", "_low"), ("high", "_high"))
        },
        "flags": [*signs, *flags(by_point, suite, attacks)],
        "cells": {"computed": len(computed) - reused, "reused": reused},
    }


def _signs(run: Run, judged: Judged, points: int) -> list[str]:
    """What says that the network only seems robust; nothing, where the experiment does not ask."""
    if not points:
        return []
    [entry] = run([sanity_cell(judged, points)])
    signs: list[str] = decode_json(entry.read("sanity.json"), "sanity.json")["flags"]
    return signs


def _suite(arguments: argparse.Namespace, params: Params) -> str:
    suite, known = str(arguments.suite or params.evaluate.suites[0]), (*SUITES, *ATTACKS)
    if suite not in known and not is_reference(suite):
        close = difflib.get_close_matches(suite, known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(dict.fromkeys(known))}"
        raise InputError(f"--suite: {suite!r} is neither a suite nor an attack; {hint}")
    return suite


def _threat(arguments: argparse.Namespace, threat: Threat) -> Threat:
    """The experiment's threat with what was asked for."""
    if arguments.eps is not None and not 0 < arguments.eps < math.inf:
        raise InputError(f"--eps: {arguments.eps:g} is no size of a perturbation; it must be above 0")
    given = {name: getattr(arguments, name) for name in ("norm", "eps", "eps_unit")}
    return replace(threat, **{name: value for name, value in given.items() if value is not None})


def _points(arguments: argparse.Namespace, there: int) -> int:
    points = there if arguments.points is None else arguments.points
    if not 1 <= points <= there:
        raise InputError(f"--points: {points} of the {there} test points; ask for 1 to {there}")
    return int(points)


def _by_attack(outcome: Arrays, attacks: tuple[str, ...]) -> list[dict[str, Any]]:
    """By attack of the suite: the points that it broke, the accuracy left after it, the perturbations' sizes."""
    rows = []
    left = int(np.count_nonzero(outcome["by"] != NATURAL))
    for number, name in enumerate(attacks):
        sizes = outcome["size"][outcome["by"] == number]
        left -= len(sizes)
        rows.append(
            {
                "name": name,
                "broken": len(sizes),
                "left": left / len(outcome["by"]),
                "largest": float(sizes.max()) if len(sizes) else None,
                "median": float(np.median(sizes)) if len(sizes) else None,
            }
        )
    return rows


def _text(answer: dict[str, Any]) -> str:
    threat, robust, cells = answer["threat"], answer["robust"], answer["cells"]
    unit = "of pixels in [0, 1]" if threat["eps_unit"] == "pixel" else "in standard deviations"
    within = ", images stay in [0, 1]" if threat["clip"] else ""
    rows = [
        [row["name"], str(row["broken"]), f"{row['left']:.2%}", *(_size(row[name]) for name in ("largest", "median"))]
        for row in answer["attacks"]
    ]
    lines = [
        answer["network"]["title"],
        f"{answer['suite']} on {answer['points']} test points, {threat['norm']}, eps {threat['eps']:g} {unit}{within}",
        f"natural accuracy {answer['natural']:.2%}",
        *table(["attack", "broken", "left", "largest", "median"], rows),
        f"robust accuracy {robust['share']:.2%} (95 % interval {robust['low']:.2%} to {robust['high']:.2%})",
    ]
    if answer["flags"]:
        lines.append(f"not to be believed: {'; '.join(answer['flags'])}")
    return "\n".join([*lines, f"{cells['computed']} cells computed, {cells['reused']} reused"])


def _size(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
