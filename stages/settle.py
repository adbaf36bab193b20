"""Writes the digest of the code behind each stage, and the effective parameters, which the other stages depend on."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("code"))
