"""Files as a data set's authors published them: found on this machine or downloaded, and verified either way."""

import hashlib
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

from awt.data.download import fetched
from awt.errors import InputError, is_disk_full

Found = TypeVar("Found")


@dataclass(frozen=True)
class Source:
    """Where a data set comes from, and where it is kept."""

    title: str  # as its authors call it
    folder: str  # of the data folder
    mirrors: tuple[str, ...]


@dataclass(frozen=True)
class Present:
    """What is on this machine of a data set; what is there has passed its checks."""

    paths: tuple[Path, ...]
    missing: tuple[str, ...]
    checked_by: str = "md5"


def md5(content: bytes) -> str:
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def md5_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def first_of(candidates: Iterable[Path]) -> Path | None:
    """The first of these that is there."""
    # a dangling link counts as there: to download over it would destroy what someone set up
    return next((path for path in candidates if os.path.lexists(path)), None)


def checked(path: Path, what: str, verified: Callable[[Path], Found]) -> Found:
    """What `verified` makes of a local file; its ValueError becomes one that says what to do."""
    try:
        return verified(path)
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: not {what}: {error}. It is left as it is; "
            f"remove it to have it downloaded again, or put a good copy in its place"
        ) from None


def download(source: Source, file: str, root: Path, verified: Callable[[Path], Found], remark: str = "") -> Found:
    """What `verified` makes of the file from the first mirror that has it, kept in the data folder from then on.

    The remark is for the message that none has it.
    """
    folder = root / source.folder
    refusals = []
    for mirror in source.mirrors:
        try:
            with fetched(f"{mirror}{file}", folder) as path:
                found = verified(path)
                path.replace(folder / file)
            return found
        except (OSError, HTTPException, ValueError) as error:
            if is_disk_full(error):
                raise
            refusals.append(f"{mirror}: {error}")
    raise InputError(
        f"{source.title}'s {file} is not in {folder}, and no mirror gave it ({'; '.join(refusals)}). "
        f"Put it there (`awt data` says what else is missing), or name the folder that has {source.folder}/{file} "
        f"with AWT_DATA_DIR or data.root in params.yaml, or run again with a network{remark}"
    )
