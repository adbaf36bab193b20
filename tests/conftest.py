"""What all tests share: the CPU and quick compilation; and real repositories in temporary folders, with the project's
own files, tiny parameters, and real `dvc` and stage commands."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from ruamel.yaml import YAML

from awt.artifacts import read_json, sha256_file

os.environ["JAX_PLATFORMS"] = "cpu"
# most of the tests' time is compilation, of programs that run once on a few points: a third of it without these
os.environ["XLA_FLAGS"] = (
    "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true --xla_cpu_use_fusion_emitters=false"
)

PROJECT = Path(__file__).parents[1]
STAGES = ("code", "prepare", "kernel", "mask", "retrain", "evaluate", "report")
SCRIPTS = {"code": "settle"}  # those that are not called as their stage: Python has a module `code` of its own

TINY: dict[str, Any] = {
    "seeds": [0],
    "data.train_limit": 256,
    "model.widths": [16],
    "kernel.reference_points": 24,
    "kernel.tile_memory_gb": 6.0e-5,  # for several tiles
    "tickets.methods": ["awt", "random", "dense"],
    "tickets.densities": [0.1, 0.3],
    "tickets.shared.epochs": 24,
    "tickets.shared.batch": 32,
    "tickets.shared.attack.steps": 2,
    "tickets.recipes.awt.teacher_epochs": 2,
    "tickets.recipes.awt.mask_every": 10,
    "tickets.recipes.awt.rewind_rounds": 2,
    "tickets.recipes.awt.drop_share": 0.5,
    "retrain.epochs": 24,
    "retrain.batch": 32,
    "retrain.attack.steps": 2,
    "evaluate.chunk_points": 200,
    "evaluate.suites": ["pgd100"],
    "evaluate.attacks": {"pgd100": {"steps": 5}},
    "evaluate.sanity_points": 0,
}


SERIAL = {"AWT_EXECUTOR": "serial"}
STARTED: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_left_running() -> Iterator[None]:
    """Ends what a failed test left behind."""
    yield
    while STARTED:
        process = STARTED.pop()
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture(autouse=True)
def same_cores() -> Iterator[None]:
    """Gives the cores back that a test took from its own process: a serial run keeps to as many as a cell asks for."""
    before = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    yield
    if before is not None:
        os.sched_setaffinity(0, before)


@dataclass
class Workspace:
    """A repository with an experiment, and the commands that a user would type in it."""

    path: Path
    environment: dict[str, str] = field(default_factory=dict)
    experiment: str = "."

    @property
    def folder(self) -> Path:
        return self.path / self.experiment

    def edit(self, values: dict[str, Any], file: str = "params.yaml") -> None:
        """Sets keys, those that the file has and others: an experiment says only what differs from its base."""
        yaml = YAML(typ="safe", pure=True)
        path = self.folder / file
        raw = yaml.load(path)
        for dotted, value in values.items():
            *parents, last = dotted.split(".")
            section = raw
            for name in parents:
                section = section.setdefault(name, {})
            section[last] = value
        yaml.dump(raw, path)

    def copy(self, target: Path) -> "Workspace":
        """The repository, with all that was computed in it, once more."""
        shutil.copytree(self.path, target, symlinks=True)
        return Workspace(target, dict(self.environment), self.experiment)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            words, cwd=self.folder, env=self._environment(), capture_output=True, text=True, timeout=600, check=False
        )

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Begins a command in a process group of its own, for tests that kill it."""
        with (self.path / "output").open("w") as output:
            process = subprocess.Popen(
                words,
                cwd=self.folder,
                env=self._environment(),
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                start_new_session=True,
            )
        STARTED.append(process)
        return process

    def kill(self, process: subprocess.Popen[str], number: int = signal.SIGKILL) -> str:
        """Sends a signal to a started command and all its children; returns what it printed."""
        os.killpg(process.pid, number)
        return self.output(process)

    def output(self, process: subprocess.Popen[str]) -> str:
        """What a started command printed, once it has ended."""
        process.wait(timeout=300)
        return (self.path / "output").read_text()

    def wait_for(self, condition: Callable[[], Any], process: subprocess.Popen[str]) -> Any:
        """The condition's first true value, while the process that brings it about lives."""
        deadline = time.monotonic() + 150
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            if process.poll() is not None:
                raise AssertionError(f"the process ended first, with {process.returncode}: {self.output(process)}")
            time.sleep(0.01)
        raise AssertionError(f"waited in vain; so far: {(self.path / 'output').read_text()}")

    def dvc(self, *words: str) -> str:
        done = self.command(sys.executable, "-m", "dvc", *words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def stage(self, name: str) -> subprocess.CompletedProcess[str]:
        script = os.path.relpath(self.path / "stages" / f"{SCRIPTS.get(name, name)}.py", self.folder)
        return self.command(sys.executable, script)

    def record(self, stage: str) -> dict[str, Any]:
        return read_json(self.folder / "artifacts" / "records" / f"{stage}.json")

    def results(self) -> dict[str, str]:
        """Digests of every out but the run records."""
        digests = {}
        for top in ("artifacts", "report"):
            for path in sorted((self.folder / top).rglob("*")):
                if path.is_file() and "records" not in path.parts and path.name != ".gitignore":
                    digests[str(path.relative_to(self.folder))] = sha256_file(path)
        return digests

    @property
    def work(self) -> Path:
        """The folder of the working files of cells."""
        return self.path / ".awt" / "store" / "work"

    def checkpoints(self, cell: str = "*") -> list[Path]:
        """Finished checkpoints of unfinished cells (orbax names those in the making otherwise)."""
        marks = self.work.glob(f"{cell}/checkpoints/*/_CHECKPOINT_METADATA")
        return [path.parent for path in marks if path.parent.name.isdigit()]

    def worker(self, label: str, process: subprocess.Popen[str]) -> tuple[int, str]:
        """The process that has begun to compute a cell, and the cell's key."""

        def find() -> tuple[int, str] | None:
            for key in self.keys(label):
                started = re.findall(r"pid (\d+)", self.log(key))
                if started:
                    return int(started[-1]), key
            return None

        return self.wait_for(find, process)

    def keys(self, label: str) -> list[str]:
        """The keys of the cells, finished or begun, whose label starts so."""
        described = {path.parent.name: read_json(path) for path in self.work.glob("*/cell.json")}
        return [key for key, cell in described.items() if cell["label"].startswith(label)]

    def log(self, key: str) -> str:
        path = self.work / key / "log"
        return path.read_text() if path.exists() else ""

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in self.work.glob("*/log"))

    def _environment(self) -> dict[str, str]:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {name: value for name, value in os.environ.items() if name not in ("RAY_ADDRESS", "AWT_STORE")}
        return kept | {"PATH": path, "PYTHONPATH": str(self.path / "src")} | self.environment


