"""Trains every masked network adversarially from its initial weights."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("retrain"))
