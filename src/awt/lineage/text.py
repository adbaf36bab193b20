"""An answer as text for a terminal, and as Markdown."""

from collections.abc import Iterator
from typing import Any

SHORT = 12
MOST = 40  # cells of a stage that are listed; JSON has all


def text(found: dict[str, Any]) -> str:
    """What it is, then each step from it back to the raw data."""
    lines = [headline(found)]
    if found["file"]:
        lines.append(f"  in {found['file']['path']}, {hashes(found['file'])}")
    for step, later in _steps(found):
        lines += ["", *_step(step, later)]
    lines += ["", f"raw data: {_listed(found['raw_data'] or {})}"]
    lines += ["", *verdict(found), "", "to reproduce it:", *(f"  {line}" for line in found["reproduce"])]
    return "\n".join(lines)


def markdown(found: dict[str, Any]) -> str:
    lines = [f"# {found['target']}", "", f"**{headline(found)}**", ""]
    if found["file"]:
        lines += [f"In `{found['file']['path']}`, {hashes(found['file'])}.", ""]
    for step, later in _steps(found):
        lines += [f"## {step['stage']}", "", *(f"- {line.strip()}" for line in _step(step, later)[1:]), ""]
    lines += ["## raw data", "", _listed(found["raw_data"] or {}), ""]
    lines += ["## Verdict", "", *(f"- {line.strip()}" for line in verdict(found)), ""]
    return "\n".join([*lines, "## To reproduce it", "", *(f"    {line}" for line in found["reproduce"])])


def headline(found: dict[str, Any]) -> str:
    if found["kind"] == "number":
        return f"{found['target']} = {found['value']}"
    return f"{found['target']}" + (f": {found['value']}" if found["value"] else "")


def hashes(file: dict[str, Any]) -> str:
    return ", ".join(f"{name} {file[name]}" for name in ("sha256", "md5") if file[name])


def verdict(found: dict[str, Any]) -> list[str]:
    """What is broken, and what should be known; then a line on the whole."""
    edges = found["edges"]
    told = [edge for edge in edges if edge["status"] != "OK" or (edge["remark"] and edge["kind"] != "input")]
    lines = [line(edge) for edge in told]
    counts = {
        status: sum(edge["status"] == status for edge in edges) for status in dict.fromkeys(e["status"] for e in edges)
    }
    said = ", ".join(f"{count} {status}" for status, count in counts.items()) or "nothing was checked"
    return [*lines, f"{len(edges)} edges: {said}"]


def summaries(found: dict[str, Any]) -> str:
    """What was found out about each experiment and store."""
    lines = []
    for place, one in found.items():
        counts = ", ".join(f"{count} {status}" for status, count in one["edges"].items() if count)
        lines += [
            f"{'the default experiment' if place == '.' else place}: {counts}",
            *(f"  {line(edge)}" for edge in one["told"]),
        ]
    return "\n".join(lines)


def line(edge: dict[str, Any]) -> str:
    where = f"{edge['stage']}: " if edge["stage"] else ""
    remark = f" ({edge['remark']})" if edge["remark"] else ""
    return f"{edge['status']:12}{where}{edge['kind']} {edge['name']}{remark}"


def _steps(found: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each step with the one after it in the pipeline, which is shown before it."""
    return zip(found["steps"], [{}, *found["steps"]], strict=False)


def _step(step: dict[str, Any], later: dict[str, Any]) -> list[str]:
    return [
        f"{step['stage']}: {step['command']}",
        *(f"  {part}" for part in _ran(step, later)),
        f"  parameters: {_listed(step['params'])}",
        *(f"  code {name}  {md5[:SHORT]}  {_status(step, 'code', name)}" for name, md5 in step["code"].items()),
        *(
            f"  reads {name}  {one['md5'][:SHORT]}  {_status(step, 'input', name)}  from {one['from']}"
            for name, one in step["inputs"].items()
        ),
        *(
            f"  wrote {name}  {one['md5'][:SHORT]}  {_status(step, 'output', name)}"
            for name, one in step["outputs"].items()
            if not step["edges"] or _status(step, "output", name)
        ),
        *(f"  cell {part}" for part in _cells(step)),
    ]


def _ran(step: dict[str, Any], later: dict[str, Any]) -> Iterator[str]:
    if step["began"] is None:
        yield "its run record is not here: `dvc pull`"
        return
    where = f"{step['host']} ({step['executor']}{', ' + step['platform'] if step['platform'] else ''})"
    run = f", run {step['run'][:SHORT]}" if step["run"] else ""
    yield f"ran {step['began']} to {step['ended']}, {step['seconds']} s, on {where}{run}"
    if step["nodes"]:
        yield f"nodes {', '.join(step['nodes'])}; devices {', '.join(step['devices'])}"
    state = step["git"]
    dirt = {True: "dirty", False: "clean", None: "unknown"}[state["dirty"]]
    yield f"git {(state['revision'] or 'none')[:SHORT]}, {dirt}; seeds {', '.join(map(str, step['seeds']))}"
    yield f"versions: {'the same' if step['versions'] == later.get('versions') else _listed(step['versions'])}"
    counts = step["cells"]
    yield f"cells of the run: {counts['computed']} computed, {counts['reused']} reused, {counts['retried']} retried"


def _cells(step: dict[str, Any]) -> Iterator[str]:
    bad = {edge["hash"] for edge in step["edges"] if edge["kind"] == "cell" and edge["status"] != "OK"}
    for cell in step["behind"][:MOST]:
        how = {True: "reused", False: "computed", None: cell["state"]}[cell["reused"]]
        when = f"{cell['finished'] or 'at an unknown time'} on {cell['host']}, {cell['device']}, {cell['seconds']} s"
        run = f", by run {cell['run'][:SHORT]}" if cell["run"] else ""
        store = ("MODIFIED" if cell["key"] in bad else "OK") if cell["in_store"] else "not in the store here"
        yield f"{cell['key'][:SHORT]} {cell['label']}: {how}, {when}{run}; {store}"
    if len(step["behind"]) > MOST:
        yield f"… and {len(step['behind']) - MOST} more: --json lists them"


def _status(step: dict[str, Any], kind: str, name: str) -> str:
    """The worst of the edges of a file, or of the files in a folder; nothing where it was not looked at."""
    kinds = (kind, "record") if kind == "output" else (kind,)
    found = [e for e in step["edges"] if e["kind"] in kinds and (e["name"] == name or e["name"].startswith(f"{name}/"))]
    return next((e["status"] for e in found if e["status"] != "OK"), "OK" if found else "")


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{name} {_short(value)}" for name, value in values.items())


def _short(value: Any) -> str:
    return "none" if value is None else str(value)
