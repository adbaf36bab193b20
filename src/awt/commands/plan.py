"""`awt plan`: what an experiment will take, stage by stage, before it runs."""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

from awt.artifacts import encode_json
from awt.commands.table import table
from awt.errors import InputError
from awt.planning.forecast import Forecast, StageForecast, forecast
from awt.runtime.executor import open_executor
from awt.runtime.store import Store
from awt.workflows.experiment import experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "experiment", nargs="?", type=Path, default=Path(), metavar="EXPERIMENT", help="its folder (default: this one)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def plan(arguments: argparse.Namespace) -> None:
    """Runs the stages dry, measures for some seconds how fast the machine is, and says what will come."""
    if not (arguments.experiment / "params.yaml").is_file():
        raise InputError(f"EXPERIMENT: {arguments.experiment} has no params.yaml: name the folder of an experiment")
    with contextlib.chdir(arguments.experiment), contextlib.redirect_stdout(sys.stderr):
        found = _forecast()
    print(encode_json(found.as_json()).decode() if arguments.json else _text(found) + "\n", end="")


def _forecast() -> Forecast:
    asked = experiment()
    store = asked.store()
    with tempfile.TemporaryDirectory() as scratch:
        executor = open_executor("plan", asked.runtime, Store(Path(scratch)))
        executor.folders = asked.code_folders
        try:
            return forecast(asked, executor, store)
        finally:
            executor.close()


def _text(found: Forecast) -> str:
    rows = [_row(stage) for stage in (*found.stages, found.total)]
    head = ["stage", "cells", "stored", "FLOPs", "memory of a cell", "outs", "store", "time"]
    cpus, gpus, memory = (sum(amounts) for amounts in zip(*found.machines, strict=True))
    number = "this machine" if len(found.machines) == 1 else f"{len(found.machines)} machines"
    machines = f"{number}: {cpus:g} CPUs, {gpus:g} GPUs, {_bytes(memory)} of memory"
    rates = [
        f"{rate.threads} core{'s' if rate.threads > 1 else ''} a cell: {rate.flops / 1e9:.3g} GFLOP/s in training, "
        f"a program is compiled in {rate.compile_seconds:.2g} s"
        for rate in found.rates
    ]
    return "\n".join([*table(head, rows), machines, *rates, *found.notes])


def _row(stage: StageForecast) -> list[str]:
    known, more = stage.cells - stage.unknown, "" if stage.is_whole else "+"
    stored = "-" if not stage.cells else "unknown" if not known else str(stage.stored)
    if stage.unknown and known:
        stored += f" ({stage.unknown} unknown)"
    return [
        stage.name,
        f"{stage.cells}{more}",
        stored,
        f"{stage.flops:.2g}",
        _bytes(stage.memory_bytes) if stage.memory_bytes else "-",
        _bytes(stage.outs_bytes),
        _bytes(stage.store_bytes),
        _seconds(stage.seconds) + (" or more" if more or stage.untimed else ""),
    ]


def _bytes(number: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"


def _seconds(number: float) -> str:
    if number < 120:
        return f"{number:.0f} s"
    return f"{number / 60:.0f} min" if number < 7200 else f"{number / 3600:.1f} h"
