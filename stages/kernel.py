"""Computes, once per initialisation, what every mask search shares, and a Gram matrix on a reference subset."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("kernel"))
