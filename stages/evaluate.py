"""Attacks every trained network on the test set, and compares the networks' kernels."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("evaluate"))
