"""An answer in sections, and these as text for a terminal and as Markdown."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

SHORT = 12
MOST = 40  # cells of a stage that are listed; JSON and the page have all


class Section(NamedTuple):
    """Lines; then, where there is little room, `brief` ones in place of the whole `details`."""

    title: str
    lines: list[str]
    brief: tuple[str, ...] = ()
    details: Mapping[str, list[str]] = MappingProxyType({})


def sections(told: dict[str, Any]) -> list[Section]:
    """Each step from the result back to the raw data, then what was found out about it."""
    steps = told["steps"]
    return [
        *(_step(step, later) for step, later in zip(steps, [{}, *steps], strict=False)),
        *([Section("raw data", _listed(told["raw_data"]))] if told["raw_data"] else []),
        Section("verdict", verdict(told["verdict"])),
        Section("to reproduce it", told["reproduce"]),
    ]


def headline(told: dict[str, Any]) -> str:
    joint = " = " if told["kind"] == "number" else ": "
    return told["target"] + ("" if told["value"] is None else f"{joint}{told['value']}")


def place(told: dict[str, Any]) -> list[str]:
    """In which file it is."""
    file = told["file"] or {}
    hashes = [f"{name} {file[name]}" for name in ("sha256", "md5") if file.get(name)]
    return [f"in {', '.join([file['path'], *hashes])}"] if file else []


def text(told: dict[str, Any]) -> str:
    lines = [headline(told), *_indented(place(told))]
    for one in sections(told):
        lines += ["", one.title if ":" in one.title else f"{one.title}:", *_indented([*one.lines, *one.brief])]
    return "\n".join(lines)


def markdown(told: dict[str, Any]) -> str:
    lines = [f"# {told['target']}", "", f"**{headline(told)}**", *place(told), ""]
    for one in sections(told):
        lines += [f"## {one.title}", "", *(f"- {line}" for line in [*one.lines, *one.brief]), ""]
    return "\n".join(lines)


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def verdict(summary: dict[str, Any]) -> list[str]:
    """What is broken, and what should be known; then a line on the whole."""
    counts = [f"{count} {status}" for status, count in summary["edges"].items() if count]
    total = sum(summary["edges"].values())
    return [*map(line, summary["told"]), f"{total} edges: {', '.join(counts) or 'nothing was checked'}"]


def summaries(told: dict[str, Any]) -> str:
    """What was found out about each experiment and store."""
    lines = []
    for name, one in told.items():
        counts = ", ".join(f"{count} {status}" for status, count in one["edges"].items() if count)
        lines += [f"{'the default experiment' if name == '.' else name}: {counts}", *_indented(map(line, one["told"]))]
    return "\n".join(lines)


def line(edge: dict[str, Any]) -> str:
    where = f"{edge['stage']}: " if edge["stage"] else ""
    remark = f" ({edge['remark']})" if edge["remark"] else ""
    return f"{edge['status']:12}{where}{edge['kind']} {edge['name']}{remark}"


def _step(step: dict[str, Any], later: dict[str, Any]) -> Section:
    """A step; `later` is the one after it in the pipeline, which is shown before it."""
    code, params, cells = step["code"], _listed(step["params"]), list(_cells(step))
    versions = _listed(step["versions"] or {})
    modules = [f"{name} {digest}" for name, digest in code["modules"].items()]
    files = [
        f"reads {name}  {one['md5'][:SHORT]}  {_status(step, 'input', name)}  from {one['from'] or 'no stage'}"
        for name, one in step["inputs"].items()
    ]
    files += [
        f"wrote {name}  {one['md5'][:SHORT]}  {_status(step, 'output', name)}"
        for name, one in step["outputs"].items()
        if not step["edges"] or _status(step, "output", name)
    ]
    brief = (
        f"versions: {'the same' if step['versions'] == later.get('versions') else ', '.join(versions)}",
        f"parameters: {', '.join(params)}",
        f"code {str(code['digest'])[:SHORT]}  {_status(step, 'code')}  {len(modules)} modules",
        *(f"cell {cell}" for cell in cells[:MOST]),
        *([f"… and {len(cells) - MOST} more cells: --json lists them"] if len(cells) > MOST else []),
    )
    details = {
        "parameters": params,
        "versions": versions,
        "code": [f"digest {code['digest']}", *modules, *_listed(code["distributions"])],
        "cells behind it": cells,
        "edges": [line(edge) for edge in step["edges"]],
    }
    return Section(f"{step['stage']}: {step['command']}", [*_ran(step), *files], brief, details)


def _ran(step: dict[str, Any]) -> Iterator[str]:
    if step["began"] is None:
        yield "its run record is not here: `dvc pull`"
        return
    where = f"{step['host']} ({step['executor']}{', ' + step['platform'] if step['platform'] else ''})"
    run = f", run {step['run'][:SHORT]}" if step["run"] else ""
    yield f"ran {step['began']} to {step['ended']}, {step['seconds']} s, on {where}{run}"
    if step["nodes"]:
        yield f"nodes {', '.join(step['nodes'])}; devices {', '.join(step['devices'])}"
    state = step["git"] or {}
    dirt = {True: "dirty", False: "clean", None: "unknown"}[state.get("dirty")]
    yield f"git {(state.get('revision') or 'none')[:SHORT]}, {dirt}; seeds {', '.join(map(str, step['seeds'] or ()))}"
    counts = step["cells"]
    yield f"cells of the run: {counts['computed']} computed, {counts['reused']} reused, {counts['retried']} retried"


def _cells(step: dict[str, Any]) -> Iterator[str]:
    bad = {edge["hash"] for edge in step["edges"] if edge["kind"] == "cell" and edge["status"] != "OK"}
    for cell in step["behind"]:
        how = {True: "reused", False: "computed", None: cell["state"]}[cell["reused"]]
        when = f"{cell['finished'] or 'at an unknown time'} on {cell['host']}, {cell['device']}, {cell['seconds']} s"
        run = f", by run {cell['run'][:SHORT]}" if cell["run"] else ""
        store = ("MODIFIED" if cell["key"] in bad else "OK") if cell["in_store"] else "not in the store here"
        yield f"{cell['key'][:SHORT]} {cell['label']}: {how}, {when}{run}; {store}"


def _status(step: dict[str, Any], kind: str, name: str = "") -> str:
    """The worst of the edges of a file, of the files in a folder, or of a kind; nothing where it was not looked at."""
    kinds = (kind, "record") if kind == "output" else (kind,)
    edges = [edge for edge in step["edges"] if edge["kind"] in kinds and _is_at(edge["name"], name)]
    return next((edge["status"] for edge in edges if edge["status"] != "OK"), "OK" if edges else "")


def _is_at(path: str, name: str) -> bool:
    return not name or path == name or path.startswith(f"{name}/")


def _listed(values: dict[str, Any]) -> list[str]:
    return [f"{name} {'none' if value is None else value}" for name, value in values.items()]
