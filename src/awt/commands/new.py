"""`awt new`: a new experiment in pipelines/, which says what differs from another."""

import argparse
import os
import re
import shlex
from pathlib import Path

from awt.artifacts import write
from awt.errors import InputError
from awt.lineage.repository import find_repository
from awt.params.reading import PARAMS
from awt.workflows.experiment import experiment

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")

README = """# {name}

What this experiment asks, what it changes against {source}, and what came out of it.

    cd pipelines/{name} && dvc repro dvc.yaml
"""

TEXT = """\
# What differs from the base; all else is as there. `awt check --show` prints the whole, {every} says what there is.

root: {root}  # the way from this file's folder to the repository's
base: {base}  # the experiment that this one differs from

# Change what you ask about, for example:
#
# seeds: [0, 1, 2]
# tickets:
#   densities: [0.05]
#   recipes:
#     awt: {{gamma: 1.0e-3}}
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="of its folder in pipelines/; may have folders of its own, a/b")
    parser.add_argument(
        "--from", dest="source", metavar="EXPERIMENT", help="a folder with a params.yaml (default: the repository's)"
    )


def new(arguments: argparse.Namespace) -> None:
    """Makes the folder, and says how to go on."""
    repository = find_repository(Path.cwd())
    folder = _folder(repository, arguments.name)
    source = repository if arguments.source is None else _experiment(repository, arguments.source)
    experiment(source)  # one that is not valid is no base
    origin = os.path.relpath(source, repository)
    described = "the default experiment" if origin == "." else f"`{origin}`"
    write(folder / "README.md", README.format(name=arguments.name, source=described).encode())
    (folder / "dvc.yaml").symlink_to(os.path.relpath(_pipeline(repository, source), folder.resolve()))
    root, base = (os.path.relpath(place, folder) for place in (repository, source))
    write(folder / PARAMS, TEXT.format(root=root, base=base, every=Path(root, PARAMS)).encode())

    print(folder)
    way = shlex.quote(os.path.relpath(folder))
    print(f"change its params.yaml, then: cd {way} && awt plan && dvc repro dvc.yaml")


def _pipeline(repository: Path, source: Path) -> Path:
    """The dvc.yaml of the source's workflow."""
    own = source / "dvc.yaml"
    return (own if own.exists() else repository / "dvc.yaml").resolve()


def _folder(repository: Path, name: str) -> Path:
    """Where the experiment will be, once that is known to be a place of its own."""
    for part in name.split("/"):
        if not _PART.fullmatch(part):
            raise InputError(
                f"NAME: {name!r} is not a folder of pipelines/: use letters, digits, '_', '-' and '.', none first "
                "but letters, digits and '_'; folders within are a/b"
            )
    pipelines = repository / "pipelines"
    folder = pipelines / name
    if folder.exists() or folder.is_symlink():
        raise InputError(f"NAME: {folder} exists already: choose another name, or remove it first")
    for parent in folder.parents:
        if parent == pipelines:
            break
        if (parent.exists() and not parent.is_dir()) or (parent / PARAMS).exists():
            raise InputError(f"NAME: {parent} is an experiment or a file: choose a name that does not lie in it")
    if not pipelines.resolve().is_relative_to(repository.resolve()):
        raise InputError(f"{pipelines} leads out of the repository: make it a folder")
    return folder


def _experiment(repository: Path, given: str) -> Path:
    """The folder that the user means, from here or from the repository."""
    for folder in (Path(given), repository / given):
        if (folder / PARAMS).is_file():
            return folder.resolve()
    raise InputError(f"--from: {given} has no params.yaml: name the folder of an experiment, e.g. `.`")
