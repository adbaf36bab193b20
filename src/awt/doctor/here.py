"""This machine and this repository: parameters, packages, data, store, git and DVC."""

import json
import random
import shutil
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from awt.artifacts import sha256
from awt.data.options import Data
from awt.data.prepare import PRESENT, READERS, data_root
from awt.doctor.finding import Finding, of_error
from awt.doctor.judge import INSTALL, NUMERIC_PACKAGES, judge_packages, judge_rooms
from awt.doctor.look import room, writing_error
from awt.errors import DISK_FULL, is_disk_full
from awt.lineage.versions import PACKAGES
from awt.runtime.store import Store
from awt.workflows.experiment import Experiment

DATA_SECONDS = 20.0  # for the data to be verified; more is left to `awt data verify`
STORE_SECONDS = 20.0  # for the store to answer
ENTRIES_SECONDS = 2.0  # for its entries to be looked at
COMMAND_SECONDS = 60.0

T = TypeVar("T")


def check_lock(repository: Path) -> Iterator[Finding]:
    """The packages that decide results, against requirements.lock."""
    path = repository / "requirements.lock"
    if not path.is_file():
        yield Finding("packages", "warning", f"{path} is not there: versions cannot be compared with it")
        return
    pins = (line.strip().partition("==") for line in path.read_text(encoding="utf-8").splitlines())
    locked = {name.lower().replace("_", "-"): pinned for name, _, pinned in pins if pinned}
    wanted = {name: locked[name] for name in PACKAGES if name in locked}
    here = {name: _version(name) for name in wanted}
    yield from judge_packages(here, wanted, "of requirements.lock", NUMERIC_PACKAGES)


def check_python() -> Iterator[Finding]:
    """Stages are run with the first `python` on the PATH, which need not be the one that runs this."""
    first = shutil.which("python")
    if first is not None and Path(first).parent.resolve() == Path(sys.executable).parent.resolve():
        yield Finding("python", "ok", f"{sys.version.split()[0]}, {sys.executable}")
        return
    yield Finding(
        "python",
        "warning",
        f"`dvc repro` runs stages with {first or 'no python at all'}, not with {sys.executable}: activate the "
        "environment (`make repro` does it by itself)",
    )


def check_data(asked: Experiment) -> Iterator[Finding]:
    """The data set of the experiment, verified as `awt data verify` does, for as long as the doctor has."""
    data = getattr(asked.params, "data", None)
    if not isinstance(data, Data):
        yield Finding("data", "ok", f"the workflow {asked.workflow.name} has no section `data`")
        return
    root = data_root(data, asked.repository).resolve()
    slow = Finding("data", "warning", f"{data.name} takes long to read; `awt data verify {data.name}` verifies all")
    yield from in_time(DATA_SECONDS, lambda: list(_data(data, root)), [slow])


def in_time(seconds: float, answer: Callable[[], T], otherwise: T) -> T:
    """What a function returns, or something else if that takes too long; it is then left to itself."""
    answers: list[T] = []
    failures: list[Exception] = []

    def work() -> None:
        try:
            answers.append(answer())
        except Exception as error:
            failures.append(error)

    worker = threading.Thread(target=work, daemon=True)
    worker.start()
    worker.join(seconds)
    if failures:
        raise failures[0]
    return answers[0] if answers else otherwise


def _data(data: Data, root: Path) -> Iterator[Finding]:
    if data.name not in PRESENT:
        raw = READERS[data.name](data, root)
        yield Finding("data", "ok", f"{data.name}: {len(raw.train_y)} training points")
        return
    files = PRESENT[data.name](root)
    if not files.missing:
        yield Finding("data", "ok", f"{data.name}: {files.paths[0].parent} (verified by {files.checked_by})")
        return
    yield Finding(
        "data",
        "FAIL",
        f"{root / data.name}: no {', '.join(files.missing)}; `awt data fetch {data.name}` downloads what is missing, "
        "or name the folder that has it with AWT_DATA_DIR or data.root",
    )


