"""The first stage of every workflow: it writes the digest of the code behind each other one, and effective parameters.

DVC runs it always, for it takes no time, and has the other stages depend on what it writes: on a stage's digest and on
the sections of parameters that the stage reads. So a late fix makes stale what it touches, and nothing else.
"""

from collections.abc import Mapping
from typing import Any

from awt.artifacts import encode_json
from awt.loading import references
from awt.runtime.cell import JAX_SETTINGS
from awt.runtime.code import code_of, digest, is_own, named_in
from awt.workflows.experiment import Experiment
from awt.workflows.workflow import CODE, EFFECTIVE, Stage


def settle(asked: Experiment) -> dict[str, bytes]:
    """The files of the stage."""
    values = asked.workflow.effective(asked.params)
    digests = {stage.name: digest(stage_code(stage, values)) for stage in asked.workflow.stages}
    return {CODE: encode_json(digests), EFFECTIVE: encode_json(values)}


def stage_code(stage: Stage, effective: Mapping[str, Any]) -> dict[str, object]:
    """The code of a stage, its driver's and its cells'; and the numeric settings that every cell has."""
    functions = {stage.run} | functions_of(stage, effective)
    return {**code_of(functions).as_json(), "jax": dict(JAX_SETTINGS)}


def functions_of(stage: Stage, effective: Mapping[str, Any]) -> set[str]:
    """The functions of cells that a stage's driver names, and the code that the stage's parameters name."""
    functions = {
        name for key in stage.params for name in references(value_at(effective, key)) if is_own(name.partition(":")[0])
    }
    for module in code_of([stage.run]).modules:
        if not module.endswith(".registry"):  # whose strings are choices of users, which parameters name
            functions |= named_in(module)
    return functions


def value_at(values: Mapping[str, Any], key: str) -> Any:
    """What a dotted key leads to."""
    found: Any = values
    for part in key.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
