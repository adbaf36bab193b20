"""An answer as an RO-Crate of the profile Provenance Run Crate 0.5 (of the Workflow Run RO-Crate collection).

The crate has the pipeline, its parameters, dvc.lock, the run records and the file asked about; all other files are
named by their digests (RFC 6920: ni:///sha-256;…), so that a crate stays small.
"""

import base64
from pathlib import Path
from typing import Any

from awt.artifacts import encode_json
from awt.lineage.pipeline import is_record
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

Entity = dict[str, Any]


def files(found: dict[str, Any], snapshot: Snapshot) -> dict[str, bytes | Path]:
    """The crate's files by name, its description among them."""
    inside: dict[str, bytes | Path] = {name: snapshot.folder / name for name in ("dvc.yaml", "dvc.lock", "params.yaml")}
    names = [out for step in found["steps"] for out in step["outputs"] if is_record(out)]
    names += [found["file"]["path"]] if found["file"] else []
    inside |= {name: data for name in names if (data := snapshot.read(name)) is not None}
    return inside | {METADATA: encode_json({"@context": _CONTEXT, "@graph": _graph(found, set(inside))})}


def belongs(name: str) -> bool:
    """Whether something at the top of a crate is a crate's."""
    return name in ("dvc.yaml", "dvc.lock", "params.yaml", "artifacts", "report")


def _graph(found: dict[str, Any], inside: set[str]) -> list[Entity]:
    steps = list(reversed(found["steps"]))  # from the raw data on
    data = _files(found, inside)
    ended = max((step["ended"] for step in steps if step["ended"]), default=None)
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": f"Lineage of {found['target']}",
        "description": f"What {found['target']} came from, to the raw data; written by awt",
        "datePublished": ended,
        "license": _ref("https://spdx.org/licenses/MIT"),
        "conformsTo": [_ref(name) for name in _PROFILES],
        "mainEntity": _ref(_WORKFLOW),
        "hasPart": [_ref(name) for name in [_WORKFLOW, *data]],
        "mentions": [_ref("#run"), *(_ref(f"#run-{step['stage']}") for step in steps)],
    }
    described = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "conformsTo": _ref("https://w3id.org/ro/crate/1.1"),
        "about": _ref("./"),
    }
    profiles = [
        {"@id": name, "@type": "CreativeWork", "name": title, "version": name.rpartition("/")[2]}
        for name, title in _PROFILES.items()
    ]
    licence = {"@id": "https://spdx.org/licenses/MIT", "@type": "CreativeWork", "name": "MIT License"}
    runs = [entity for number, step in enumerate(steps) for entity in _step(step, number, data)]
    return [described, root, licence, *profiles, *_workflow(found, steps, data), *runs, *data.values()]


def _workflow(found: dict[str, Any], steps: list[Entity], data: dict[str, Entity]) -> list[Entity]:
    asked = found["file"]["path"] if found["file"] else None
    version = next((step["versions"]["dvc"] for step in steps if step["versions"]), None)
    return [
        {
            "@id": _WORKFLOW,
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"],
            "name": "The pipeline",
            "programmingLanguage": _ref(_LANGUAGE),
            "hasPart": [_ref(f"#stage-{step['stage']}") for step in steps],
            "step": [_ref(f"#step-{step['stage']}") for step in steps],
        },
        {"@id": _LANGUAGE, "@type": "ComputerLanguage", "name": "DVC pipeline", "url": _LANGUAGE},
        {"@id": _ENGINE, "@type": "SoftwareApplication", "name": "DVC", "softwareVersion": version},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"The run behind {found['target']}",
            "instrument": _ref(_WORKFLOW),
            "object": [_ref("params.yaml")],
            "result": [_ref(asked)] if asked in data else [],
            "startTime": min((step["began"] for step in steps if step["began"]), default=None),
            "endTime": max((step["ended"] for step in steps if step["ended"]), default=None),
        },
        {
            "@id": "#orchestration",
            "@type": "OrganizeAction",
            "name": "DVC's run of the stages",
            "instrument": _ref(_ENGINE),
            "object": [_ref(f"#control-{step['stage']}") for step in steps],
            "result": _ref("#run"),
        },
    ]


def _step(step: dict[str, Any], number: int, data: dict[str, Entity]) -> list[Entity]:
    name = step["stage"]
    read, wrote = (
        [_ref(_name(path, sha, data)) for path, sha in step["sha256"][kind].items()] for kind in ("inputs", "outputs")
    )
    records = [_ref(path) for path in step["outputs"] if is_record(path) and path in data]
    values = [
        {
            "@id": f"#{name}-{key}",
            "@type": "PropertyValue",
            "name": key,
            "value": "none" if value is None else str(value),
        }
        for key, value in step["params"].items()
    ]
    state = step["git"] or {}
    return [
        {
            "@id": f"#stage-{name}",
            "@type": "SoftwareApplication",
            "name": name,
            "version": state.get("revision"),
            "softwareRequirements": [f"{package} {version}" for package, version in (step["versions"] or {}).items()],
        },
        {"@id": f"#step-{name}", "@type": "HowToStep", "position": str(number), "workExample": _ref(f"#stage-{name}")},
        {
            "@id": f"#control-{name}",
            "@type": "ControlAction",
            "instrument": _ref(f"#step-{name}"),
            "object": _ref(f"#run-{name}"),
        },
        {
            "@id": f"#run-{name}",
            "@type": "CreateAction",
            "name": step["command"],
            "identifier": step["run"],
            "instrument": _ref(f"#stage-{name}"),
            "startTime": step["began"],
            "endTime": step["ended"],
            "object": [*read, *(_ref(value["@id"]) for value in values)],
            "result": [*wrote, *records],
        },
        *values,
    ]


def _files(found: dict[str, Any], inside: set[str]) -> dict[str, Entity]:
    """Those in the crate by their path, then the others by their digest."""
    entities = {name: {"@id": name, "@type": "File", "name": name} for name in sorted(inside - {_WORKFLOW})}
    for step in found["steps"]:
        for path, sha in [*step["sha256"]["inputs"].items(), *step["sha256"]["outputs"].items()]:
            name = _name(path, sha, entities)
            entities.setdefault(name, {"@id": name, "@type": "File", "name": path})["sha256"] = sha
    return entities


def _name(path: str, sha256: str, inside: dict[str, Entity]) -> str:
    if path in inside:
        return path
    return f"ni:///sha-256;{base64.urlsafe_b64encode(bytes.fromhex(sha256)).decode().rstrip('=')}"


def _ref(name: str | None) -> Entity:
    return {"@id": name}
