"""`awt`: every subcommand is there, and to say so takes no time."""

import subprocess
import sys

import pytest

from awt.commands.main import COMMANDS

SLOW = {"dvc", "jax", "matplotlib", "numpy", "pandas", "pydantic", "ray"}
HELP = """
import sys
from awt.commands.main import main
sys.argv = ["awt", "--help"]
try:
    main()
finally:
    print(*sys.modules)
"""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(awt, command):
    code, out, err = awt(command, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"usage: awt {command} ")


def test_help_imports_nothing_slow():
    done = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True)
    assert all(f"\n    {command} " in done.stdout for command in COMMANDS)
    imported = set(done.stdout.splitlines()[-1].split())
    assert "awt.commands.main" in imported
    assert imported & SLOW == set()


@pytest.mark.parametrize("words", [[], ["chek"], ["--zzz"]])
def test_words_that_are_no_command_are_refused(awt, words):
    code, out, err = awt(*words)
    assert (code, out) == (2, "")
    assert err.startswith("usage: awt ")
