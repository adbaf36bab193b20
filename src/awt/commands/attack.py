"""`awt attack`: what is left of a trained network's accuracy under any suite of attacks and any threat."""

import argparse
import contextlib
import difflib
import math
import sys
from typing import Any, get_args

import numpy as np

from awt.artifacts import Arrays, encode_json, read_json
from awt.attacks.outcome import NATURAL
from awt.commands import trained
from awt.commands.table import table
from awt.errors import InputError
from awt.evaluation.cells import chunks
from awt.evaluation.scores import flags, points_of, score
from awt.evaluation.service import check, under
from awt.params import ATTACKS, SUITES, Params, Threat, load
from awt.runtime.cell import Cell, Source
from awt.runtime.store import Entry
from awt.workflows.running import ARTIFACTS, Stage

DATA = ARTIFACTS / "data"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    trained.add_arguments(parser)
    parser.add_argument("--suite", metavar="NAME", help="of attacks, or one attack (default: the experiment's first)")
    parser.add_argument("--eps", type=float, help="size of the perturbation (default: the experiment's)")
    for option, text in (("norm", "of the perturbation"), ("eps_unit", "of eps")):
        choices = get_args(Threat.model_fields[option].annotation)
        parser.add_argument(
            f"--{option.replace('_', '-')}", choices=choices, help=f"{text} (default: the experiment's)"
        )
    parser.add_argument("--points", type=int, metavar="N", help="the first N test points (default: all)")
    parser.add_argument("--json", action="store_true", help="print JSON")


def attack(arguments: argparse.Namespace) -> None:
    """Runs the cells of the evaluate stage, or finds them in the store, and says what they found."""
    with contextlib.redirect_stdout(sys.stderr):  # progress: only what was found goes to stdout
        found = _attacked(arguments)
    print(encode_json(found).decode() if arguments.json else _text(found) + "\n", end="")


def _attacked(arguments: argparse.Namespace) -> dict[str, Any]:
    given = load()
    points = _points(arguments, read_json(DATA / "dataset.json")["counts"]["test"])
    params = _changed(arguments, given, points)
    model = trained.find(arguments, given)
    work = Stage("evaluate")  # so that its cells are those of the evaluate stage
    try:
        done: set[str] = set()

        def run(cells: list[Cell]) -> list[Entry]:
            entries = work.run(cells)
            done.update(entry.key for entry in entries)
            return entries

        [suite] = params.evaluate.suites
        inputs = {"dataset": Source.of(DATA / "dataset.npz"), "model": model.source}
        [outcome] = under(run, params, suite, [model.about], [inputs], chunks(points, params.evaluate.chunk))
        [signs], _ = check(run, params, [model.about], [inputs])
        reused = len(work.reused() & done)
    finally:
        work.close()
    attacks, named = params.evaluate.suite(suite), points_of({suite: outcome})
    shares = score(named, [suite])
    return {
        "network": model.about | {"title": model.title, "sha256": model.source.sha256},
        "threat": params.threat.as_json(),
        "suite": suite,
        "points": points,
        "natural": shares["natural"],
        "attacks": _by_attack(outcome, attacks),
        "robust": {
            name: shares[f"adversarial{end}"] for name, end in (("share", ""), ("low", "_low"), ("high", "_high"))
        },
        "flags": [*signs, *flags(named, suite, attacks)],
        "cells": {"computed": len(done) - reused, "reused": reused},
    }


def _changed(arguments: argparse.Namespace, params: Params, points: int) -> Params:
    """The experiment's parameters with the suite, threat and points that were asked for."""
    suite, known = arguments.suite or params.evaluate.suites[0], (*SUITES, *ATTACKS)
    if suite not in known:
        close = difflib.get_close_matches(suite, known, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(dict.fromkeys(known))}"
        raise InputError(f"--suite: {suite!r} is neither a suite nor an attack; {hint}")
    if arguments.eps is not None and not 0 < arguments.eps < math.inf:
        raise InputError(f"--eps: {arguments.eps:g} is no size of a perturbation; it must be above 0")
    given = {name: getattr(arguments, name) for name in ("norm", "eps", "eps_unit")}
    threat = params.threat.model_copy(update={name: value for name, value in given.items() if value is not None})
    changes = {"suites": (suite,), "sanity": min(params.evaluate.sanity, points)}
    return params.model_copy(update={"threat": threat, "evaluate": params.evaluate.model_copy(update=changes)})


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


def _text(found: dict[str, Any]) -> str:
    threat, robust, cells = found["threat"], found["robust"], found["cells"]
    unit = "of pixels in [0, 1]" if threat["eps_unit"] == "pixel" else "in standard deviations"
    within = ", images stay in [0, 1]" if threat["clip"] else ""
    rows = [
        [row["name"], str(row["broken"]), f"{row['left']:.2%}", *(_size(row[name]) for name in ("largest", "median"))]
        for row in found["attacks"]
    ]
    lines = [
        found["network"]["title"],
        f"{found['suite']} on {found['points']} test points, {threat['norm']}, eps {threat['eps']:g} {unit}{within}",
        f"natural accuracy {found['natural']:.2%}",
        *table(["attack", "broken", "left", "largest", "median"], rows),
        f"robust accuracy {robust['share']:.2%} (95 % interval {robust['low']:.2%} to {robust['high']:.2%})",
    ]
    if found["flags"]:
        lines.append(f"not to be believed: {'; '.join(found['flags'])}")
    return "\n".join([*lines, f"{cells['computed']} cells computed, {cells['reused']} reused"])


def _size(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
