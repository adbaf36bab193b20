"""Files at a URL (s3://, gs://, file://, whatever fsspec knows), which may not answer for a while."""

import contextlib
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

from awt.artifacts import Buffer
from awt.errors import InputError, WorkError, is_disk_full

PATIENCE_SECONDS = 120.0  # how long a store may be unreachable
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0

T = TypeVar("T")


class Remote:
    """A folder at a URL. What cannot be reached is tried again, with growing pauses, for as long as patience lasts."""

    def __init__(self, url: str, patience: float | None = None) -> None:
        self.url = url.rstrip("/")
        self.patience = PATIENCE_SECONDS if patience is None else patience
        self._files, self._root = _open(url)
        self._down = threading.Lock()  # held by the one thread that tells of an outage

    def check(self) -> None:
        """Finds before any work whether something can be written there at all."""
        name = f".probe-{uuid.uuid4().hex}"
        try:
            self.write(name, b"")
            self.remove(name)
        except (NotImplementedError, PermissionError, FileNotFoundError, ValueError) as error:
            reason = str(error) or type(error).__name__
            raise InputError(f"runtime.store: {self.url} cannot be written to ({reason})") from None

    def read(self, name: str) -> bytes | None:
        try:
            return self._patiently(lambda: bytes(self._files.cat_file(self._path(name))))
        except FileNotFoundError:
            return None

    def write(self, name: str, data: Buffer) -> None:
        self._patiently(lambda: self._files.pipe_file(self._path(name), bytes(data)))

    def fetch(self, name: str, path: Path) -> bool:
        """Whether there was such a file to copy here."""
        try:
            self._patiently(lambda: self._files.get_file(self._path(name), str(path)))
        except FileNotFoundError:
            return False
        return True

    def send(self, path: Path, name: str) -> None:
        self._patiently(lambda: self._files.put_file(str(path), self._path(name)))

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            self._patiently(lambda: self._files.rm(self._path(name), recursive=True))

    def names(self, under: str) -> list[str]:
        """Of all files under a folder, relative to it."""
        start = self._path(under) + "/"

        def find() -> Iterable[str]:
            self._files.invalidate_cache()
            return self._files.find(start)

        try:
            return sorted(path.removeprefix(start) for path in self._patiently(find))
        except FileNotFoundError:
            return []

    def modified(self, name: str) -> float | None:
        """When a file was written, by the clock of whoever keeps it; None if it is not there or nobody knows."""
        try:
            return float(self._patiently(lambda: self._files.modified(self._path(name))).timestamp())
        except (FileNotFoundError, NotImplementedError):
            return None

    def size(self, name: str) -> int:
        return int(self._patiently(lambda: self._files.size(self._path(name))) or 0)

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _patiently(self, action: Callable[[], T]) -> T:
        deadline, pause = time.monotonic() + self.patience, FIRST_PAUSE
        tells = False
        try:
            while True:
                try:
                    result = action()
                except Exception as error:
                    if not _may_pass(error):
                        raise
                    if time.monotonic() + pause > deadline:
                        raise WorkError(
                            f"runtime.store: {self.url} has not answered for {self.patience:.0f} s ({_reason(error)}); "
                            "what is finished is kept here and sent there by the next run"
                        ) from None
                    if not tells and self._down.acquire(blocking=False):
                        tells = True
                        _say(f"{self.url} does not answer ({_reason(error)}); trying for {self.patience:.0f} s")
                    time.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
                else:
                    if tells:
                        _say(f"{self.url} answers again")
                    return result
        finally:
            if tells:
                self._down.release()


def _may_pass(error: Exception) -> bool:
    """Whether an error may go away by itself: fsspec's file systems have no common one for want of a connection."""
    lasting = (FileNotFoundError, PermissionError, NotImplementedError, ValueError, TypeError, WorkError, InputError)
    return not isinstance(error, lasting) and not is_disk_full(error)


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]


def _say(text: str) -> None:
    print(f"store: {text}", file=sys.stderr, flush=True)


def _open(url: str) -> tuple[Any, str]:
    """The file system and the folder's path in it."""
    import fsspec

    scheme, _, rest = url.partition("://")
    if not rest.strip("/"):
        raise InputError(f"runtime.store: {url!r} names no folder: {scheme}://BUCKET/FOLDER would")
    options = {"auto_mkdir": True} if scheme in ("file", "local") else {}
    try:
        files, root = fsspec.core.url_to_fs(url, use_listings_cache=False, **options)
    except ImportError as error:
        raise InputError(f"runtime.store: {url} needs a package that is not installed: {error}") from None
    except ValueError as error:
        raise InputError(f"runtime.store: {url}: {error}") from None
    return files, str(root).rstrip("/")
