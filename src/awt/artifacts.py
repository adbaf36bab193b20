"""The file formats of the pipeline: deterministic bytes out, checked and pickle-free in."""

import hashlib
import io
import json
import math
import uuid
import zipfile
import zlib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from awt.errors import InputError

FORMAT_VERSION = 1
_LONGEST_HEADER = 2**16 + 10  # of an .npy of version 1.0

Arrays = dict[str, np.ndarray]
Buffer = bytes | memoryview


def encode_npz(arrays: Mapping[str, Any]) -> bytes:
    """An uncompressed .npz; the same arrays in the same order give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            # not np.savez, whose headers differ between Python's patch releases (3.11.2 and 3.11.7: measured)
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), encode_npy(array))
    return buffer.getvalue()


_UNREADABLE = (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile, zlib.error, AttributeError, TypeError)


def decode_npz(data: Buffer, source: str, names: Collection[str] | None = None) -> Arrays:
    """The arrays of an .npz, or those of them that are named; `source` names it in errors."""
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files if names is None or name in names}
    except (
        ValueError,
        OSError,
        EOFError,
        KeyError,
        zipfile.BadZipFile,
        zlib.error,
        AttributeError,
        TypeError,
    ) as error:
        raise InputError(f"{source}: not a readable .npz of plain arrays ({error})") from None


def encode_npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.asarray(array), allow_pickle=False)
    return buffer.getvalue()


def decode_npy(data: Buffer, source: str) -> np.ndarray:
    try:
        return np.asarray(np.load(io.BytesIO(data), allow_pickle=False))
    except (ValueError, OSError, EOFError) as error:
        raise InputError(f"{source}: not a readable .npy of a plain array ({error})") from None


def view_npy(data: Buffer, source: str) -> np.ndarray:
    """The array of an .npy as `encode_npy` writes it, read-only and without a copy of its data."""
    head = io.BytesIO(data[:_LONGEST_HEADER])
    try:
        if np.lib.format.read_magic(head) != (1, 0):
            raise ValueError("not version 1.0 of the format")
        shape, fortran_order, dtype = np.lib.format.read_array_header_1_0(head)
        order: Literal["F", "C"] = "F" if fortran_order else "C"
        view = np.frombuffer(data, dtype, math.prod(shape), offset=head.tell()).reshape(shape, order=order)
    except (ValueError, EOFError) as error:
        raise InputError(f"{source}: not a readable .npy of a plain array ({error})") from None
    view.flags.writeable = False
    return view


def encode_json(value: Any) -> bytes:
    """Sorted, indented JSON; NaN and infinities are refused, since JSON has none."""
    return (json.dumps(value, indent=1, sort_keys=True, allow_nan=False) + "\n").encode()


def decode_json(data: Buffer, source: str) -> Any:
    try:
        return json.loads(bytes(data))
    except ValueError as error:
        raise InputError(f"{source}: not readable JSON ({error})") from None


def encode_csv(table: pd.DataFrame) -> bytes:
    return table.to_csv(index=False, lineterminator="\n").encode()


def read_csv(path: Path) -> pd.DataFrame:
    try:
        return pd.read_csv(io.BytesIO(read(path)))
    except (ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a readable table ({error})") from None


def curves(tables: Iterable[bytes], tickets: Iterable[tuple[str, float, int]]) -> pd.DataFrame:
    """The curves (CSV) of tickets as one table, with each ticket's method, density and seed."""
    joined = []
    for data, (method, density, seed) in zip(tables, tickets, strict=True):
        table = pd.read_csv(io.BytesIO(data))
        table.insert(0, "method", method)
        table.insert(1, "density", density)
        table.insert(2, "seed", seed)
        joined.append(table)
    return pd.concat([table for table in joined if len(table)] or joined[:1], ignore_index=True)


def read(path: Path) -> bytes:
    """A file's bytes, or an error that says which stage's output is missing."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError(f"{path} is missing: run `dvc repro` (or `dvc checkout`) to bring it back") from None


def read_json(path: Path) -> Any:
    return decode_json(read(path), str(path))


def read_npz(path: Path) -> Arrays:
    return decode_npz(read(path), str(path))


def write(path: Path, data: bytes) -> None:
    """Writes a whole file or nothing: to a temporary name beside it, then renamed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        temporary.write_bytes(data)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def sha256(data: Buffer) -> str:
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        raise InputError(f"{path} is missing: run `dvc repro` (or `dvc checkout`) to bring it back") from None
