"""The `awt` command: what a user asks of cells and of the store beside `dvc repro`."""

import argparse
import sys
from pathlib import Path
from typing import Any

from awt import (
    __version__,
    attack_command,
    data_command,
    doctor_command,
    export_command,
    gram_command,
    lineage_command,
    mask_command,
    new_command,
    params,
    plan_command,
    site_command,
)
from awt.artifacts import read_json
from awt.commands.recompute import recompute
from awt.errors import WorkError, run
from awt.lineage.records import cells_of_records
from awt.runtime.known import find, known
from awt.workflows.running import ARTIFACTS, runtime_of, store_of


def check(arguments: argparse.Namespace) -> None:
    """Finds what a stage would refuse; `dvc repro` removes a stage's outs before its command can."""
    parameters = params.load()
    runtime_of(parameters)
    store_of(parameters)
    described = ARTIFACTS / "data" / "dataset.json"
    if described.exists():
        params.check_data(parameters, read_json(described))
    print("params.yaml is valid")


def cells(arguments: argparse.Namespace) -> None:
    for one in known(store_of(params.load())):
        print(f"{one.key[:12]}  {one.stage:9}{one.state:13}{one.cell.label}")


def logs(arguments: argparse.Namespace) -> None:
    store = store_of(params.load())
    one = find(store, arguments.cell)
    print(f"{one.key}\n{one.stage}: {one.cell.label} ({one.state})")
    print(store.read_log(one.key) or "(no log: the cell has not started)", end="")


def rerun(arguments: argparse.Namespace) -> None:
    """Computes one cell again, beside the store, and says whether the bytes are the same."""
    parameters = params.load()
    store = store_of(parameters)
    again = recompute(parameters, store, find(store, arguments.cell), arguments.serial)
    print(f"files: {again.folder}")
    if again.differing is None:
        print("the store has no finished result of this cell to compare with")
        return
    if again.differing:
        raise WorkError(f"differs from the store's result in {', '.join(again.differing)} (code, devices or a fault)")
    print("same bytes as the store's result")


def gc(arguments: argparse.Namespace) -> None:
    """Drops old cells that no experiment's run records name; young ones may belong to a run that has no record yet."""
    parameters = params.load()
    store = store_of(parameters)
    needed = cells_of_records(Path(parameters.root))
    unneeded = [key for key in store.every_key() if key not in needed and store.age(key) >= arguments.days * 86400]
    if arguments.dry_run:
        print(f"{len(unneeded)} cells could be dropped, {len(needed)} are needed by run records")
        return
    freed = sum(store.drop(key) for key in unneeded)
    print(f"dropped {len(unneeded)} cells, {freed / 1e6:.1f} MB; kept {len(needed)}")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="awt", description="Run in the folder of an experiment (it has a params.yaml).")
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, function: Any, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.set_defaults(function=function)
        return made

    command("check", check, "validate params.yaml")
    new_command.add_arguments(command("new", new_command.new, "make a new experiment in pipelines/, from another"))
    plan_command.add_arguments(command("plan", plan_command.plan, "say what an experiment will take before it runs"))
    text = "say what will not work, here and on the nodes of a cluster, before work starts"
    doctor_command.add_arguments(command("doctor", doctor_command.doctor, text))
    command("cells", cells, "list the cells in the store")
    command("logs", logs, "show a cell's log").add_argument("cell", help="a key, its beginning, or a label")
    again = command("rerun", rerun, "compute one cell again and compare its bytes with the store's")
    again.add_argument("cell", help="a key, its beginning, or a label")
    again.add_argument("--serial", action="store_true", help="in this process, where a debugger works")
    data_command.add_arguments(command("data", data_command.data, "list the data sets, fetch or verify one"))
    gram_command.add_arguments(command("gram", gram_command.gram, "compute a tangent kernel's Gram matrix, in tiles"))
    mask_command.add_arguments(command("mask", mask_command.mask, "show a mask, or compare two"))
    text = "attack a trained network and show what is left of its accuracy"
    attack_command.add_arguments(command("attack", attack_command.attack, text))
    export_command.add_arguments(
        command("export", export_command.export, "write a trained network for use without awt")
    )
    text = "ask where a number, a file or a cell came from, and check it"
    lineage_command.add_arguments(command("lineage", lineage_command.lineage, text))
    site_command.add_arguments(command("site", site_command.site, "make an index page over all experiments"))
    store = command("store", None, "look after the store").add_subparsers(required=True, metavar="ACTION")
    collect = store.add_parser("gc", help="drop old cells that no experiment's run records name")
    collect.add_argument("--days", type=float, default=7, help="only those untouched for so many days (default: 7)")
    collect.add_argument("--dry-run", action="store_true", help="only count them")
    collect.set_defaults(function=gc)
    return top


def main() -> None:
    arguments = parser().parse_args()
    sys.exit(run(lambda: arguments.function(arguments)))
