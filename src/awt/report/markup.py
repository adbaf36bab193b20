"""HTML from plain functions: elements, tables; text is escaped unless it is markup already."""

from collections.abc import Iterable
from html import escape
from string import Template

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$css</style>
</head>
<body>
$body
</body>
</html>
""")


class Html(str):
    """Text that is markup; every other string is escaped on its way into an element."""


def safe(text: str) -> Html:
    return text if isinstance(text, Html) else Html(escape(text))


def element(name: str, *children: str, **attributes: str) -> Html:
    """An element with its children; `class_` is the attribute `class`, `aria_label` is `aria-label`."""
    named = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Html(f"<{name}{named}>{''.join(safe(child) for child in children)}</{name}>")


def lines(parts: Iterable[str]) -> Html:
    return Html("\n".join(safe(part) for part in parts))


def page(title: str, css: str, body: Html) -> str:
    """A whole page, which needs nothing else."""
    return _PAGE.substitute(title=safe(title), css=css, body=body)


def section(title: str, *parts: str) -> Html:
    return element("section", lines([element("h2", title), *parts]))


def table(heads: Iterable[str], groups: Iterable[Iterable[Iterable[str]]], class_: str) -> Html:
    """A table of groups of rows of cells, which scrolls by itself where the screen is narrow."""
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    bodies = (element("tbody", lines(_row(cells) for cells in rows)) for rows in groups)
    whole = element("table", lines([element("thead", head), *bodies]), class_=class_)
    return element("div", whole, class_="scroll", tabindex="0")


def _row(cells: Iterable[str]) -> Html:
    return element("tr", *(element("td", cell) for cell in cells))


def definitions(pairs: Iterable[tuple[str, str]]) -> Html:
    return element("dl", lines(element("div", element("dt", term), element("dd", said)) for term, said in pairs))
