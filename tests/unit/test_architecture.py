"""The shape of the code: layers point downwards, drivers start no device, a new method is one file and one line."""

import ast
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from awt.models.network import Network, encode_weights

PROJECT = Path(__file__).parents[2]
SOURCE = PROJECT / "src" / "awt"
STAGES = sorted((PROJECT / "stages").rglob("*.py"))

BASE = {"errors", "artifacts", "keys", "options", "loading", "names", "loop"}
SCIENCE = {"data", "models", "attacks", "kernels", "tickets", "training", "evaluation", "export"}
CORE = BASE | SCIENCE
# what the modules of a part may import: other parts, or of those that are too large a promise some modules
MAY_IMPORT = {
    "errors": set(),
    "artifacts": {"errors"},
    "keys": set(),
    "options": set(),
    "loading": {"errors"},
    "names": set(),
    "loop": {"errors"},
    "data": BASE,
    "models": BASE,
    "attacks": BASE | {"models"},
    "kernels": BASE | {"models"},
    "training": BASE | {"data", "models", "attacks"},
    "tickets": BASE | {"data", "models", "attacks", "kernels", "training"},
    "evaluation": BASE | {"data", "models", "attacks", "kernels", "tickets", "training"},
    "export": BASE | {"data", "models"},
    "cells": CORE,
    "runtime": {"errors", "artifacts", "options", "loading", "loop"},
    "params": BASE | {"runtime.options"},
    "report": BASE,
    "lineage": BASE | {"runtime", "report", "params.reading"},
    "services": CORE | {"runtime.cell", "runtime.store"},
    "workflows": CORE | {"cells", "services", "params", "runtime", "report", "lineage.records", "lineage.versions"},
    "planning": CORE | {"services", "params", "runtime", "lineage", "workflows"},
    "site": BASE | {"report", "workflows"},
    "doctor": BASE | {"data", "params", "runtime", "lineage", "planning", "workflows"},
    "api": CORE | {"params.checking"},
}
TOP = {"commands"}
# only these import what they wrap: files, or folders of them
SOLE_IMPORTERS = {
    "ray": {
        "runtime/ray_cluster.py",
        "runtime/ray_executor.py",
        "runtime/ray_tasks.py",
        "doctor/nodes.py",
    },
    "fsspec": {"runtime/remote.py"},
    "orbax": {"runtime/checkpoints.py", "cells/checkpoint.py"},
    "neural_tangents": {"kernels/_neural_tangents.py"},
    "rich": {"runtime/progress.py"},
    "onnx": {"export/onnx.py"},
    "PIL": {"data/images.py"},
    "pydantic": {"params"},
    "dvc": {"lineage"},
}


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    """Dotted names that a file imports, anywhere in it."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            names |= {one.value for one in node.args if isinstance(one, ast.Constant)}
    return names


def part(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_within(name: str, allowed: set[str]) -> bool:
    return any(name == one or name.startswith(f"{one}.") for one in allowed)


FILES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_layers_point_downwards(path):
    if part(path) in TOP:
        return
    ours = {name.removeprefix("awt.") for name in imports(path) if name.startswith("awt.")}
    above = {name for name in ours if not is_within(name, MAY_IMPORT[part(path)] | {part(path), "__version__"})}
    assert above == set()


def test_nothing_imports_what_users_type():
    for path in FILES:
        assert part(path) in TOP or not any(is_within(name, {f"awt.{one}" for one in TOP}) for name in imports(path)), (
            path
        )


@pytest.mark.parametrize("package", SOLE_IMPORTERS)
def test_wrapped_libraries_have_one_importer(package):
    importers = {
        path.relative_to(SOURCE) for path in FILES if package in {name.split(".")[0] for name in imports(path)}
    }
    known = SOLE_IMPORTERS[package]
    assert {str(one) for one in importers if str(one) not in known and one.parts[0] not in known} == set()


def strings(path: Path) -> list[str]:
    """The strings of a file that are values: docstrings and other words that are dropped are none."""
    tree = tree_of(path)
    dropped = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    constants = [node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in dropped]
    return [node.value for node in constants if isinstance(node.value, str)]


def test_only_lineage_reads_dvc_s_files():
    """And `awt new` writes one. Sentences for people may name them."""
    name = re.compile(r"(^|[\w./]*/)dvc\.(yaml|lock)$")
    namers = {path.relative_to(SOURCE) for path in FILES if any(name.search(one) for one in strings(path))}
    assert {str(one) for one in namers if one.parts[0] != "lineage"} <= {"commands/new.py"}
    assert namers


def test_packages_import_nothing_when_they_are_imported():
    """Else one attack, say, would drag in all others, and change with them. A report is one page; no cell has it."""
    for path in SOURCE.rglob("__init__.py"):
        imported = [node for node in tree_of(path).body if isinstance(node, ast.Import | ast.ImportFrom)]
        names = {alias.name for node in imported for alias in node.names}
        lazy = {"importlib", "Any"} if path == SOURCE / "__init__.py" else set()
        assert names <= lazy or path.parent.name == "reporting", path


def test_the_runtime_compares_no_clocks():
    """Machines' clocks differ: durations are by a process's own monotonic clock, times of day are for people."""
    for path in (SOURCE / "runtime").rglob("*.py"):
        assert not re.search(r"time\.time\(|datetime", path.read_text()), path


@pytest.mark.parametrize("script", STAGES, ids=lambda path: path.name)
def test_stage_scripts_are_thin(script):
    assert len(script.read_text().splitlines()) <= 15


def run(code: str, folder: Path = PROJECT, source: Path = SOURCE.parent) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{source}{os.pathsep}{folder}", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_the_package_alone_imports_next_to_nothing():
    told = run("import sys, awt; print({'jax', 'numpy', 'pandas', 'pydantic', 'ray'} & set(sys.modules))")
    assert told == "set()"


IDLE = """
from jax._src import xla_bridge
print(xla_bridge._backends, 'ray' in sys.modules)
"""


@pytest.mark.parametrize("script", STAGES, ids=lambda path: path.name)
def test_stage_scripts_start_no_device(script):
    """Ray must come before JAX's devices in a process, and a stage with every cell in the store waits for neither."""
    assert run(f"import runpy, sys\nrunpy.run_path({str(script)!r})" + IDLE) == "{} False"


