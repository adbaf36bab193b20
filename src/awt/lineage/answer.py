"""The answer to "where did this come from?", as plain JSON values: every way of showing it starts from here."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from awt.artifacts import sha256
from awt.lineage.cells import Made
from awt.lineage.edges import Edge, breaks, check_cells, check_checkpoints, summary
from awt.lineage.hashes import DIR
from awt.lineage.repository import git
from awt.lineage.snapshot import Snapshot
from awt.lineage.targets import Target
from awt.lineage.verify import Verifier
from awt.runtime.store import Store

FORMAT_VERSION = 2
_RAN = ("run", "began", "ended", "seconds", "host", "executor", "platform", "git", "versions", "seeds", "retries")
_CELL = ("tags", "host", "device", "seconds", "finished", "run")


def steps_of(target: Target) -> list[str]:
    """The stages behind a target, its own first."""
    return target.snapshot.before(target.stage) if target.stage in target.snapshot.steps else []


def check(target: Target, store: Store, verifier: Verifier) -> list[Edge]:
    """Every edge between a target of the working tree and the raw data."""
    snapshot = target.snapshot
    stages = steps_of(target)
    outs = {path for stage in stages for path in snapshot.steps[stage].inputs}
    if target.path is not None:
        outs.add(snapshot.out_of(target.path) or target.path)
    edges = verifier.lineage(stages, outs) + check_cells(target.cells.behind(target.nearest), store)
    if target.kind in ("cell", "checkpoint"):
        edges += check_checkpoints(target.nearest[0].key, target.stage, store)
    return edges


def answer(target: Target, edges: list[Edge], experiment: str) -> dict[str, Any]:
    snapshot = target.snapshot
    behind = target.cells.behind(target.nearest) or list(target.nearest)
    return {
        "format_version": FORMAT_VERSION,
        "target": target.text,
        "kind": target.kind,
        "value": target.value,
        "experiment": snapshot.place,
        "revision": snapshot.revision,
        "file": _file(target),
        "sound": not breaks(edges) if edges else None,  # of a revision: not looked at
        "steps": [_step(snapshot, stage, behind, edges) for stage in steps_of(target)],
        "raw_data": snapshot.raw_data,
        "edges": [asdict(edge) for edge in edges],
        "verdict": summary(edges),
        "reproduce": reproduce(target, experiment),
    }


def _file(target: Target) -> dict[str, Any] | None:
    if target.path is None:
        return None
    md5 = target.snapshot.md5(target.path)
    data = None if md5 and md5.endswith(DIR) else target.snapshot.read(target.path)
    return {"path": target.path, "md5": md5, "sha256": sha256(data) if data is not None else None}


def _step(snapshot: Snapshot, stage: str, behind: list[Made], edges: Iterable[Edge]) -> dict[str, Any]:
    step, record = snapshot.steps[stage], snapshot.records.get(stage, {})
    cells = record.get("cells", {})
    every = cells.get("cells", [])
    return {
        "stage": stage,
        "command": step.command,
        "params": dict(step.params),
        "code": snapshot.code(stage) or {"digest": step.code, "modules": {}, "distributions": {}},
        "inputs": {path: {"md5": md5, "from": snapshot.makers.get(path)} for path, md5 in step.inputs.items()},
        "outputs": {path: {"md5": md5} for path, md5 in step.outs.items()},
        "sha256": {"inputs": record.get("inputs", {}), "outputs": record.get("outputs", {})},
        **{name: record.get(name) for name in _RAN},
        "parents": record.get("parents", {}),
        "nodes": sorted({str(cell["host"]) for cell in every if cell.get("host")}),
        "devices": sorted({str(cell["device"]) for cell in every if cell.get("device")}),
        "cells": {name: cells.get(name, 0) for name in ("computed", "reused", "retried")},
        "behind": [_cell(one) for one in behind if one.stage == stage],
        "edges": [asdict(edge) for edge in edges if edge.stage == stage],
    }


def _cell(one: Made) -> dict[str, Any]:
    return {
        "key": one.key,
        "label": one.label,
        "reused": one.noted.get("reused"),
        "state": one.noted.get("state", "done"),
        "in_store": one.entry is not None,
        **{name: one.noted.get(name, one.about.get(name)) for name in _CELL},
        "function": one.about.get("cell", {}).get("function"),
        "inputs": one.inputs,
        "files": dict(one.entry.digests) if one.entry else {},
    }


def reproduce(target: Target, experiment: str) -> list[str]:
    """What to type in a clone to get the same bytes."""
    snapshot = target.snapshot
    state = snapshot.records.get(target.stage, {}).get("git") or {}
    locked = snapshot.revision or _revision_of_lock(snapshot)
    revision = locked or state.get("revision")
    commands = [f"git checkout {revision}"] if revision else []
    if state.get("dirty") and not locked:
        commands.append("# and the changes that were not committed when it ran")
    commands += ["make environment", "source .venv/bin/activate"]
    commands += [f"cd {snapshot.place}"] if snapshot.place != "." else []
    again = f"awt lineage {experiment}"
    if target.kind in ("cell", "checkpoint"):
        again = f"awt rerun {target.nearest[0].key[:16]} --serial"
    return [*commands, f"dvc repro {target.stage}", again]


def _revision_of_lock(snapshot: Snapshot) -> str | None:
    """HEAD, if dvc.lock is as it is there."""
    lock = f"./{snapshot.place}/dvc.lock"
    if git(snapshot.repository, "cat-file", "-e", f"HEAD:{lock}") is None:
        return None
    if git(snapshot.repository, "diff", "--quiet", "HEAD", "--", lock) is None:
        return None
    return (git(snapshot.repository, "rev-parse", "HEAD") or "").strip()
