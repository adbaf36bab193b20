"""Reads and verifies the data set and splits it."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("prepare"))
