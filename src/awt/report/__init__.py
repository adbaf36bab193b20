"""The report of an experiment: a table and one self-contained HTML page, from what the stages measured."""

from awt.report import page, table
from awt.report.inputs import Inputs

__all__ = ["Inputs", "build"]


def build(inputs: Inputs) -> dict[str, bytes]:
    """The files of the report, by name; the same inputs give the same bytes."""
    return {
        "index.html": page.html(inputs).encode(),
        "table.csv": table.csv(table.summary(inputs.results, inputs.kinds)),
        "table.txt": table.text(table.summary(inputs.results, inputs.kinds)).encode(),
    }
