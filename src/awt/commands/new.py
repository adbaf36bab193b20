"""`awt new`: a new experiment in pipelines/, from the parameters of another."""

import argparse
import os
import re
import shlex
from pathlib import Path

from awt import params
from awt.artifacts import write
from awt.errors import InputError
from awt.lineage.repository import find_repository

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
_ROOT = re.compile(r"^root:[ \t]*(?:\"[^\"]*\"|'[^']*'|[^\s#]+)(?P<gap>[ \t]+(?=#))?", re.MULTILINE)

README = """# {name}

What this experiment asks, what it changes against {source}, and what came out of it.

    dvc repro pipelines/{name}/dvc.yaml
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
    given = params.load(source / "params.yaml")
    text = _with_root((source / "params.yaml").read_text(encoding="utf-8"), os.path.relpath(repository, folder))
    origin = os.path.relpath(source, repository)
    described = "the default experiment" if origin == "." else f"`{origin}`"
    write(folder / "README.md", README.format(name=arguments.name, source=described).encode())
    (folder / "dvc.yaml").symlink_to(Path(os.path.relpath(repository, folder)) / "dvc.yaml")
    write(folder / "params.yaml", text.encode())

    print(folder)
    for key, path in (
        ("data.root", given.data.root),
        ("data.path", given.data.path),
        ("runtime.store", given.runtime.store),
    ):
        if path is not None and not Path(path).is_absolute():
            print(f"note: {key}: {path} now starts from this folder, no longer from {source}")
    way = shlex.quote(os.path.relpath(folder))
    print(f"change its params.yaml, then: cd {way} && awt plan && dvc repro dvc.yaml")


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
        if (parent.exists() and not parent.is_dir()) or (parent / "params.yaml").exists():
            raise InputError(f"NAME: {parent} is an experiment or a file: choose a name that does not lie in it")
    if not pipelines.resolve().is_relative_to(repository.resolve()):
        raise InputError(f"{pipelines} leads out of the repository: make it a folder")
    return folder


def _experiment(repository: Path, given: str) -> Path:
    """The folder that the user means, from here or from the repository."""
    for folder in (Path(given), repository / given):
        if (folder / "params.yaml").is_file():
            return folder.resolve()
    raise InputError(f"--from: {given} has no params.yaml: name the folder of an experiment, e.g. `.`")


def _with_root(text: str, way: str) -> str:
    """The parameters with another way to the repository; all else stays as it is, comments in their column."""
    if len(_ROOT.findall(text)) != 1:
        raise InputError("--from: its params.yaml has no line of its own for `root: …`: give it one first")

    def changed(found: re.Match[str]) -> str:
        return f"root: {way} ".ljust(len(found[0])) if found["gap"] else f"root: {way}"

    return _ROOT.sub(changed, text)
