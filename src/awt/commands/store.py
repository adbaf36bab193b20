"""`awt store`: looks after the store of finished cells."""

import argparse

from awt.lineage.records import cells_of_records
from awt.workflows.experiment import experiment


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    collect = actions.add_parser("gc", help="drop old cells that no experiment's run records name")
    collect.add_argument("--days", type=float, default=7, help="only those untouched for so many days (default: 7)")
    collect.add_argument("--dry-run", action="store_true", help="only count them")


def store(arguments: argparse.Namespace) -> None:
    """Drops old cells that no experiment's run records name; young ones may belong to a run that has no record yet."""
    asked = experiment()
    kept, needed = asked.store(), cells_of_records(asked.repository)
    unneeded = [key for key in kept.every_key() if key not in needed and kept.age(key) >= arguments.days * 86400]
    if arguments.dry_run:
        print(f"{len(unneeded)} cells could be dropped, {len(needed)} are needed by run records")
        return
    freed = sum(kept.drop(key) for key in unneeded)
    print(f"dropped {len(unneeded)} cells, {freed / 1e6:.1f} MB; kept {len(needed)}")
