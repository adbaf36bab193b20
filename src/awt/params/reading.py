"""From params.yaml to Params, or to an error that says everything that is wrong with it."""

import json
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from awt.errors import InputError
from awt.params.faults import describe
from awt.params.sections import Params


def load(path: Path = Path("params.yaml")) -> Params:
    """Reads and validates a params.yaml; every fault found is in one InputError."""
    try:
        raw = YAML(typ="safe", pure=True).load(path)  # the YAML 1.2 reading that DVC itself uses
    except FileNotFoundError:
        raise InputError(
            f"{path} not found in {Path.cwd()}: run from the folder of an experiment (it has a params.yaml)"
        ) from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except (YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not readable YAML: {' '.join(str(error).split())}") from None
    return parse(raw, str(path))


def parse(raw: Any, source: str) -> Params:
    """Validates parameters already read; `source` names them in errors."""
    if not isinstance(raw, dict):
        raise InputError(f"{source}: expected a mapping of parameters, got {type(raw).__name__}")
    try:
        # through JSON, where pydantic's strict mode takes lists for tuples
        return Params.model_validate_json(json.dumps(raw, default=str))
    except ValidationError as error:
        found = error.errors()
        inner = {fault["loc"][:-1] for fault in found}
        # a list with a bad item also counts as too short: only the item is worth a word
        faults = [
            describe(fault, Params) for fault in found if fault["type"] != "too_short" or fault["loc"] not in inner
        ]
    except (TypeError, ValueError) as error:
        faults = [str(error)]
    raise InputError(f"{source}: " + "; ".join(faults))
