"""Digests of checkpoints, beside their folder: orbax sees to it that one is whole, this that it is as written."""

import json
from pathlib import Path

from awt.artifacts import encode_json, sha256, sha256_file, write


def digest(folder: Path) -> str:
    """Of the names and contents of all files in a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return sha256("\n".join(f"{path.relative_to(folder).as_posix()} {sha256_file(path)}" for path in files).encode())


def seal(checkpoints: Path, step: int) -> None:
    """Notes the digest of a finished checkpoint, and forgets those of checkpoints that are gone."""
    kept = {name: known for name, known in seals(checkpoints).items() if (checkpoints / name).exists()}
    write(_path(checkpoints), encode_json(kept | {str(step): digest(checkpoints / str(step))}))


def seals(checkpoints: Path) -> dict[str, str]:
    """By step."""
    try:
        found = json.loads(_path(checkpoints).read_bytes())
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def is_broken(checkpoints: Path, step: int) -> bool:
    """Whether a checkpoint is no longer what was written; one that was killed before its digest came passes."""
    known = seals(checkpoints).get(str(step))
    return known is not None and known != digest(checkpoints / str(step))


def _path(checkpoints: Path) -> Path:
    return checkpoints.with_name(f"{checkpoints.name}.json")
