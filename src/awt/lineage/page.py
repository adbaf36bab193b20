"""An answer as one self-contained page."""

from html import escape
from typing import Any

from awt.lineage.text import hashes, headline, line, verdict

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
h1 { font-size: 1.3rem; overflow-wrap: anywhere } h2 { font-size: 1.1rem; margin: 1.5rem 0 .3rem }
code, pre, td { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere }
table { border-collapse: collapse; width: 100% }
td { text-align: left; padding: .15rem .6rem .15rem 0; vertical-align: top }
tr + tr td { border-top: 1px solid #eee } .bad { color: #b00020; font-weight: 600 } .good { color: #1a7f37 }
pre { background: #f6f6f6; padding: .6rem; overflow-x: auto } details { margin: .4rem 0 }
"""


def html(found: dict[str, Any]) -> str:
    mark = {True: "every edge holds", False: "the lineage is broken", None: "not verified"}[found["sound"]]
    parts = [
        f"<h1>{escape(headline(found))}</h1>",
        f"<p class='{'good' if found['sound'] else 'bad'}'>{mark}</p>",
        _file(found["file"]) if found["file"] else "",
        *(_step(step) for step in found["steps"]),
        "<h2>raw data</h2>" + _table(found["raw_data"] or {}),
        "<h2>verdict</h2><pre>" + escape("\n".join(verdict(found))) + "</pre>",
        "<h2>to reproduce it</h2><pre>" + escape("\n".join(found["reproduce"])) + "</pre>",
    ]
    title = escape(found["target"])
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    head = f"<head>{head}<style>{_STYLE}</style></head>"
    return f"<!doctype html><html lang='en'>{head}<body>{''.join(parts)}</body></html>\n"


def _file(file: dict[str, Any]) -> str:
    return f"<p>in <code>{escape(file['path'])}</code>, {escape(hashes(file))}</p>"


def _step(step: dict[str, Any]) -> str:
    state = step["git"] or {}
    ran = {
        "command": step["command"],
        "ran": f"{step['began']} to {step['ended']} on {step['host']} ({step['executor']}, {step['platform']})",
        "run": step["run"],
        "nodes, devices": ", ".join([*step["nodes"], *step["devices"]]) or None,
        "git": f"{state.get('revision')} ({'dirty' if state.get('dirty') else 'clean'})",
        "seeds": step["seeds"],
        "cells": ", ".join(f"{count} {name}" for name, count in step["cells"].items()),
        **{f"reads {name}": f"{one['md5']} from {one['from']}" for name, one in step["inputs"].items()},
        **{f"wrote {name}": one["md5"] for name, one in step["outputs"].items()},
    }
    cells = {
        f"{cell['label']}": f"{cell['key']}, {'reused' if cell['reused'] else 'computed'} {cell['finished']} on "
        f"{cell['host']}, {cell['device']}, run {cell['run']}"
        for cell in step["behind"]
    }
    edges = "\n".join(line(edge) for edge in step["edges"])
    return (
        f"<h2 id='{escape(step['stage'])}'>{escape(step['stage'])}</h2>{_table(ran)}"
        + _folded("parameters", _table(step["params"]))
        + _folded("versions", _table(step["versions"] or {}))
        + _folded("code", _table(step["code"]))
        + (_folded(f"{len(cells)} cells behind it", _table(cells)) if cells else "")
        + _folded(f"{len(step['edges'])} edges", f"<pre>{escape(edges)}</pre>")
    )


def _folded(name: str, content: str) -> str:
    return f"<details><summary>{escape(name)}</summary>{content}</details>"


def _table(values: dict[str, Any]) -> str:
    rows = (f"<tr><td>{escape(str(name))}</td><td>{escape(str(value))}</td></tr>" for name, value in values.items())
    return f"<table>{''.join(rows)}</table>"
