"""`awt cells`: lists the cells in the store."""

import argparse

from awt.runtime.known import known
from awt.workflows.experiment import experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """It has none."""


def cells(arguments: argparse.Namespace) -> None:
    """Prints a line a cell: its key, its stage, how far it is, what it is called."""
    for one in known(experiment().store()):
        print(f"{one.key[:12]}  {one.stage:9}{one.state:13}{one.cell.label}")
