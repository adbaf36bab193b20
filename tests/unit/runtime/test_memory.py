"""What a process has freed serves again: its pages are not made twice."""

import json
import subprocess
import sys

SCRIPT = """
import json, resource, sys
import numpy as np
from awt.runtime import memory

if sys.argv[1] == "keep":
    memory.keep()
made = []
for _ in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    buffer = np.ones(64 * 2**20, np.uint8)
    del buffer
    made.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(json.dumps(made))
"""


def pages_made(how):
    words = [sys.executable, "-c", SCRIPT, how]
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def test_kept_memory_serves_again():
    first, *again = pages_made("keep")
    assert first > 10 * max(again)


def test_left_alone_it_does_not():
    first, *again = pages_made("leave")
    assert 2 * min(again) > first
