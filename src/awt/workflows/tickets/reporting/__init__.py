"""The report of an experiment: a table and one self-contained HTML page, from what the stages measured."""

from awt.workflows.tickets.reporting import page, table
from awt.workflows.tickets.reporting.findings import Findings

__all__ = ["Findings", "build"]


def build(findings: Findings) -> dict[str, bytes]:
    """The files of the report, by name; the same inputs give the same bytes."""
    return {
        "index.html": page.html(findings).encode(),
        "table.csv": table.csv(table.summary(findings.results, findings.kinds)),
        "table.txt": table.text(table.summary(findings.results, findings.kinds)).encode(),
    }
