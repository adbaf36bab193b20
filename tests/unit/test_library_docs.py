"""docs/library.md and the notebook run as they are written, and show what they give."""

import ast
import contextlib
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest

DOCS = Path(__file__).parents[2] / "docs"


def blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def shown(source: str, namespace: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Runs code; of each expression with a comment behind it, what it gives and what the comment says."""
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if not isinstance(node, ast.Expr):
            exec(compile(ast.Module([node], []), "<docs>", "exec"), namespace)
            continue
        value = eval(compile(ast.Expression(node.value), "<docs>", "eval"), namespace)
        comment = lines[node.end_lineno - 1][node.end_col_offset :].partition("# ")[2]
        if comment and value is not None:
            yield repr(value), comment


def test_the_page_runs_and_gives_what_it_says():
    namespace: dict[str, Any] = {"__name__": "docs"}
    pairs = [pair for block in blocks((DOCS / "library.md").read_text()) for pair in shown(block, namespace)]
    assert len(pairs) > 20
    for value, comment in pairs:
        assert value == comment


@pytest.fixture(scope="module")
def notebook() -> Any:
    return nbformat.read(DOCS / "library.ipynb", as_version=4)


def test_the_notebook_is_one_and_small(notebook):
    nbformat.validate(notebook)
    assert (DOCS / "library.ipynb").stat().st_size < 20_000


def test_the_notebook_runs_and_prints_what_it_shows(notebook):
    """To the digits, which differ between processors."""
    namespace: dict[str, Any] = {"__name__": "notebook"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(cell.source, "<notebook>", "exec"), namespace)
            stored = "".join(output.text for output in cell.outputs)
            assert without_digits(printed.getvalue()) == without_digits(stored)


def without_digits(text: str) -> str:
    return re.sub(r"[\d.]+", "#", text)
