"""`awt doctor`: what will not work, before work starts."""

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path

from awt.artifacts import encode_json
from awt.doctor.examine import examine
from awt.doctor.finding import Finding
from awt.errors import InputError

NODE_SECONDS = 30.0
SHOWN = 3  # nodes of which the same is said


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment", nargs="?", type=Path, default=Path(), metavar="EXPERIMENT", help="its folder (default: this one)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--seconds",
        type=float,
        default=NODE_SECONDS,
        help=f"that a node of the cluster has to answer (default: {NODE_SECONDS:g})",
    )


def doctor(arguments: argparse.Namespace) -> None:
    """Prints every finding as it comes, and ends with an error when one of them would stop the work."""
    if not arguments.experiment.is_dir():
        raise InputError(f"EXPERIMENT: {arguments.experiment} is no folder: name that of an experiment")
    with contextlib.chdir(arguments.experiment), contextlib.redirect_stdout(sys.stderr):
        findings = list(examine(arguments.seconds))
    print(encode_json(_as_json(findings)).decode() if arguments.json else "\n".join(_lines(findings)) + "\n", end="")
    failed = sorted({finding.check for finding in findings if finding.state == "FAIL"})
    if failed:
        raise InputError(f"this would not work: {', '.join(failed)}")


def _as_json(findings: Sequence[Finding]) -> dict[str, object]:
    return {
        "ok": all(finding.state != "FAIL" for finding in findings),
        "findings": [finding._asdict() for finding in findings],
    }


def _lines(findings: Sequence[Finding]) -> list[str]:
    """One line of each finding; nodes of which the same is said share one."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for finding in findings:
        places.setdefault((finding.state, finding.check, finding.text), []).append(finding.where)
    return [f"{state:8} {check:10} {_at(where)}{text}" for (state, check, text), where in places.items()]


def _at(where: Sequence[str]) -> str:
    named = [place for place in where if place]
    if not named:
        return ""
    here = "here, " if "" in where else ""
    more = f" and {len(named) - SHOWN} more" if len(named) > SHOWN else ""
    return f"{here}{'node' if len(named) == 1 else 'nodes'} {', '.join(named[:SHOWN])}{more}: "