def find_store(asked: Experiment) -> tuple[Store | None, list[Finding]]:
    """The store, if it can be used, and the findings on it; one at a URL may take long to answer, or never do."""

    def look() -> tuple[Store | None, list[Finding]]:
        store = asked.store()
        return store, list(check_store(store))

    slow = Finding("store", "FAIL", f"runtime.store: no answer within {STORE_SECONDS:g} s: is it reachable from here?")
    silent: tuple[Store | None, list[Finding]] = None, [slow]
    try:
        return in_time(STORE_SECONDS, look, silent)
    except Exception as error:
        return None, [of_error("store", error)]


def check_store(store: Store) -> Iterator[Finding]:
    """Puts an entry, reads it back and drops it; then looks at what else is there."""
    content, key = uuid.uuid4().bytes, sha256(uuid.uuid4().bytes)
    try:
        store.put(key, {"doctor": content}, {"label": "awt doctor"})
        entry = store.find(key)
        same = entry is not None and entry.read("doctor") == content
        store.drop(key)
    except OSError as error:
        reason = DISK_FULL.format(error=error) if is_disk_full(error) else f"{error}; name another place"
        yield Finding("store", "FAIL", f"runtime.store: {store.root} cannot be written to: {reason}")
        return
    if not same:
        yield Finding("store", "FAIL", f"runtime.store: what is written to {store.root} does not come back")
        return
    yield Finding("store", "ok", f"{store.remote.url if store.remote else store.root}: written to and read back")
    yield from judge_rooms({str(store.root): room(store.root)}, "store", for_ray=False)
    if store.remote is None:  # else all of them would be brought here
        yield from _entries(store)


def _entries(store: Store) -> Iterator[Finding]:
    """Damaged entries are computed again when needed: worth a word, since what damaged one may damage more."""
    keys = list(store.every_key())
    random.shuffle(keys)
    seen, damaged, until = 0, [], time.monotonic() + ENTRIES_SECONDS
    for key in keys:
        if time.monotonic() > until:
            break
        entry = store.peek(key)
        seen += entry is not None
        if entry is not None and not store.is_intact(entry):
            damaged.append(key[:12])
    if damaged:
        yield Finding(
            "store",
            "warning",
            f"{len(damaged)} of {seen} entries looked at are damaged ({', '.join(sorted(damaged)[:5])}): they will be "
            "computed anew; look after the disk",
        )
    elif seen:
        yield Finding("store", "ok", f"{seen} entries looked at, none damaged")


def check_git(repository: Path) -> Iterator[Finding]:
    done = _command(["git", "-C", str(repository), "rev-parse", "--short", "HEAD"])
    if isinstance(done, str):
        advice = "run records will not name a revision; install git, or commit once"
        yield Finding("git", "warning", f"{done}: {advice}")
    else:
        yield Finding("git", "ok", f"revision {done.stdout.strip()}")


def check_dvc(repository: Path) -> Iterator[Finding]:
    """That DVC runs here, can write to its cache, and was not killed while it wrote its lock."""
    if not (repository / ".dvc").is_dir():
        yield Finding("dvc", "FAIL", f"{repository.absolute()} has no .dvc: clone the repository again, or `dvc init`")
        return
    done = _command([sys.executable, "-m", "dvc", "cache", "dir"], repository)
    if isinstance(done, str):
        yield Finding("dvc", "FAIL", f"`dvc cache dir` fails: {done}; {INSTALL}")
        return
    cache = repository / done.stdout.strip().splitlines()[-1]
    if error := writing_error(cache):
        yield Finding(
            "dvc",
            "FAIL",
            f"the cache {cache} cannot be written to ({error}): repair it, or name another (`dvc cache dir`)",
        )
    else:
        yield Finding("dvc", "ok", f"the cache {cache} can be written to")
        yield from judge_rooms({str(cache): room(cache)}, "dvc", for_ray=False)
    lock = repository / ".dvc" / "tmp" / "rwlock"
    if lock.exists() and not _is_json(lock):
        yield Finding("dvc", "FAIL", f"{lock} is not whole, since DVC was killed: delete it")


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True


def _command(words: list[str], folder: Path | None = None) -> Any:
    """A command that ended well, or why it did not."""
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=COMMAND_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return done if done.returncode == 0 else (done.stderr.strip().splitlines() or ["no message"])[-1]


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
