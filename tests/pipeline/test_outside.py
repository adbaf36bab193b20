"""A workflow that no file of awt knows: its module, scripts, dvc.yaml and params.yaml in a folder of the user's own."""

import json
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from awt.artifacts import read_json

FLOW = Path(__file__).parent / "outside" / "flow.py"
SCRIPT = "import sys\n\nfrom awt.workflows.running import main\n\nsys.exit(main({name!r}))\n"


@pytest.fixture(scope="module")
def outside(fresh: Callable[[], Any]) -> Any:
    """The workflow in a folder beside awt's own experiments, not run yet."""
    workspace = fresh()
    folder = workspace.path / "pipelines" / "powers"
    (folder / "stages").mkdir(parents=True)
    shutil.copy(FLOW, folder / "flow.py")
    for script, stage in (("settle", "code"), ("powers", "powers"), ("report", "report")):
        (folder / "stages" / f"{script}.py").write_text(SCRIPT.format(name=stage))
    (folder / "params.yaml").write_text("root: ../..\nworkflow: flow:WORKFLOW\nnumbers: [2, 3, 5]\nexponent: 4\n")
    write = "from flow import WORKFLOW; from awt.workflows.pipeline import dvc_yaml; "
    write += "print(dvc_yaml(WORKFLOW, scripts='pipelines/powers/stages'), end='')"
    workspace.experiment = "pipelines/powers"
    made = workspace.command(sys.executable, "-c", write)
    assert made.returncode == 0, made.stderr
    (folder / "dvc.yaml").write_text(made.stdout)
    return workspace


@pytest.fixture(scope="module")
def ran(outside: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    workspace = outside.copy(tmp_path_factory.mktemp("outside") / "copy")
    workspace.dvc("repro", "dvc.yaml")
    return workspace


def awt(workspace: Any, *words: str) -> subprocess.CompletedProcess[str]:
    return workspace.command(sys.executable, "-c", "from awt.commands.main import main; main()", *words)


def test_it_is_small_and_awt_does_not_know_it():
    assert len(FLOW.read_text().splitlines()) <= 80
    source = Path(__file__).parents[2] / "src"
    assert not [path for path in source.rglob("*.py") if "flow:power" in path.read_text()]


def test_it_runs_and_computes_only_what_is_new(ran: Any, copy_of: Callable[[Any], Any]):
    assert read_json(ran.folder / "artifacts/powers.json") == {"2": 16.0, "3": 81.0, "5": 625.0}
    workspace = copy_of(ran)
    workspace.edit({"numbers": [3, 5, 7]})
    workspace.dvc("repro", "dvc.yaml")
    cells = workspace.record("powers")["cells"]
    assert (cells["computed"], cells["reused"]) == (1, 2)


def test_its_page_has_its_section(ran: Any):
    page = (ran.folder / "report/index.html").read_text()
    assert "<h2>Powers</h2>" in page
    assert "sum 722" in page


def test_its_parameters_are_checked(outside: Any, copy_of: Callable[[Any], Any]):
    workspace = copy_of(outside)
    workspace.edit({"exponent": 0})
    done = awt(workspace, "check")
    assert done.returncode == 2
    assert "exponent" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_is_planned(ran: Any, copy_of: Callable[[Any], Any]):
    workspace = copy_of(ran)
    workspace.edit({"numbers": [3, 5, 7]})
    planned = awt(workspace, "plan", "--json")
    assert planned.returncode == 0, planned.stderr
    stages = {stage["name"]: stage for stage in json.loads(planned.stdout)["stages"]}
    assert (stages["powers"]["cells"], stages["powers"]["stored"]) == (3, 2)


def test_its_lineage_holds_and_breaks(ran: Any, copy_of: Callable[[Any], Any]):
    done = awt(ran, "lineage", "artifacts/powers.json", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    answer = json.loads(done.stdout)
    assert answer["sound"]
    assert [step["stage"] for step in answer["steps"]] == ["powers"]
    workspace = copy_of(ran)
    (workspace.folder / "flow.py").write_text(FLOW.read_text().replace('"Powers"', '"The powers"'))
    assert awt(workspace, "lineage", "artifacts/powers.json").returncode == 1


def test_a_killed_cell_goes_on_where_it_was(outside: Any, copy_of: Callable[[Any], Any]):
    workspace = copy_of(outside)
    slow = FLOW.read_text().replace(
        "        return value\n", "        import time\n\n        time.sleep(0.05)\n        return value\n"
    )
    (workspace.folder / "flow.py").write_text(slow)
    workspace.edit({"numbers": [1], "exponent": 200, "runtime": {"executor": "serial", "checkpoint_seconds": 0}})
    process = workspace.start(sys.executable, "stages/powers.py")
    workspace.wait_for(lambda: len(workspace.checkpoints()) > 1, process)
    workspace.kill(process, signal.SIGKILL)
    done = workspace.command(sys.executable, "stages/powers.py")
    assert done.returncode == 0, done.stderr
    assert "resumed at step" in workspace.logs()
    assert read_json(workspace.folder / "artifacts/powers.json") == {"1": 1.0}
