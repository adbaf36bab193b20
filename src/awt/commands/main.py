"""The `awt` command: what a user asks beside `dvc repro`. A subcommand is a module beside this one and a line here."""

import argparse
import importlib
import sys
from collections.abc import Sequence

from awt import __version__
from awt.errors import run

# each is the function of that name in its module, which also has its `add_arguments`
COMMANDS = {
    "check": "validate params.yaml",
    "new": "make a new experiment in pipelines/, from another",
    "plan": "say what an experiment will take before it runs",
    "doctor": "say what will not work, here and on the nodes of a cluster, before work starts",
    "cells": "list the cells in the store",
    "logs": "show a cell's log",
    "rerun": "compute one cell again and compare its bytes with the store's",
    "data": "list the data sets, fetch or verify one",
    "gram": "compute a tangent kernel's Gram matrix, in tiles",
    "mask": "show a mask, or compare two",
    "attack": "attack a trained network and show what is left of its accuracy",
    "export": "write a trained network for use without awt",
    "lineage": "ask where a number, a file or a cell came from, and check it",
    "site": "make an index page over all experiments",
    "store": "look after the store",
}


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """The parser of these words: only the module of the subcommand that they name is imported, for a quick `--help`."""
    top = argparse.ArgumentParser(prog="awt", description="Run in the folder of an experiment (it has a params.yaml).")
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    called = next((word for word in words if not word.startswith("-")), None)
    for name, about in COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about)
        if name == called:
            module = importlib.import_module(f"awt.commands.{name}")
            command.set_defaults(function=getattr(module, name))
            module.add_arguments(command)
    return top


def main() -> None:
    words = sys.argv[1:]
    arguments = parser(words).parse_args(words)
    sys.exit(run(lambda: arguments.function(arguments)))
