"""Taking a cell's checkpoints to the store's URL and back, so that any machine can go on with it.

work/abcd…/checkpoints/120.tar    the checkpoint's folder
work/abcd…/checkpoints/120.json   its digests, written last: an archive without it is not whole
"""

import io
import json
import shutil
import tarfile
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from awt.artifacts import encode_json, sha256
from awt.errors import AwtError
from awt.runtime import seals
from awt.runtime.remote import Remote

PATIENCE_SECONDS = 20.0  # a checkpoint is worth less than the time that a cell waits for it
KEPT = 2


class Courier:
    """For one cell. Checkpoints travel beside the computation: one that is made while another travels stays behind,
    unless it is the last."""

    def __init__(self, url: str, key: str) -> None:
        self._remote = Remote(url, PATIENCE_SECONDS)
        self._folder = f"work/{key}/checkpoints"
        self._pool = ThreadPoolExecutor(1)
        self._travelling: Future[None] | None = None
        self._behind: tuple[Path, int] | None = None

    def bring(self, checkpoints: Path) -> str | None:
        """Puts the newest checkpoint at the URL beside those that are here, if it is newer; says what was done."""
        try:
            steps = sorted(_step(name) for name in self._remote.names(self._folder) if name.endswith(".json"))
            here = [int(path.name) for path in checkpoints.glob("[0-9]*") if path.name.isdigit()]
            for step in reversed(steps):
                if step <= max(here, default=-1):
                    return None
                if self._unpack(checkpoints, step):
                    return f"brought checkpoint {step} from {self._remote.url}"
        except AwtError as error:
            return f"no checkpoint could be brought: {error}"
        return None

    def send(self, checkpoints: Path, step: int) -> None:
        if self._travelling is not None and not self._travelling.done():
            self._behind = checkpoints, step
            return
        self._behind = None
        archive = _pack(checkpoints / str(step))
        self._travelling = self._pool.submit(self._deliver, step, archive, seals.seals(checkpoints).get(str(step), ""))

    def close(self, is_finished: bool) -> str | None:
        """Waits for what travels; of an unfinished cell the last checkpoint follows. Says what went wrong."""
        trouble = self._arrival()
        if self._behind is not None and not is_finished:
            self.send(*self._behind)
            trouble = self._arrival()
        self._pool.shutdown()
        return trouble

    def _arrival(self) -> str | None:
        try:
            if self._travelling is not None:
                self._travelling.result()
        except (AwtError, OSError) as error:
            return f"a checkpoint could not be sent: {error}"
        return None

    def _deliver(self, step: int, archive: bytes, seal: str) -> None:
        self._remote.write(f"{self._folder}/{step}.tar", archive)
        self._remote.write(f"{self._folder}/{step}.json", encode_json({"sha256": sha256(archive), "seal": seal}))
        names = self._remote.names(self._folder)
        for old in sorted({_step(name) for name in names})[:-KEPT]:
            for name in (f"{old}.json", f"{old}.tar"):
                if name in names:
                    self._remote.remove(f"{self._folder}/{name}")

    def _unpack(self, checkpoints: Path, step: int) -> bool:
        """Whether the checkpoint was whole, and is here now."""
        described, archive = (self._remote.read(f"{self._folder}/{step}.{end}") for end in ("json", "tar"))
        if described is None or archive is None:
            return False
        try:
            about = json.loads(described)
            is_whole = about["sha256"] == sha256(archive) and "seal" in about
        except (ValueError, KeyError, TypeError):
            is_whole = False
        if not is_whole:
            return False
        fresh = checkpoints.with_name(f".{checkpoints.name}.{uuid.uuid4().hex}")
        try:
            with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
                tar.extractall(fresh, filter="data")
            if seals.digest(fresh) != about["seal"]:
                return False
            checkpoints.mkdir(parents=True, exist_ok=True)
            fresh.rename(checkpoints / str(step))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        seals.seal(checkpoints, step)
        return True


def _step(name: str) -> int:
    stem = name.partition(".")[0]
    return int(stem) if stem.isdigit() else -1


def _pack(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path in sorted(folder.rglob("*")):
            tar.add(path, path.relative_to(folder).as_posix(), recursive=False)
    return buffer.getvalue()
