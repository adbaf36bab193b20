"""Reads and verifies the data set and splits it."""

import sys

from awt.data import prepare
from awt.errors import run
from awt.stage import ARTIFACTS, stage


def main() -> None:
    with stage("prepare") as work:
        work.publish(ARTIFACTS / "data", prepare(work.params.data, work.repository))


if __name__ == "__main__":
    sys.exit(run(main))
