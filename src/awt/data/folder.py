"""The user's own images, in folders by class: a directory, or a tar of one.

train/<class>/<image> and test/<class>/<image>, or only <class>/<image>. Hidden files are passed over, and so are files
beside the folders.
"""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from awt.artifacts import sha256, sha256_file
from awt.data.checks import check_digest, labels
from awt.data.dataset import Raw
from awt.data.options import Data
from awt.data.tar import Member, members
from awt.errors import InputError

LAYOUT = "images are train/<class>/<image> and test/<class>/<image>, or all of them <class>/<image>"
PARTS = ("train", "test")


class Place(NamedTuple):
    """Where an image stands; points are sorted by it."""

    part: str  # empty where there are no parts
    label: str
    name: str

    def __str__(self) -> str:
        return "/".join(filter(None, self))


Images = dict[Place, np.ndarray]


def read(data: Data, root: Path) -> Raw:
    if data.path is None:
        raise InputError("data.path is null; with data.name folder it names the directory or tar to read")
    path = next((path for path in (Path(data.path), root / data.path) if path.exists()), Path(data.path))
    if path.is_dir():
        hashing = hashlib.sha256()
        images = _images(_hashed(_files(path, PurePosixPath()), hashing), path, data.size)
        digest = hashing.hexdigest()
        check_digest(digest, path, data.sha256)
    elif path.exists():
        digest = sha256_file(path)
        check_digest(digest, path, data.sha256)
        images = _images((file for file in members(path) if _counts(file.path, file.content is None)), path, data.size)
    else:
        raise InputError(
            f"{path} not found in {Path.cwd()} nor in {root}: data.path names a directory or tar, relative to the "
            "current folder or to that of downloaded files (data.root, else $AWT_DATA_DIR)"
        )
    return _raw(images, path, digest)


def _files(folder: Path, inside: PurePosixPath) -> Iterator[Member]:
    """What a tar of the directory would have, in order of names."""
    try:
        for path in sorted(folder.iterdir()):
            here, is_folder = inside / path.name, path.is_dir()
            if not _counts(here, is_folder):
                continue
            yield Member(here, None if is_folder else path.read_bytes())
            if is_folder:
                yield from _files(path, here)
    except OSError as error:
        raise InputError(f"{folder}: not readable ({error})") from None


def _counts(path: PurePosixPath, is_folder: bool) -> bool:
    """Whether a file or folder is one of the data set."""
    hidden = any(name.startswith(".") for name in path.parts)
    return not hidden and (is_folder or len(path.parts) > 1)


def _hashed(files: Iterator[Member], hashing: "hashlib._Hash") -> Iterator[Member]:
    """The same files; the digest of their names and contents is ready when they are through."""
    for file in files:
        if file.content is not None:
            hashing.update(os.fsencode(f"{sha256(file.content)} {file.path}\n"))
        yield file


def _images(files: Iterator[Member], path: Path, size: tuple[int, int] | None) -> Images:
    """Every image decoded as it comes, so that only pixels are kept."""
    from awt.data.images import decode  # here, since only this data set waits for Pillow

    images: Images = {}
    folders = set()
    for file in files:
        if file.content is None:
            folders.add(_folder(file.path, path))
            continue
        place = _place(file.path, path)
        if place in images:
            raise InputError(f"{path}: {place} is there twice; pack it anew, with each image once")
        try:
            images[place] = decode(file.content, size)
        except ValueError as error:
            raise InputError(f"{path}: {place}: not a readable image ({error}); replace or remove it") from None
    _check_layout(images, folders, path)
    _check_sizes(images, path)
    return images


def _place(file: PurePosixPath, path: Path) -> Place:
    match file.parts:
        case (label, name):
            return Place("", label, name)
        case (part, label, name) if part in PARTS:
            return Place(part, label, name)
    raise InputError(f"{path}: {file} is out of place; {LAYOUT}")


def _folder(folder: PurePosixPath, path: Path) -> tuple[str, ...]:
    if len(folder.parts) > len(PARTS):
        raise InputError(f"{path}: {folder}/ is out of place; {LAYOUT}")
    return folder.parts


def _check_layout(images: Images, folders: set[tuple[str, ...]], path: Path) -> None:
    if not images:
        raise InputError(f"{path}: no images in it; {LAYOUT}")
    found = {place.part: place for place in images}
    if "" in found and len(found) > 1:
        one, other = (found[part] for part in sorted(found)[:2])
        raise InputError(f"{path}: both {one} and {other}; {LAYOUT}")
    if "" not in found and len(found) < len(PARTS):
        [missing] = set(PARTS) - set(found)
        raise InputError(f"{path}: no images in {missing}/; {LAYOUT}")
    filled = {tuple(filter(None, place[:2])) for place in images}
    depth = len(next(iter(filled)))
    empty = sorted(folder for folder in folders if len(folder) == depth and folder not in filled)
    if empty:
        raise InputError(f"{path}: no images in {'/'.join(empty[0])}/; every class must have some: remove the folder")
    classes = {place.label for place in images if place.part != "test"}
    for place in sorted(images):
        if place.label not in classes:
            raise InputError(f"{path}: {place}: no class of that name in train/; classes are the folders there")


def _check_sizes(images: Images, path: Path) -> None:
    first = min(images)
    for place in sorted(images):
        if images[place].shape[:2] != images[first].shape[:2]:
            raise InputError(
                f"{path}: {place} has {_size(images[place])} pixels (height x width), {first} {_size(images[first])}; "
                f"set data.size to have all images resized"
            )


def _size(pixels: np.ndarray) -> str:
    return " x ".join(map(str, pixels.shape[:2]))


def _raw(images: Images, path: Path, digest: str) -> Raw:
    places = sorted(images)
    test = [place for place in places if place.part == "test"]
    train = [place for place in places if place.part != "test"]
    classes = sorted({place.label for place in train})
    number = {label: index for index, label in enumerate(classes)}

    def targets(chosen: list[Place]) -> np.ndarray:
        return np.array([number[place.label] for place in chosen], np.int32)

    train_y = labels(targets(train), len(train), None, str(path))
    channels = 3 if any(pixels.ndim == 3 for pixels in images.values()) else 1
    return Raw(
        _stacked(images, train, channels),
        train_y,
        _stacked(images, test, channels) if test else None,
        targets(test) if test else None,
        scale=255.0,
        classes=len(classes),
        sources={path.name: digest},
    )


def _stacked(images: Images, places: list[Place], channels: int) -> np.ndarray:
    """Images as one array, out of the dictionary, so that they are not in memory twice; grey becomes colour."""
    height, width = images[places[0]].shape[:2]
    stacked = np.empty((len(places), height, width, channels), np.uint8)
    for index, place in enumerate(places):
        pixels = images.pop(place)
        stacked[index] = pixels if pixels.ndim == 3 else pixels[..., np.newaxis]
    return stacked
