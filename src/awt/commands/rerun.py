"""`awt rerun`: computes one cell again, beside the store, and says whether the bytes are the same."""

import argparse

from awt.commands.recompute import recompute
from awt.errors import WorkError
from awt.runtime.known import find
from awt.workflows.experiment import experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("cell", help="a key, its beginning, or a label")
    parser.add_argument("--serial", action="store_true", help="in this process, where a debugger works")


def rerun(arguments: argparse.Namespace) -> None:
    """Computes the cell with the code that is here."""
    asked = experiment()
    store = asked.store()
    again = recompute(asked, store, find(store, arguments.cell), arguments.serial)
    print(f"files: {again.folder}")
    if again.differing is None:
        print("the store has no finished result of this cell to compare with")
        return
    if again.differing:
        raise WorkError(f"differs from the store's result in {', '.join(again.differing)} (code, devices or a fault)")
    print("same bytes as the store's result")
