"""An answer as an RO-Crate of the profile Provenance Run Crate 0.5 (of the Workflow Run RO-Crate collection).

The crate has the pipeline, its parameters, dvc.lock, the run records and the file asked about; all other files are
named by their digests (RFC 6920: ni:///sha-256;…), so that a crate stays small.
"""

import base64
from pathlib import Path
from typing import Any

from awt.artifacts import encode_json
from awt.lineage.pipeline import EFFECTIVE, is_record
from awt.lineage.snapshot import Snapshot

METADATA = "ro-crate-metadata.json"
_CONTEXT = ["https://w3id.org/ro/crate/1.1/context", "https://w3id.org/ro/terms/workflow-run/context"]
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_WORKFLOW, _ENGINE, _LANGUAGE = "dvc.yaml", "#dvc", "https://dvc.org/"
_LICENCE = "https://spdx.org/licenses/MIT"

Entity = dict[str, Any]


def files(told: dict[str, Any], snapshot: Snapshot) -> dict[str, bytes | Path]:
    """The crate's files by name, its description among them."""
    inside: dict[str, bytes | Path] = {name: snapshot.folder / name for name in ("dvc.yaml", "dvc.lock", "params.yaml")}
    names = [out for step in told["steps"] for out in step["outputs"] if is_record(out)]
    names += [EFFECTIVE, *([told["file"]["path"]] if told["file"] else [])]
    inside |= {name: data for name in names if (data := snapshot.read(name)) is not None}
    return inside | {METADATA: encode_json({"@context": _CONTEXT, "@graph": _graph(told, set(inside))})}


def belongs(name: str) -> bool:
    """Whether something at the top of a crate is a crate's."""
    return name in ("dvc.yaml", "dvc.lock", "params.yaml", "artifacts", "report")


def _graph(told: dict[str, Any], inside: set[str]) -> list[Entity]:
    steps = list(reversed(told["steps"]))  # from the raw data on
    stages = [step["stage"] for step in steps]
    data = _files(told, inside)
    target, asked = told["target"], told["file"]["path"] if told["file"] else None
    began = min((step["began"] for step in steps if step["began"]), default=None)
    ended = max((step["ended"] for step in steps if step["ended"]), default=None)
    version = next((step["versions"]["dvc"] for step in steps if step["versions"]), None)
    controls = _refs(f"#control-{stage}" for stage in stages)
    kinds = ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"]
    root = {
        "description": f"What {target} came from, to the raw data; written by awt",
        "datePublished": ended,
        "license": _ref(_LICENCE),
        "conformsTo": _refs(_PROFILES),
        "mainEntity": _ref(_WORKFLOW),
        "hasPart": _refs([_WORKFLOW, *data]),
        "mentions": _refs(["#run", *(f"#run-{stage}" for stage in stages)]),
    }
    pipeline = {
        "programmingLanguage": _ref(_LANGUAGE),
        "hasPart": _refs(f"#stage-{stage}" for stage in stages),
        "step": _refs(f"#step-{stage}" for stage in stages),
    }
    run = {
        "instrument": _ref(_WORKFLOW),
        "object": _refs(name for name in ("params.yaml", EFFECTIVE) if name in data),
        "result": _refs(name for name in [asked] if name in data),
        "startTime": began,
        "endTime": ended,
    }
    engine = {"instrument": _ref(_ENGINE), "object": controls, "result": _ref("#run")}
    return [
        _entity(METADATA, "CreativeWork", conformsTo=_ref("https://w3id.org/ro/crate/1.1"), about=_ref("./")),
        _entity("./", "Dataset", f"Lineage of {target}", **root),
        _entity(_LICENCE, "CreativeWork", "MIT License"),
        *(_entity(one, "CreativeWork", title, version=one.rpartition("/")[2]) for one, title in _PROFILES.items()),
        _entity(_WORKFLOW, kinds, "The pipeline", **pipeline),
        _entity(_LANGUAGE, "ComputerLanguage", "DVC pipeline", url=_LANGUAGE),
        _entity(_ENGINE, "SoftwareApplication", "DVC", softwareVersion=version),
        _entity("#run", "CreateAction", f"The run behind {target}", **run),
        _entity("#orchestration", "OrganizeAction", "DVC's run of the stages", **engine),
        *(entity for number, step in enumerate(steps) for entity in _step(step, number, data)),
        *data.values(),
    ]


def _step(step: dict[str, Any], number: int, data: dict[str, Entity]) -> list[Entity]:
    stage = step["stage"]
    read, wrote = (
        [_name(path, sha, data) for path, sha in step["sha256"][kind].items()] for kind in ("inputs", "outputs")
    )
    values = [
        _entity(f"#{stage}-{key}", "PropertyValue", key, value="none" if value is None else str(value))
        for key, value in step["params"].items()
    ]
    versions = step["versions"] or {}
    application = {
        "version": (step["git"] or {}).get("revision"),
        "softwareRequirements": [f"{package} {version}" for package, version in versions.items()],
    }
    run = {
        "identifier": step["run"],
        "instrument": _ref(f"#stage-{stage}"),
        "startTime": step["began"],
        "endTime": step["ended"],
        "object": _refs([*read, *(value["@id"] for value in values)]),
        "result": _refs([*wrote, *(path for path in step["outputs"] if is_record(path) and path in data)]),
    }
    control = {"instrument": _ref(f"#step-{stage}"), "object": _ref(f"#run-{stage}")}
    return [
        _entity(f"#stage-{stage}", "SoftwareApplication", stage, **application),
        _entity(f"#step-{stage}", "HowToStep", position=str(number), workExample=_ref(f"#stage-{stage}")),
        _entity(f"#control-{stage}", "ControlAction", None, **control),
        _entity(f"#run-{stage}", "CreateAction", step["command"], **run),
        *values,
    ]


def _files(told: dict[str, Any], inside: set[str]) -> dict[str, Entity]:
    """Those in the crate by their path, then the others by their digest."""
    entities = {name: _entity(name, "File", name) for name in sorted(inside - {_WORKFLOW})}
    for step in told["steps"]:
        for path, sha in [*step["sha256"]["inputs"].items(), *step["sha256"]["outputs"].items()]:
            name = _name(path, sha, entities)
            entities.setdefault(name, _entity(name, "File", path))["sha256"] = sha
    return entities


def _name(path: str, sha256: str, inside: dict[str, Entity]) -> str:
    if path in inside:
        return path
    return f"ni:///sha-256;{base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode().rstrip('=')}"


def _entity(identity: str, kind: str | list[str], name: str | None = None, **values: Any) -> Entity:
    return {"@id": identity, "@type": kind, **({} if name is None else {"name": name}), **values}


def _ref(name: str) -> Entity:
    return {"@id": name}


def _refs(names: Any) -> list[Entity]:
    return [_ref(name) for name in names]
