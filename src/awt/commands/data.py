"""`awt data`: which data sets there are and which of them are here; fetches and verifies them."""

import argparse
from pathlib import Path
from typing import NamedTuple

from awt import params
from awt.artifacts import encode_json
from awt.data import PRESENT, READERS, data_root
from awt.errors import InputError

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
    root = _root(params.load())
    listed = [_listed(name, root) for name in sorted(READERS)]
    if arguments.json:
        print(encode_json([one._asdict() for one in listed]).decode(), end="")
        return
    for one in listed:
        print(f"{one.name:15}{one.state:12}{one.about}")


def fetch(arguments: argparse.Namespace) -> None:
    """Downloads what is missing, and reads all as the prepare stage would."""
    _read(arguments.name, params.load())


def verify(arguments: argparse.Namespace) -> None:
    """The same, once it is known that nothing is missing."""
    parameters = params.load()
    name, root = arguments.name, _root(parameters)
    missing = PRESENT[name](root).missing if name in PRESENT else ()
    if missing:
        raise InputError(f"{root / name}: no {', '.join(missing)}; `awt data fetch {name}` downloads what is missing")
    _read(name, parameters)


def _root(parameters: params.Params) -> Path:
    return data_root(parameters.data, Path(parameters.root)).resolve()


def _listed(name: str, root: Path) -> Listed:
    if name in _NOT_DOWNLOADED:
        return Listed(name, *_NOT_DOWNLOADED[name])
    try:
        found = PRESENT[name](root)
    except InputError as error:
        return Listed(name, "faulty", str(error))
    if found.missing:
        return Listed(
            name, "incomplete" if found.paths else "missing", f"no {', '.join(found.missing)} in {root / name}"
        )
    [folder, *_] = [path.parent for path in found.paths]
    return Listed(name, "verified", f"{folder} (by {found.checked_by})")


def _read(name: str, parameters: params.Params) -> None:
    root = _root(parameters)
    raw = READERS[name](_section(name, parameters.data), root)
    height, width, channels = raw.train_x.shape[1:]
    test = f"{len(raw.test_y)} test points" if raw.test_y is not None else "no test points of its own"
    print(f"{name}: verified: {len(raw.train_y)} training points, {test}, {raw.classes} classes")
    print(f"points of {height} x {width} x {channels} (height, width, channels)")
    if name in PRESENT:
        for path in PRESENT[name](root).paths:
            print(path)


def _section(name: str, section: params.Data) -> params.Data:
    """The experiment's own section, where it is of that name; of another name what is not another data set's."""
    if section.name == name:
        return section
    if name in ("npz", "folder"):
        raise InputError(
            f"data.name: {section.name}; your own data are looked for where params.yaml has `name: {name}`"
        )
    return section.model_copy(update={"name": name, "path": None, "sha256": None, "size": None})
