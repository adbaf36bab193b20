"""Makes the table and the page from what the other stages measured."""

import sys

from awt.workflows.running import main

if __name__ == "__main__":
    sys.exit(main("report"))
