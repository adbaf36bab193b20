"""`awt site`: the index page over all experiments of the repository, and their pages and run records beside it."""

import argparse
from pathlib import Path

from awt.errors import InputError
from awt.lineage.repository import find_repository
from awt.workflows.running import publish

INDEX = "index.html"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--out", type=Path, default=Path("site"), metavar="FOLDER", help="to write it to (default: site)"
    )


def site(arguments: argparse.Namespace) -> None:
    """Publishes the page, and beside it what it links to."""
    # matplotlib: only where it is needed, since it is slow to import
    from awt.site.collect import experiments, not_run
    from awt.site.index import html

    repository, out = find_repository(Path.cwd()), arguments.out
    if out.exists() and not (out.is_dir() and ((out / INDEX).exists() or not any(out.iterdir()))):
        raise InputError(f"--out: {out} is there and is no site; name another folder")
    shown = experiments(repository)
    if not shown:
        raise InputError("no experiment of this repository has run to its page yet: `dvc repro` first")
    files: dict[str, bytes | Path] = {INDEX: html(shown, not_run(repository)).encode()}
    for one in shown:
        files |= {f"{one.name}/{name}": one.folder / name for name in one.files}
    publish(out, files)
    print(f"{len(shown)} experiments: {(out / INDEX).resolve()}")
