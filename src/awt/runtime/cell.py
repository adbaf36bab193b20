"""A cell: the unit of work, of caching and of retry, named by the hash of all that decides its result."""

import functools
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from awt.artifacts import sha256, sha256_file

STORE_FORMAT = 1
NUMERIC_PACKAGES = ("jax", "jaxlib", "numpy", "optax")


@dataclass(frozen=True)
class Source:
    """An input file and the digest of its content."""

    path: Path
    sha256: str

    @classmethod
    def of(cls, path: Path) -> "Source":
        return cls(path, sha256_file(path))


@dataclass(frozen=True)
class Cell:
    """A call of `function` ("module:name" in awt) with JSON parameters on input files.

    The function takes (params, inputs, context), inputs being the files' bytes, and returns files: name -> bytes.
    """

    kind: str
    label: str
    function: str
    params: Mapping[str, Any]
    inputs: Mapping[str, Source] = field(default_factory=dict)


def numeric_versions() -> dict[str, str]:
    return dict(_installed())


@functools.cache
def _installed() -> dict[str, str]:
    return {name: version(name) for name in NUMERIC_PACKAGES}


@dataclass(frozen=True)
class Surroundings:
    """What decides a cell's result beside the cell: the code, the numeric libraries, the kind of device."""

    code: str
    platform: str
    xla_flags: str = field(default_factory=lambda: os.environ.get("XLA_FLAGS", ""))

    def key(self, cell: Cell, threads: int = 1, versions: Mapping[str, str] | None = None) -> str:
        """The cell's name in the store. The number of CPU threads is part of it: sums over a batch are split by it
        (measured: a convolution's gradient has other last bits with two threads than with one). Versions are those of
        this process, unless the key is of what another computed."""
        described = {
            "format": STORE_FORMAT,
            "kind": cell.kind,
            "function": cell.function,
            "params": cell.params,
            "inputs": {name: source.sha256 for name, source in cell.inputs.items()},
            "code": self.code,
            "platform": self.platform,
            "threads": threads if self.platform == "cpu" else None,
            "xla_flags": self.xla_flags,
            "versions": dict(versions or numeric_versions()),
        }
        return sha256(json.dumps(described, sort_keys=True, allow_nan=False).encode())


def to_json(cell: Cell) -> dict[str, Any]:
    return {
        "kind": cell.kind,
        "label": cell.label,
        "function": cell.function,
        "params": dict(cell.params),
        "inputs": {
            name: {"path": str(source.path.resolve()), "sha256": source.sha256} for name, source in cell.inputs.items()
        },
    }


def from_json(value: Mapping[str, Any]) -> Cell:
    inputs = {name: Source(Path(source["path"]), source["sha256"]) for name, source in value["inputs"].items()}
    return Cell(value["kind"], value["label"], value["function"], value["params"], inputs)


def fingerprint(paths: list[Path]) -> str:
    """A digest of source files: of every .py file under a folder, of any single file named."""
    parts = []
    for path in sorted(paths):
        files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        parts += [f"{file.relative_to(path.parent).as_posix()} {sha256_file(file)}" for file in files]
    return sha256("\n".join(parts).encode())
