"""An answer as one self-contained page."""

from typing import Any

from awt.lineage.text import headline, place, sections
from awt.report import markup
from awt.report.css import CSS
from awt.report.markup import Html, element

_STYLE = CSS + "li, pre { font: 13px/1.5 ui-monospace, monospace; overflow-wrap: anywhere } pre { overflow-x: auto }"


def html(told: dict[str, Any]) -> str:
    mark = {True: "every edge holds", False: "the lineage is broken", None: "not verified"}[told["sound"]]
    parts = [element("h1", headline(told)), element("p", mark, class_="lead"), _list(place(told))]
    for one in sections(told):
        folded = [_folded(name, lines) for name, lines in one.details.items() if lines]
        parts.append(markup.section(one.title, _list(one.lines), *folded))
    return markup.page(told["target"], _STYLE, markup.lines(parts))


def _list(lines: list[str]) -> Html:
    return element("ul", *(element("li", line) for line in lines))


def _folded(name: str, lines: list[str]) -> Html:
    return element("details", element("summary", f"{name} ({len(lines)})"), element("pre", "\n".join(lines)))