def test_workflows_and_all_that_parameters_can_name_start_no_device():
    told = run(
        """
        import sys
        import awt.planning.forecast, awt.commands.main, awt.doctor.examine, awt.lineage.verify
        from awt.attacks import registry as attacks
        from awt.loading import load
        from awt.models.architecture import architecture
        from awt.models.registry import NETWORKS
        from awt.tickets.method import method
        from awt.tickets.registry import METHODS
        from awt.workflows.registry import WORKFLOWS
        from awt.workflows.workflow import workflow
        from awt.workflows.experiment import experiment

        for name in WORKFLOWS:
            for stage in workflow(name).stages:
                stage.function()
        for reference in METHODS.values():
            method(reference)
        for reference in NETWORKS.values():
            architecture(reference)
        for name in attacks.ATTACKS:
            attacks.resolved(name, {})
        asked = experiment()
        asked.workflow.effective(asked.params)
        """
        + textwrap.indent(IDLE, " " * 8)
    )
    assert told == "{} False"


@pytest.fixture
def library(tmp_path: Path) -> Callable[..., Path]:
    """A copy of awt with one more file and one more line in a registry; returns the folder to import it from."""

    def make(file: str, text: str, registry: str, before: str, line: str) -> Path:
        shutil.copytree(SOURCE, tmp_path / "src" / "awt", ignore=shutil.ignore_patterns("__pycache__"))
        (tmp_path / "src" / "awt" / file).write_text(textwrap.dedent(text))
        path = tmp_path / "src" / "awt" / registry
        whole = path.read_text()
        assert whole.count(before) == 1
        path.write_text(whole.replace(before, f"{line}\n{before}"))
        return tmp_path / "src"

    return make


@pytest.fixture
def files(tmp_path: Path, dataset_npz: bytes, build_network: Callable[..., Network]) -> Path:
    """What cells read: a data set, initial weights, a trained network."""
    (tmp_path / "dataset.npz").write_bytes(dataset_npz)
    weights = encode_weights(build_network("mlp").initialise(0))
    (tmp_path / "initial.npz").write_bytes(weights)
    return tmp_path


