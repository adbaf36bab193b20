"""Downloads: to a temporary name, given up soon where there is no network."""

import queue
import threading
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

from awt.errors import InputError, is_disk_full

ANSWER_SECONDS = 4.5  # for one mirror to answer: offline, two of them together stay below ten
LARGEST = 512 * 2**20
_BLOCK = 2**20


@contextmanager
def fetched(url: str, folder: Path) -> Iterator[Path]:
    """The file at an address, under a temporary name in the folder; it is removed unless it is given another."""
    with _open(url) as response:
        print(f"downloading {url}", flush=True)
        path = folder / f".download.{uuid.uuid4().hex}"
        try:
            _save(response, path)
            yield path
        finally:
            with suppress(OSError):  # its folder is a file: that was said already
                path.unlink(missing_ok=True)


def _open(url: str) -> Any:
    """An answered request. urlopen's timeout leaves out the name lookup and starts anew for every address of
    a host, so the wait is for a thread, which a machine without a network may abandon."""
    answers: queue.SimpleQueue[Any] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(url, timeout=ANSWER_SECONDS))
        except HTTPError as error:
            error.close()  # it holds the connection
            answers.put(error)
        except Exception as error:
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER_SECONDS)
    except queue.Empty:
        raise TimeoutError(f"no answer within {ANSWER_SECONDS} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer


def _save(response: Any, path: Path) -> None:
    with _writing(path.parent):
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("wb", buffering=0)
    size = 0
    with file:
        while block := response.read(_BLOCK):
            size += len(block)
            if size > LARGEST:
                raise ValueError(f"more than {LARGEST // 2**20} MB, which no known data set has")
            with _writing(path.parent):
                file.write(block)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Tells a folder that cannot be written from a mirror that fails, since both are OSErrors."""
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise
        raise InputError(
            f"{folder}: cannot write the download ({error}); "
            f"name a writable folder with AWT_DATA_DIR or data.root in params.yaml"
        ) from None
