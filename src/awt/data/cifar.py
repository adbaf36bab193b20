"""CIFAR-10 and CIFAR-100: the authors' binary archives, read as they are, or their files unpacked.

A record is its label bytes, of which the last is the class, and 32×32 pixels, channel by channel. The archives for
Python and Matlab have the same images; the former are pickles, which may run any code, so they are never opened.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from awt.artifacts import sha256
from awt.data.checks import labels
from awt.data.dataset import Raw
from awt.data.published import Present, Source, checked, download, first_of, md5_file
from awt.data.tar import members
from awt.errors import InputError

SIDE = 32
CHANNELS = 3
PIXELS = CHANNELS * SIDE * SIDE


@dataclass(frozen=True)
class Archive:
    """One of the two archives: its name and digest, what is in it, and how many points a file has."""

    source: Source
    name: str
    md5: str
    folder: str
    train: tuple[str, ...]
    test: str
    train_points: int  # of each file
    test_points: int
    label_bytes: int
    classes: int
    pickles: tuple[str, ...]  # the archive for Python, and its folder

    @property
    def points(self) -> dict[str, int]:
        return dict.fromkeys(self.train, self.train_points) | {self.test: self.test_points}


def read(archive: Archive, root: Path) -> Raw:
    train_x, train_y = _room(archive.train_points * len(archive.train))
    test_x, test_y = _room(archive.test_points)
    sources = {}
    for name, where, content in _contents(archive, root):
        records = _records(archive, name, content, where)
        sources[name] = sha256(content)
        if name == archive.test:
            test_x[:], test_y[:] = records
        else:
            start = archive.train.index(name) * archive.train_points
            place = slice(start, start + archive.train_points)
            train_x[place], train_y[place] = records
    for part, y in (("training", train_y), ("test", test_y)):
        _check_counts(archive, part, y)
    ordered = {name: sources[name] for name in archive.points}
    return Raw(train_x, train_y, test_x, test_y, scale=255.0, classes=archive.classes, sources=ordered)


def present(archive: Archive, root: Path) -> Present:
    path = _archive(archive, root)
    if path is not None:
        checked(path, archive.name, _verified(archive))
        return Present((path,), ())
    paths = _unpacked(archive, root)
    if not paths:
        return Present((), (archive.name,))
    read(archive, root)
    return Present(tuple(paths.values()), (), "size and labels")


def _room(points: int) -> tuple[np.ndarray, np.ndarray]:
    return np.empty((points, SIDE, SIDE, CHANNELS), np.uint8), np.empty(points, np.int32)


def _archive(archive: Archive, root: Path) -> Path | None:
    return first_of([root / archive.source.folder / archive.name])


def _contents(archive: Archive, root: Path) -> Iterator[tuple[str, str, bytes]]:
    """Name, whereabouts and content of each file, one after the other: from the archive, unpacked, or downloaded."""
    path = _archive(archive, root)
    unpacked = {} if path is not None else _unpacked(archive, root)
    if unpacked:
        for name, file in unpacked.items():
            yield name, str(file), _read(file)
        return
    if path is None:
        download(archive.source, archive.name, root, _verified(archive), _remark(archive, root))
        path = root / archive.source.folder / archive.name
    else:
        checked(path, archive.name, _verified(archive))
    yield from _from_archive(archive, path)


def _verified(archive: Archive) -> Callable[[Path], None]:
    def verified(path: Path) -> None:
        digest = md5_file(path)
        if digest != archive.md5:
            raise ValueError(f"its md5 is {digest}, should be {archive.md5}")

    return verified


def _from_archive(archive: Archive, path: Path) -> Iterator[tuple[str, str, bytes]]:
    wanted = {f"{archive.folder}/{name}": name for name in archive.points}
    for member in members(path):
        name = wanted.pop(str(member.path), None)
        if name is not None and member.content is not None:
            yield name, f"{path}: {member.path}", member.content
    if wanted:
        raise InputError(f"{path}: no {', '.join(wanted)} in it; {archive.name} of the authors has them")


def _unpacked(archive: Archive, root: Path) -> dict[str, Path]:
    """The archive's files where they were unpacked; all of them or none."""
    folder = root / archive.source.folder
    for place in (folder / archive.folder, folder):
        found = {name: place / name for name in archive.points if first_of([place / name])}
        missing = [name for name in archive.points if name not in found]
        if found and missing:
            raise InputError(
                f"{place}: {', '.join(found)} without {', '.join(missing)}; "
                f"put the missing there, or {archive.name} in {folder}"
            )
        if found:
            return found
    return {}


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: not readable ({error})") from None


def _remark(archive: Archive, root: Path) -> str:
    pickles = first_of(root / archive.source.folder / name for name in archive.pickles)
    return "" if pickles is None else f". ({pickles} is left closed: it has pickles, which may run any code)"


def _records(archive: Archive, name: str, content: bytes, where: str) -> tuple[np.ndarray, np.ndarray]:
    length, points = archive.label_bytes + PIXELS, archive.points[name]
    if len(content) != points * length:
        raise InputError(f"{where}: {len(content)} bytes; {points} records of {length} bytes are {points * length}")
    records = np.frombuffer(content, np.uint8).reshape(points, length)
    y = labels(records[:, archive.label_bytes - 1], points, archive.classes, where)
    x = records[:, archive.label_bytes :].reshape(points, CHANNELS, SIDE, SIDE).transpose(0, 2, 3, 1)
    return x, y


def _check_counts(archive: Archive, part: str, y: np.ndarray) -> None:
    """Every class has as many points: unpacked files have no digest that would tell a wrong label."""
    counts = np.bincount(y, minlength=archive.classes)
    each = len(y) // archive.classes
    wrong = np.flatnonzero(counts != each)
    if len(wrong):
        raise InputError(
            f"{archive.source.title}: {counts[wrong[0]]} {part} points of class {wrong[0]}; there must be {each}: "
            f"its files are mislabelled; get {archive.name} again"
        )
