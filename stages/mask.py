"""Finds a mask for every method, density and seed."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("mask"))
