"""Where the histories of two results part, and what depends on a file, a parameter or code."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from awt.artifacts import sha256
from awt.errors import InputError
from awt.lineage.cells import Cells
from awt.lineage.graph import Change, Graph, Node, difference
from awt.lineage.repository import git
from awt.lineage.snapshot import RAW, Snapshot, graph_of
from awt.lineage.targets import Target, locate, path_of
from awt.runtime.store import Store

_ITSELF = "the result itself"


def differences(one: Target, other: Target) -> dict[str, Any]:
    """What differs between two results, and first where they part: nearest to the raw data."""
    same_place = (one.snapshot.place, one.snapshot.revision) == (other.snapshot.place, other.snapshot.revision)
    by_cell = same_place or "cell" in (one.kind, other.kind)
    parted = difference(*(_by_cell(one, other) if by_cell else (_by_stage(one), _by_stage(other))))
    return {
        "one": {"target": one.text, "value": one.value if one.kind == "number" else None},
        "other": {"target": other.text, "value": other.value if other.kind == "number" else None},
        "same": not parted.first,
        **{kind: [_told(change, one, other) for change in getattr(parted, kind)] for kind in parted._fields},
    }


def _by_cell(one: Target, other: Target) -> tuple[Graph, Graph]:
    """Of a cell that only one of them has, that it has it is all there is to say; code that only one of two cells can
    reach is so because of what it was asked for, or of code that imports it."""
    graphs = [target.cells.graph(list(target.nearest)) for target in (one, other)]
    both = set(graphs[0].nodes) & set(graphs[1].nodes)

    def says_something(name: str, node: Node) -> bool:
        role, colon, _ = name.partition(": ")
        return not colon or (role in both and (name in both or node.kind not in ("code", "environment")))

    kept = [graph.part(name for name, node in graph.nodes.items() if says_something(name, node)) for graph in graphs]
    first, second = (_with_result(graph, target, []) for graph, target in zip(kept, (one, other), strict=True))
    return first, second


def _by_stage(target: Target) -> Graph:
    whole = graph_of(target.snapshot)
    out = f"artifact {target.snapshot.out_of(target.path or '')}" if target.path else f"stage {target.stage}"
    return _with_result(whole.part({out, *whole.upstream(out)}), target, [out])


def _with_result(graph: Graph, target: Target, last: list[str]) -> Graph:
    content = target.value if target.kind == "number" else _hash(target)
    ends = last or [name for name, children in graph.children().items() if not children]
    return Graph(
        {**graph.nodes, _ITSELF: Node("result", content, target.text)}, {**graph.parents, _ITSELF: tuple(ends)}
    )


def _hash(target: Target) -> str | None:
    return target.snapshot.md5(target.path) if target.path else target.nearest[0].key


def _told(change: Change, one: Target, other: Target) -> dict[str, Any]:
    nodes = [node for node in (change.one, change.other) if node is not None]
    told = {
        "name": change.name,
        "kind": nodes[0].kind,
        "one": None if change.one is None else change.one.content,
        "other": None if change.other is None else change.other.content,
        "of": [node.label for node in nodes],
    }
    kind, _, module = change.name.partition(" ")
    if kind == "code":
        told["commits"] = _commits(module, nodes[0].label, one.snapshot, other.snapshot)
    return told


def _commits(module: str, path: str, one: Snapshot, other: Snapshot) -> list[str]:
    """The commits that changed a module from one to the other, newest first."""
    ends = [_revision(module, snapshot) for snapshot in (one, other)]
    if None in ends:
        return []
    return (git(one.repository, "log", "--format=%h %s", f"{ends[0]}...{ends[1]}", "--", path) or "").splitlines()


def _revision(module: str, snapshot: Snapshot) -> str | None:
    """Where a module was as the last stage that reached it ran with it."""
    if snapshot.revision is not None:
        return snapshot.revision
    users = [stage for stage in snapshot.steps if module in (snapshot.code(stage) or {}).get("modules", ())]
    return snapshot.records[users[-1]].get("git", {}).get("revision") if users else None


def text(told: dict[str, Any]) -> str:
    one, other = told["one"], told["other"]
    lines = [
        f"{side['target']}" + (f" = {side['value']}" if side["value"] is not None else "") for side in (one, other)
    ]
    if told["same"]:
        return "\n".join([*lines, "the same: nothing differs on the way from the raw data"])
    lines += ["", "they part at:", *(_line(change) for change in told["first"])]
    for name, title in (("also", "nearer to the result, these differ too:"), ("follows", "from that follow:")):
        lines += ["", title, *(_line(change) for change in told[name])] if told[name] else []
    return "\n".join(lines)


def _line(change: dict[str, Any]) -> str:
    of = " | ".join(dict.fromkeys(change["of"]))
    commits = "".join(f"\n    commit {commit}" for commit in change.get("commits", []))
    return f"  {change['kind']} {of}: {_short(change['one'])} | {_short(change['other'])}{commits}"


def _short(content: Any) -> str:
    if isinstance(content, str) and len(content) >= 32 and content.isalnum():
        return content[:12]
    return "none" if content is None else str(content)


def impact(asked: str, repository: Path, here: Path, store_at: Callable[[Path], Store]) -> dict[str, Any]:
    """What was made from a file, a parameter (or a section of them), or code, and is another's when that changes."""
    snapshot, name = locate(asked, repository, here)
    graph, path = graph_of(snapshot), path_of(name, snapshot)
    names = [f"artifact {snapshot.out_of(path)}"] if path else _named(name, graph)
    if not names:
        raise InputError(f"--impact: {name!r} is no file, parameter or code that a stage depends on")
    reached = {one for start in names for one in graph.impact(start)}
    cells = Cells(snapshot, store_at(snapshot.folder)).impact(_digests(path, snapshot)) if path else []
    return {
        "of": asked,
        "stages": [step for step in snapshot.order if f"stage {step}" in reached],
        "artifacts": [out for out in snapshot.makers if f"artifact {out}" in reached],
        "cells": [{"key": one.key, "stage": one.stage, "label": one.label} for one in cells],
    }


def _named(name: str, graph: Graph) -> list[str]:
    """The nodes that a parameter, a section of them, a module, its file or a folder of code stands for."""
    if name == RAW:
        return [RAW]
    parameter, folder = name.removeprefix("params.yaml:"), f"{name.rstrip('/')}/"
    itself = {f"parameter {parameter}", f"code {name}", f"artifact {name}"} & set(graph.nodes)
    section = [one for one in graph.nodes if one.startswith(f"parameter {parameter}.")]
    code = [one for one, node in graph.nodes.items() if node.kind == "code" and f"{node.label}/".startswith(folder)]
    return list(itself) or section or code


def _digests(path: str, snapshot: Snapshot) -> set[str]:
    """SHA-256 of a file, or of those in a folder."""
    written = snapshot.outputs(snapshot.maker_of(path))
    known = {digest for name, digest in written.items() if name == path or name.startswith(f"{path}/")}
    data = None if known else snapshot.read(path)
    return known if data is None else {sha256(data)}


def impact_text(told: dict[str, Any]) -> str:
    lines = [f"{told['of']} is behind:"]
    lines += [f"  stage {name}" for name in told["stages"]] + [f"  {name}" for name in told["artifacts"]]
    lines += [f"  cell {cell['key'][:12]} {cell['stage']}: {cell['label']}" for cell in told["cells"]]
    return "\n".join(lines if len(lines) > 1 else [f"nothing came from {told['of']}"])