@pytest.fixture(scope="session")
def common(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of all processes that run tests."""
    base = tmp_path_factory.getbasetemp()
    return base.parent if "PYTEST_XDIST_WORKER" in os.environ else base


@pytest.fixture(scope="session")
def compilation_cache(common: Path) -> dict[str, str]:
    """JAX's own cache of compiled programs: most of the time of a tiny run is compilation."""
    folder = common / "compiled"
    folder.mkdir(exist_ok=True)
    return {
        "JAX_COMPILATION_CACHE_DIR": str(folder),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",  # else kilobytes of CPU features for each program loaded
    }


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory, compilation_cache: dict[str, str]) -> Callable[[], Workspace]:
    """Makes repositories with tiny parameters in which nothing was run yet."""

    def make() -> Workspace:
        path = tmp_path_factory.mktemp("repository")
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=PROJECT,
            capture_output=True,
            check=True,
            text=True,
        )
        for name in filter(None, listed.stdout.split("\0")):
            source, target = PROJECT / name, path / name
            if name.split("/")[0] == "tests" or source.name == "dvc.lock" or not source.exists():
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target, follow_symlinks=False)
        workspace = Workspace(path, compilation_cache | SERIAL)
        workspace.edit(TINY)
        for words in (
            ["init", "-q"],
            ["add", "-A"],
            ["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "t"],
        ):
            subprocess.run(["git", *words], cwd=path, check=True)
        return workspace

    return make


@pytest.fixture(scope="session")
def finished(
    fresh: Callable[[], Workspace],
    common: Path,
    compilation_cache: dict[str, str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Workspace:
    """A repository after an undisturbed serial `dvc repro`; not to be changed. Each process has a copy of the one that
    the first to ask for it computed, which stays where it is: cells tell where their inputs were."""
    first = common / "finished"
    with FileLock(f"{first}.lock"):
        if not first.exists():
            workspace = fresh()
            workspace.dvc("repro")
            first.symlink_to(workspace.path)
    return Workspace(first.resolve(), compilation_cache | SERIAL).copy(tmp_path_factory.mktemp("finished") / "copy")


@pytest.fixture
def copy_of(tmp_path: Path) -> Iterator[Callable[[Workspace], Workspace]]:
    """Copies a repository with all that was computed in it, for tests that go on from there."""
    yield lambda workspace: workspace.copy(tmp_path / f"copy{len(list(tmp_path.iterdir()))}")
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Makes a disk of a size in a folder, and makes it larger."""
    folder = tmp_path / "disk"
    folder.mkdir()

    def mount(options: str) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
        )

    def disk(size: str) -> Path:
        if folder.is_mount():
            assert mount(f"remount,size={size}").returncode == 0
        elif mount(f"size={size}").returncode != 0:
            pytest.skip("only root can mount a small disk to fill")
        return folder

    yield disk
    if folder.is_mount():
        subprocess.run(["umount", folder], check=True)


@pytest.fixture
def saw(request: pytest.FixtureRequest) -> Callable[[str, str], str]:
    """Finds what a fault made the run say, and notes the line for the table of `make chaos`; returns the line."""
    [fault] = request.node.get_closest_marker("chaos").args

    def find(output: str, pattern: str) -> str:
        said = re.search(f"^.*{pattern}.*$", output, re.MULTILINE)
        assert said, output
        request.node.user_properties.append((f"chaos: {fault}", said.group()))
        return said.group()

    return find


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: Any) -> Iterator[None]:
    yield
    if terminalreporter.config.getoption("markexpr") == "chaos":
        _show_faults(terminalreporter)
    lacking = [report for report in terminalreporter.stats.get("skipped", []) if "AWT_DATA_DIR" in str(report.longrepr)]
    if lacking:
        terminalreporter.write_line(f"{len(lacking)} tests were skipped for want of a data set: set AWT_DATA_DIR")


def _show_faults(terminalreporter: Any) -> None:
    """A table of faults, what was seen of them, and what was lost: nothing, where the test of it passed."""
    for outcome, lost in (("passed", "nothing"), ("failed", "the test failed: see above")):
        for report in terminalreporter.stats.get(outcome, []):
            if report.when == "call":
                noted = [(name.removeprefix("chaos: "), said) for name, said in report.user_properties]
                for fault, said in noted or [(report.nodeid, "")]:
                    terminalreporter.write_line(f"\nfault  {fault}\nseen   {said[:240]}\nlost   {lost}")
