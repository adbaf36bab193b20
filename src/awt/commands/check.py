"""`awt check`: finds what a stage would refuse; `dvc repro` removes a stage's outs before its command can."""

import argparse
import io
from typing import Any

from ruamel.yaml import YAML

from awt.artifacts import read_json
from awt.options import as_json
from awt.workflows.experiment import experiment
from awt.workflows.workflow import ARTIFACTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--show", action="store_true", help="print all parameters as they count: of the file, its bases, the defaults"
    )


def check(arguments: argparse.Namespace) -> None:
    """Validates the experiment's parameters, and shows the whole of them if asked."""
    asked = experiment()
    runtime, values = as_json(asked.runtime), asked.workflow.effective(asked.params)
    asked.store()
    described = asked.folder / ARTIFACTS / "data" / "dataset.json"
    if asked.workflow.check is not None and described.exists():
        asked.workflow.check(asked.params, read_json(described))
    if not arguments.show:
        print("params.yaml is valid")
        return
    print("# what the stages depend on, with everything filled in that a base, a default or a short name decides")
    print(_yaml({"workflow": asked.params.workflow, **values}))
    print("# how it runs: no stage depends on it")
    print(_yaml({"runtime": runtime}), end="")


def _yaml(values: dict[str, Any]) -> str:
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = None  # the innermost mappings and lists on a line each
    yaml.width = 120
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    text = io.StringIO()
    yaml.dump(values, text)
    return text.getvalue()
