"""The report's tests share one built report: building takes most of their time."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # importlib mode finds no helper modules by itself

import made_findings

from awt.workflows.tickets.reporting import Findings, build


@pytest.fixture(scope="session")
def findings() -> Findings:
    return made_findings.make()


@pytest.fixture(scope="session")
def report(findings: Findings) -> dict[str, bytes]:
    return build(findings)


@pytest.fixture(scope="session")
def html(report: dict[str, bytes]) -> str:
    return report["index.html"].decode()