def test_a_new_method_is_one_file_and_one_line(library, files):
    """Its options are checked with the parameters, and the cell finds its mask."""
    source = library(
        "tickets/mine.py",
        '''
        """Keeps the smallest weights, each scaled."""

        from awt.options import options
        from awt.tickets.masks import magnitudes, select
        from awt.tickets.method import Method, Scoped
        from awt.tickets.setting import Setting, Ticket


        @options
        class Options(Scoped):
            scale: float = 1.0


        def mine(setting: Setting, options: Options) -> Ticket:
            scores = {name: -options.scale * size for name, size in magnitudes(setting.initial).items()}
            return Ticket(select(scores, setting.kept(options.scope)))


        METHOD = Method(mine, Options)
        ''',
        "tickets/registry.py",
        '    "random": ',
        '    "mine": "awt.tickets.mine:METHOD",',
    )
    told = run(
        """
        import numpy as np
        from pathlib import Path
        from awt.cells.mask import find_mask
        from awt.errors import InputError
        from awt.loop import UNWATCHED
        from awt.models.network import decode_mask, decode_weights
        from awt.options import as_json
        from awt.runtime.cell import Cell
        from awt.workflows.tickets.params import Tickets, recipe

        def ask(**options):
            own, shared = {"mine": options}, {"scope": "layer", "batch": 64}
            return recipe(Tickets(methods=("mine",), densities=(0.3,), shared=shared, recipes=own), "mine")

        asked = ask(scale=2.0)
        print(asked.reference, as_json(asked.options), asked.method.flops(asked.options, 0.1, None))
        for wrong in ({"scale": "large"}, {"scales": 1.0}):
            try:
                ask(**wrong)
            except InputError as error:
                print(error)
        model = {"name": "awt.models.mlp:MLP", "widths": [6, 5], "init": "glorot"}
        params = {"method": asked.reference, "options": as_json(asked.options), "density": 0.3, "seed": 0}
        params["model"] = model
        inputs = {name: Path(f"{name}.npz").read_bytes() for name in ("dataset", "initial")}
        mask = decode_mask(find_mask(params, inputs, UNWATCHED)["mask.npz"], "mask")
        for name, layer in decode_weights(inputs["initial"], "initial").items():
            size, kept = np.abs(layer["kernel"]), np.asarray(mask[name])
            assert size[kept].max() <= size[~kept].min()
        modules = Cell("mask", "", "awt.cells.mask:find_mask", params).code.modules
        print("awt.tickets.mine" in modules, "awt.tickets.snip" in modules)
        """,
        files,
        source,
    ).splitlines()
    assert told == [
        "awt.tickets.mine:METHOD {'scope': 'layer', 'scale': 2.0} 0.0",
        'tickets.recipes.mine.scale: input should be a valid number (got "large")',
        "tickets.recipes.mine.scales: unknown key; did you mean `scale`?",
        "True False",
    ]


def test_a_new_attack_is_one_file_and_one_line(library, files):
    source = library(
        "attacks/mine.py",
        '''
        """Adds a shade of grey to each image."""

        from dataclasses import dataclass

        import jax

        from awt.attacks.attacker import Points, in_turn
        from awt.attacks.ball import Ball
        from awt.attacks.objectives import Logits


        @dataclass(frozen=True)
        class Grey:
            shade: float = 1.0
            name: str = "grey"

            norms = ("linf",)

            def tries(self, classes: int) -> list[int | None]:
                return in_turn(0, 1, classes)

            def __call__(self, logits: Logits, ball: Ball, points: Points) -> jax.Array:
                return points.x + self.shade * ball.eps
        ''',
        "attacks/registry.py",
        '    "deepfool": ',
        '    "grey": Known("awt.attacks.mine:Grey", {}, ("shade",)),',
    )
    told = run(
        """
        import numpy as np
        from pathlib import Path
        from awt.artifacts import decode_npz
        from awt.attacks import registry
        from awt.cells.attack import attack
        from awt.errors import InputError
        from awt.loop import UNWATCHED
        from awt.runtime.cell import Cell

        registry.check(("grey", "autoattack"), {"grey": {"shade": 3}})
        try:
            registry.check(("grey",), {"grey": {"colour": 3}})
        except InputError as error:
            print(error)
        reference, settings = registry.resolved("grey", {"shade": 3})
        print(reference, settings)
        params = {
            "model": {"name": "awt.models.mlp:MLP", "widths": [6, 5], "init": "glorot"},
            "threat": {"norm": "linf", "eps": 0.5, "eps_unit": "pixel", "clip": True},
            "attack": reference,
            "settings": settings,
            "number": 0,
            "points": [0, 15],
            "seed": 0,
        }
        inputs = {"dataset": Path("dataset.npz").read_bytes(), "model": Path("initial.npz").read_bytes()}
        points = decode_npz(attack(params, inputs, UNWATCHED)["points.npz"], "points.npz")
        assert set(points["by"]) <= {-2, -1, 0}
        modules = Cell("evaluate", "", "awt.cells.attack:attack", params).code.modules
        print("awt.attacks.mine" in modules, "awt.attacks.square" in modules)
        """,
        files,
        source,
    ).splitlines()
    assert told == [
        "evaluate.attacks.grey.colour: unknown key; allowed: shade",
        "awt.attacks.mine:Grey {'shade': 3, 'name': 'grey'}",
        "True False",
    ]


def test_the_lock_file_pins_versions_without_addresses():
    lines = (PROJECT / "requirements.lock").read_text().splitlines()
    assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in lines)
    names = {line.split("==")[0].lower() for line in lines}
    assert not names & {"tensorflow", "keras", "tf2jax"}


@pytest.mark.parametrize("script", STAGES, ids=lambda path: path.name)
def test_no_script_takes_the_place_of_a_module_of_python(script):
    """A script's folder comes first on sys.path: what imports the standard library's module would get the script."""
    assert script.stem not in sys.stdlib_module_names
