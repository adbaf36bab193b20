"""What an edit computes again: exactly the cells that it touches, and with the store the same bytes as without it.

Each edit is made in a copy of a finished tiny experiment; then a real `dvc repro` runs. The run records say which cells
were computed. Afterwards all stages run again with an empty store: every file must be the same.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

COMPUTING = ("kernel", "mask", "retrain", "evaluate")
OWN_METHOD = '''
"""A method of the user's own: the first weights of each layer."""

import jax.numpy as jnp

from awt.tickets.masks import select
from awt.tickets.setting import Setting, Ticket

SIGN = -1.0


def first_weights(setting: Setting) -> Ticket:
    scores = {
        name: (SIGN * jnp.arange(1.0, 1.0 + layer["kernel"].size)).reshape(layer["kernel"].shape)
        for name, layer in setting.initial.items()
    }
    return Ticket(select(scores, setting.kept("layer")))
'''
NEW_METHOD = '''
"""Zero everywhere but at the first weights."""

from awt.tickets.magnitude import magnitude
from awt.tickets.method import Method

METHOD = Method(magnitude)
'''

Tags = dict[str, Any]


class Edit(NamedTuple):
    """A change of code or parameters, and which cells it touches, by their function's name and tags."""

    make: Callable[[Any], None]
    touches: Callable[[str, Tags], bool]


def code(file: str, before: str, after: str) -> Callable[[Any], None]:
    def make(workspace: Any) -> None:
        path = workspace.path / file
        text = path.read_text()
        assert text.count(before) == 1, f"{file} has {text.count(before)} times {before!r}"
        path.write_text(text.replace(before, after))

    return make


def params(values: dict[str, Any]) -> Callable[[Any], None]:
    return lambda workspace: workspace.edit(values)


def add_method(workspace: Any) -> None:
    (workspace.path / "src/awt/tickets/early.py").write_text(NEW_METHOD)
    code("src/awt/tickets/registry.py", '    "grasp":', '    "early": "awt.tickets.early:METHOD",\n    "grasp":')(
        workspace
    )


def nothing(function: str, tags: Tags) -> bool:
    return False


def everything(function: str, tags: Tags) -> bool:
    return True


def attacks(*names: str) -> Callable[[str, Tags], bool]:
    return lambda function, tags: tags.get("attack") in names


def of_method(name: str) -> Callable[[str, Tags], bool]:
    """The mask of a method, and all that comes of it: its training, its attacks, its kernels."""
    return lambda function, tags: tags.get("method") == name


def all_training(function: str, tags: Tags) -> bool:
    return function == "retrain" or "attack" in tags or tags.get("when") == "trained"


EDITS = {
    "a suite's definition": Edit(
        code("src/awt/attacks/registry.py", '"quick": ("pgd20", "apgd-dlr")', '"quick": ("pgd20", "apgd-ce")'),
        attacks("apgd-ce"),
    ),
    "a default that params.yaml leaves out": Edit(
        code("src/awt/workflows/tickets/params.py", "chunk_points: Positive = 512", "chunk_points: Positive = 150"),
        attacks("pgd20", "apgd-dlr", "square"),
    ),
    "a JAX setting": Edit(
        code(
            "src/awt/runtime/cell.py",
            '"jax_default_matmul_precision": None',
            '"jax_default_matmul_precision": "highest"',
        ),
        everything,
    ),
    "code of the Square attack": Edit(
        code("src/awt/attacks/square.py", "share: float = 0.8", "share: float = 0.5"), attacks("square")
    ),
    "a comment in the Square attack": Edit(
        code("src/awt/attacks/square.py", "SHRINKS = (", "# when squares shrink\nSHRINKS = ("), nothing
    ),
    "a new method and its registry line": Edit(add_method, nothing),
    "an option of one method": Edit(params({"tickets.recipes.random": {"scope": "layer"}}), of_method("random")),
    "the linter's version in requirements.lock": Edit(
        lambda workspace: (workspace.path / "requirements.lock").write_text(
            (workspace.path / "requirements.lock").read_text().replace("ruff==", "ruff==9.")
        ),
        nothing,
    ),
    "progress.py": Edit(code("src/awt/runtime/progress.py", "PLACES_SECONDS = 60.0", "PLACES_SECONDS = 61.0"), nothing),
    "the user's own method": Edit(code("own.py", "SIGN = -1.0", "SIGN = 1.0"), of_method("first")),
    "the base of the experiment": Edit(lambda workspace: _edit_base(workspace, {"retrain.epochs": 3}), all_training),
}
QUICK = ("code of the Square attack", "a default that params.yaml leaves out", "the user's own method")


def _edit_base(workspace: Any, values: dict[str, Any]) -> None:
    experiment, workspace.experiment = workspace.experiment, "."
    workspace.edit(values)
    workspace.experiment = experiment


@pytest.fixture(scope="module")
def based(fresh: Callable[[], Any]) -> Any:
    """An experiment that differs from its base in the suites, with a method of the user's own, finished."""
    workspace = fresh()
    (workspace.path / "own.py").write_text(OWN_METHOD)
    workspace.edit(
        {
            "tickets.methods": ["random", "first", "dense"],
            "tickets.recipes": {"first": {"method": "own:first_weights"}, "random": {}},
            "tickets.densities": [0.3],
            "retrain.epochs": 2,
            "data.train_limit": 128,
        }
    )
    _drop_lines(workspace.path / "params.yaml", "chunk_points")
    folder = workspace.path / "pipelines" / "tried"
    folder.mkdir()
    (folder / "params.yaml").write_text(
        "root: ../..\nbase: ../..\nevaluate: {suites: [quick, square], points: 200, attacks: {pgd20: {steps: 3}, "
        "apgd-dlr: {steps: 5}, apgd-ce: {steps: 5}, square: {queries: 20}}}\n"
    )
    (folder / "dvc.yaml").symlink_to("../../dvc.yaml")
    workspace.experiment = "pipelines/tried"
    workspace.dvc("repro", "dvc.yaml")
    return workspace


def _drop_lines(path: Path, word: str) -> None:
    path.write_text("\n".join(line for line in path.read_text().splitlines() if word not in line) + "\n")


def _cells(workspace: Any) -> dict[str, dict[str, Any]]:
    cells = [cell for stage in COMPUTING for cell in workspace.record(stage)["cells"]["cells"]]
    return {cell["key"]: cell for cell in cells}


def _function(workspace: Any, key: str) -> str:
    from awt.artifacts import read_json

    return read_json(workspace.work / key / "cell.json")["function"].rpartition(":")[2]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.slow]) for name in EDITS]
)
def test_an_edit_computes_what_it_touches_and_nothing_else(
    name: str,
    based: Any,
    copy_of: Callable[[Any], Any],
    record_property: Callable[[str, object], None],
) -> None:
    edit, workspace = EDITS[name], copy_of(based)
    before = _cells(workspace)
    edit.make(workspace)
    workspace.dvc("repro", "dvc.yaml")

    after = _cells(workspace)
    computed = {key for key, cell in after.items() if key not in before}
    touched = {key for key, cell in after.items() if edit.touches(_function(workspace, key), cell["tags"])}
    record_property(name, f"{len(computed)} of {len(after)} cells")
    assert {after[key]["label"] for key in computed} == {after[key]["label"] for key in touched}

    with_store = workspace.results()
    shutil.rmtree(workspace.path / ".awt")
    for stage in ("code", "prepare", *COMPUTING, "report"):
        done = workspace.stage(stage)
        assert done.returncode == 0, done.stdout + done.stderr
    assert workspace.results() == with_store
