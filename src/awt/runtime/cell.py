"""A cell: the unit of work, of caching and of retry, named by the hash of all that decides its result."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from awt.artifacts import sha256_file
from awt.loading import references
from awt.runtime.code import Code, code_of, digest

STORE_FORMAT = 2
JAX_SETTINGS: Mapping[str, Any] = {  # whatever a machine's environment says of them
    "jax_enable_x64": False,
    "jax_default_prng_impl": "threefry2x32",
    "jax_threefry_partitionable": True,
    "jax_default_matmul_precision": None,
    "jax_disable_most_optimizations": False,
}


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
    """A call of `function` ("module:name") with JSON parameters on input files.

    The function takes (params, inputs, watch), inputs being the files' bytes, and returns files: name -> bytes. Code
    that it is to use is named in its parameters, as "module:name". What it is about (`tags`: a method, a density, a
    seed, …), what it is called and whose resources it gets (`kind`) decide nothing.
    """

    kind: str
    label: str
    function: str
    params: Mapping[str, Any]
    inputs: Mapping[str, Source] = field(default_factory=dict)
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def functions(self) -> frozenset[str]:
        """The function, and all other code that the parameters name."""
        return frozenset([self.function, *references(dict(self.params))])

    @property
    def code(self) -> Code:
        return code_of(self.functions)


@dataclass(frozen=True)
class Surroundings:
    """What decides a cell's result beside the cell and its code: the kind of device, and numeric settings."""

    platform: str
    xla_flags: str = field(default_factory=lambda: os.environ.get("XLA_FLAGS", ""))
    jax: Mapping[str, Any] = field(default_factory=lambda: dict(JAX_SETTINGS))

    def key(self, cell: Cell, threads: int = 1, code: Mapping[str, Any] | None = None) -> str:
        """The cell's name in the store. The number of CPU threads is part of it: sums over a batch are split by it
        (measured: a convolution's gradient has other last bits with two threads than with one). The code is what is
        here, unless the key is of what was computed with other code."""
        return digest(
            {
                "format": STORE_FORMAT,
                "function": cell.function,
                "params": cell.params,
                "inputs": {name: source.sha256 for name, source in cell.inputs.items()},
                "code": code or cell.code.as_json(),
                "platform": self.platform,
                "threads": threads if self.platform == "cpu" else None,
                "xla_flags": self.xla_flags,
                "jax": self.jax,
            }
        )


def to_json(cell: Cell) -> dict[str, Any]:
    return {
        "kind": cell.kind,
        "label": cell.label,
        "function": cell.function,
        "params": dict(cell.params),
        "inputs": {
            name: {"path": str(source.path.resolve()), "sha256": source.sha256} for name, source in cell.inputs.items()
        },
        "tags": dict(cell.tags),
    }


def from_json(value: Mapping[str, Any]) -> Cell:
    inputs = {name: Source(Path(source["path"]), source["sha256"]) for name, source in value["inputs"].items()}
    return Cell(value["kind"], value["label"], value["function"], value["params"], inputs, value.get("tags", {}))
