"""`awt logs`: shows a cell's log."""

import argparse

from awt.runtime.known import find
from awt.workflows.experiment import experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", help="a key, its beginning, or a label")


def logs(arguments: argparse.Namespace) -> None:
    """Prints what the cell is, and its log."""
    store = experiment().store()
    one = find(store, arguments.cell)
    print(f"{one.key}\n{one.stage}: {one.cell.label} ({one.state})")
    print(store.read_log(one.key) or "(no log: the cell has not started)", end="")
