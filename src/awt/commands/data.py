"""`awt data`: which data sets there are and which of them are here; fetches and verifies them."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from awt.artifacts import encode_json
from awt.data.options import Data
from awt.data.prepare import PRESENT, READERS, data_root
from awt.errors import InputError
from awt.workflows.experiment import Experiment, experiment

_NOT_DOWNLOADED = {
    "digits": ("embedded", "in scikit-learn"),
    "folder": ("your own", "at data.path"),
    "gaussian": ("generated", "from data.gaussian and data.seed"),
    "npz": ("your own", "at data.path"),
}


class Listed(NamedTuple):
    """A data set, whether it is here, and where it was looked for or what is wrong."""

    name: str
    state: str
    about: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON")
    actions = parser.add_subparsers(metavar="ACTION")
    for action, function, text, names in (
        ("fetch", fetch, "download what is missing of a data set, and verify all of it", sorted(PRESENT)),
        ("verify", verify, "verify what is here of a data set, without a network", sorted(READERS)),
    ):
        made = actions.add_parser(action, help=text, description=text)
        made.add_argument("name", metavar="NAME", choices=names, help=", ".join(names))
        made.set_defaults(function=function)


def data(arguments: argparse.Namespace) -> None:
    """Lists the data sets; files that are here are verified."""
    root = _root(experiment())
    listed = [_listed(name, root) for name in sorted(READERS)]
    if arguments.json:
        print(encode_json([one._asdict() for one in listed]).decode(), end="")
        return
    for one in listed:
        print(f"{one.name:15}{one.state:12}{one.about}")


def fetch(arguments: argparse.Namespace) -> None:
    """Downloads what is missing, and reads all as the prepare stage would."""
    _read(arguments.name, experiment())


def verify(arguments: argparse.Namespace) -> None:
    """The same, once it is known that nothing is missing."""
    asked, name = experiment(), arguments.name
    root = _root(asked)
    missing = PRESENT[name](root).missing if name in PRESENT else ()
    if missing:
        raise InputError(f"{root / name}: no {', '.join(missing)}; `awt data fetch {name}` downloads what is missing")
    _read(name, asked)


def _section(asked: Experiment) -> Data:
    """What the experiment says of its data; a workflow of the user's own may have no such section."""
    section = getattr(asked.params, "data", None)
    return section if isinstance(section, Data) else Data()


def _root(asked: Experiment) -> Path:
    return data_root(_section(asked), asked.repository).resolve()


def _listed(name: str, root: Path) -> Listed:
    if name in _NOT_DOWNLOADED:
        return Listed(name, *_NOT_DOWNLOADED[name])
    try:
        files = PRESENT[name](root)
    except InputError as error:
        return Listed(name, "faulty", str(error))
    if files.missing:
        return Listed(
            name, "incomplete" if files.paths else "missing", f"no {', '.join(files.missing)} in {root / name}"
        )
    [folder, *_] = [path.parent for path in files.paths]
    return Listed(name, "verified", f"{folder} (by {files.checked_by})")


def _read(name: str, asked: Experiment) -> None:
    root = _root(asked)
    raw = READERS[name](_options(name, _section(asked)), root)
    height, width, channels = raw.train_x.shape[1:]
    test = f"{len(raw.test_y)} test points" if raw.test_y is not None else "no test points of its own"
    print(f"{name}: verified: {len(raw.train_y)} training points, {test}, {raw.classes} classes")
    print(f"points of {height} x {width} x {channels} (height, width, channels)")
    if name in PRESENT:
        for path in PRESENT[name](root).paths:
            print(path)


def _options(name: Any, section: Data) -> Data:
    """The experiment's own section, where it is of that name; of another name what is not another data set's."""
    if section.name == name:
        return section
    if name in ("npz", "folder"):
        raise InputError(
            f"data.name: {section.name}; your own data are looked for where params.yaml has `name: {name}`"
        )
    return replace(section, name=name, path=None, sha256=None, size=None)
