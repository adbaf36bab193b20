"""Archives as a stream: read once, in order, and never unpacked, so that no name in them leads anywhere."""

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from awt.errors import InputError

LARGEST_FILE = 2**28
_BLOCK = 2**16
# not tarfile's own decompression, which takes a stream that is cut short for one that ends
_COMPRESSIONS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\0": lzma.open,
    b"]\0\0": lzma.open,  # the older .lzma
}
_UNREADABLE = (tarfile.TarError, OSError, EOFError, ValueError, lzma.LZMAError, zlib.error)


class Member(NamedTuple):
    """A file of an archive, or a folder, which has no content."""

    path: PurePosixPath
    content: bytes | None


def members(path: Path) -> Iterator[Member]:
    """The files and folders of a .tar, compressed or not, in its order."""
    try:
        with _opened(path) as file:
            yield from _members(_Watched(file))
    except _UNREADABLE as error:
        raise InputError(
            f"{path}: truncated, corrupt, or no tar ({error}); "
            f"it must be a whole .tar, plain or compressed by gzip, bzip2 or xz"
        ) from None


def _opened(path: Path) -> IO[bytes]:
    with path.open("rb") as file:
        start = file.read(8)
    for magic, opened in _COMPRESSIONS.items():
        if start.startswith(magic):
            return opened(path, "rb")
    return path.open("rb")


class _Watched:
    """A file that knows how much of it was read, and where the last byte is that is not 0."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.position = 0
        self.content_end = 0

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        content = len(block.rstrip(b"\0"))
        if content:
            self.content_end = self.position + content
        self.position += len(block)
        return block


def _members(file: _Watched) -> Iterator[Member]:
    with tarfile.open(fileobj=file, mode="r|") as archive:  # type: ignore[call-overload]
        for info in archive:
            yield _member(archive, info)
            archive.members = []  # tarfile's list of them all grows with the archive
        end = archive.offset
    while file.read(_BLOCK):  # checksums are at the end
        pass
    # tarfile stops at any header that it cannot read: only zeros to the end are the end
    if file.content_end > end or file.position < end + tarfile.BLOCKSIZE:
        raise ValueError(f"it should go on at byte {end} of its decompressed content")


def _member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    path = PurePosixPath(info.name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{info.name}: a path that leads out of the archive")
    if info.isdir():
        return Member(path, None)
    if not info.isfile():
        raise ValueError(f"{info.name}: a link or device; pack with `tar --dereference --hard-dereference`")
    if info.size > LARGEST_FILE:
        raise ValueError(f"{info.name}: {info.size} bytes; a file in it has {LARGEST_FILE} at most")
    file = archive.extractfile(info)
    content = b"" if file is None else file.read()
    if len(content) != info.size:
        raise ValueError(f"{info.name}: {len(content)} bytes of {info.size}")
    return Member(path, content)
