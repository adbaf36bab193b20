"""`import awt` is quick and starts nothing; its names are imported when they are used, and are documented."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import awt

PROJECT = Path(__file__).parents[3]


def run(code: str) -> str:
    """What Python prints in a fresh process."""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_awt_imports_nothing_else():
    code = "import sys; before = set(sys.modules); import awt; print(*sorted(set(sys.modules) - before))"
    heavy = {"jax", "numpy", "pandas", "pydantic", "ray", "scipy"}
    loaded = run(code).split()
    assert not heavy & set(loaded)
    assert [name for name in loaded if name.startswith("awt")] == ["awt"]


def test_looking_at_the_names_starts_no_backend():
    code = (
        "import awt; values = [getattr(awt, name) for name in awt.__all__]; "
        "from jax._src import xla_bridge; print(len(values), len(xla_bridge._backends))"
    )
    assert run(code) == f"{len(awt.__all__)} 0"


def test_names_that_are_not_there():
    with pytest.raises(AttributeError, match="module 'awt' has no attribute 'tickt'"):
        awt.tickt  # noqa: B018
    assert set(awt.__all__) <= set(dir(awt))


def test_names_are_called_as_what_they_stand_for():
    """The code behind a name is found by it: awt.runtime.code."""
    assert all(reference.endswith(f":{name}") for name, reference in awt._NAMES.items())


@pytest.mark.parametrize("name", [name for name in awt.__all__ if name != "__version__"])
def test_every_name_says_what_it_is(name):
    first, *_ = getattr(awt, name).__doc__.splitlines()
    assert re.fullmatch(r"\S.*[.:]", first), first
    assert re.search(rf"\bawt\.{name}\b", (PROJECT / "docs" / "library.md").read_text())
