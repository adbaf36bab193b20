"""The shape of the code: layers point downwards, drivers leave JAX alone, dvc.yaml names all decisive code."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from awt.lineage.pipeline import code_of

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "awt"
STAGES = ("prepare", "kernel", "mask", "retrain", "evaluate", "report")

BASE = {"errors", "artifacts", "keys", "params", "runtime"}
MAY_IMPORT = {
    "errors": set(),
    "artifacts": {"errors"},
    "keys": set(),
    "params": {"errors"},
    "runtime": {"errors", "artifacts", "params"},
    "lineage": {"errors", "artifacts", "runtime"},
    "data": BASE,
    "models": BASE,
    "attacks": BASE | {"data", "models"},
    "kernels": BASE | {"data", "models", "attacks"},
    "tickets": BASE | {"data", "models", "attacks", "kernels", "training"},
    "training": BASE | {"data", "models", "attacks", "kernels"},
    "evaluation": BASE | {"data", "models", "attacks", "kernels", "tickets", "training"},
    "report": {"errors", "artifacts", "params"},
    "site": {"errors", "artifacts", "params", "report"},
    "stage": {"errors", "artifacts", "params", "runtime", "lineage"},
    "experiment": {"errors"},
    "anatomy": {"errors", "artifacts"},
    "text": set(),
    "trained": {"errors", "artifacts", "params", "runtime", "stage", "experiment", "training"},
    "attack_command": {"errors", "artifacts", "params", "runtime", "stage", "attacks", "evaluation", "trained", "text"},
    "data_command": {"errors", "artifacts", "params", "data"},
    "export": {"artifacts", "models"},
    "export_onnx": {"export"},
    "export_command": {
        "errors",
        "artifacts",
        "params",
        "data",
        "models",
        "stage",
        "trained",
        "text",
        "export",
        "export_onnx",
    },
    "gram_command": {"errors", "artifacts", "params", "runtime", "data", "kernels", "stage", "experiment"},
    "mask_picture": {"report"},
    "mask_command": {"errors", "artifacts", "stage", "experiment", "anatomy", "mask_picture", "text"},
    "planning": BASE | {"data", "models", "attacks", "kernels", "tickets", "training", "evaluation", "lineage"},
    "plan_command": {"errors", "artifacts", "params", "runtime", "stage", "text", "planning"},
    "doctor": {"errors", "artifacts", "params", "runtime", "lineage", "data", "stage", "experiment", "planning"},
    "doctor_command": {"errors", "artifacts", "doctor"},
    "rerun": {"params", "runtime", "lineage", "stage"},
    "lineage_command": {"errors", "artifacts", "params", "runtime", "lineage", "stage", "experiment", "rerun"},
    "new_command": {"errors", "artifacts", "params", "experiment"},
    "site_command": {"errors", "stage", "site", "experiment"},
    "cli": {
        "errors",
        "artifacts",
        "params",
        "runtime",
        "lineage",
        "stage",
        "attack_command",
        "data_command",
        "doctor_command",
        "export_command",
        "gram_command",
        "lineage_command",
        "mask_command",
        "rerun",
        "new_command",
        "plan_command",
        "site_command",
    },
}
# only these import what they wrap
SOLE_IMPORTERS = {
    "ray": {"runtime/ray_cluster.py", "runtime/ray_executor.py", "runtime/ray_tasks.py", "doctor/nodes.py"},
    "fsspec": {"runtime/remote.py"},
    "orbax": {"runtime/resume.py"},
    "neural_tangents": {"kernels/_neural_tangents.py"},
    "rich": {"runtime/progress.py"},
    "onnx": {"export_onnx.py"},
    "PIL": {"data/images.py"},
}
# what moves results and checks input, but decides no value: no stage depends on it
NOT_DECISIVE = {"errors", "params", "runtime", "lineage", "stage"}


def imports(path: Path) -> set[str]:
    """Dotted names that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def ours(path: Path) -> set[str]:
    """The parts of awt that a file imports."""
    return {name.split(".")[1] for name in imports(path) if name.startswith("awt.")} - {"__version__", "__file__"}


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_layers_point_downwards(path):
    assert ours(path) - {part(path)} <= MAY_IMPORT[part(path)]


@pytest.mark.parametrize("package", SOLE_IMPORTERS)
def test_wrapped_libraries_have_one_importer(package):
    importers = {
        str(path.relative_to(SOURCE)) for path in FILES if package in {name.split(".")[0] for name in imports(path)}
    }
    assert importers <= SOLE_IMPORTERS[package]


def test_the_runtime_compares_no_clocks():
    """Machines' clocks differ: durations are by a process's own monotonic clock, times of day are for people."""
    for path in (SOURCE / "runtime").rglob("*.py"):
        assert not re.search(r"time\.time\(|datetime", path.read_text()), path


@pytest.mark.parametrize("stage", STAGES)
def test_stage_scripts_are_thin(stage):
    assert len((PROJECT / "stages" / f"{stage}.py").read_text().splitlines()) < 80


def closure(files: list[Path]) -> set[Path]:
    """All files of awt that some files import, directly or not."""
    seen: set[Path] = set()
    waiting = list(files)
    while waiting:
        path = waiting.pop()
        if path in seen:
            continue
        seen.add(path)
        for name in imports(path) | cell_functions(path):
            waiting += module_files(name)
    return seen


def module_files(name: str) -> list[Path]:
    """The files behind "awt.a.b" or "awt.a.b.name": the module, and its packages."""
    parts = name.split(".")
    if parts[0] != "awt":
        return []
    found = []
    for end in range(2, len(parts) + 1):
        base = SOURCE.joinpath(*parts[1:end])
        found += [path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()]
    return found


def cell_functions(path: Path) -> set[str]:
    """The modules of the cell functions that a file names in strings ("awt.module:function")."""
    strings = [node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)]
    named = [text for text in strings if isinstance(text, str) and re.fullmatch(r"awt\.[\w.]+:\w+", text)]
    return {text.partition(":")[0] for text in named}


@pytest.mark.parametrize("stage", STAGES)
def test_dvc_yaml_names_the_code_that_decides_a_stage(stage):
    script = PROJECT / "stages" / f"{stage}.py"
    used = {path for path in closure([script]) if path != script}
    decisive = {path for path in used if part(path) not in NOT_DECISIVE}
    declared = code_of(stage, PROJECT)
    covered = {path for path in decisive if any(path == one or one in path.parents for one in declared)}
    assert decisive == covered, "missing from the stage's deps in dvc.yaml"
    packages = [one for one in declared if SOURCE in one.parents]
    unused = [one for one in packages if not any(path == one or one in path.parents for path in decisive)]
    assert unused == [], "in the stage's deps, but not used"
    assert {script, PROJECT / "requirements.lock"} <= set(declared)


@pytest.mark.parametrize(
    "driver", [*(f"stages/{stage}.py" for stage in STAGES), "src/awt/cli.py", "src/awt/mask_picture.py"]
)
def test_drivers_leave_jax_to_the_workers(driver):
    """Ray must come before JAX in a process, and a driver with every cell in the store should not wait for either."""
    code = f"import runpy, sys; runpy.run_path('{driver}'); print({{'jax', 'ray'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_the_lock_file_pins_versions_without_addresses():
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in lines)
    names = {line.split("==")[0].lower() for line in lines}
    assert not names & {"tensorflow", "keras", "tf2jax"}
