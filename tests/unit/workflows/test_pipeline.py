"""dvc.yaml is what its workflow says."""

from pathlib import Path

from awt.lineage.pipeline import declared
from awt.workflows.pipeline import dvc_yaml
from awt.workflows.workflow import workflow

PROJECT = Path(__file__).parents[3]


def test_the_repositorys_is_the_tickets_workflows():
    assert (PROJECT / "dvc.yaml").read_text() == dvc_yaml(workflow("tickets"))


def test_it_declares_what_stages_read_and_write():
    stages = declared(PROJECT)
    assert list(stages) == [stage.name for stage in workflow("tickets").stages]
    for stage in workflow("tickets").stages:
        assert set(stages[stage.name].inputs) == set(stage.reads)
        assert set(stages[stage.name].outs) == set(stage.every_out)
