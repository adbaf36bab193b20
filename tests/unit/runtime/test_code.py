"""The code behind a function: all that it can reach is in its key, and nothing that decides no value."""

import importlib
import importlib.metadata
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import awt
from awt.attacks.registry import ATTACKS
from awt.errors import InputError
from awt.models.registry import NETWORKS
from awt.runtime import code
from awt.runtime.cell import Cell, Surroundings
from awt.runtime.code import MOVERS, check, code_of, is_own, named_in, source_of, user_modules
from awt.tickets.registry import METHODS

Write = Callable[..., None]


def forget() -> None:
    """What is on the disk is looked at once by a process: a test changes it."""
    for value in list(vars(code).values()):
        if hasattr(value, "cache_clear"):
            value.cache_clear()
    importlib.invalidate_caches()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Writes files to a folder of a user's own modules."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(inner: dict[str, str] | None = None, **files: str) -> None:
        """By their paths without the end, those in packages first."""
        for name, text in {**(inner or {}), **files}.items():
            path = tmp_path / f"{name}.py"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(textwrap.dedent(text))
        forget()

    yield write
    forget()


def modules(*functions: str) -> set[str]:
    return set(code_of(functions).modules)


def test_imports_are_followed_wherever_they_stand(write):
    write(
        {"package/__init__": "value = 1", "package/inner": "import nine"},
        mine="""
            import importlib
            import one
            from two import name
            from package import inner, value as other

            def find():
                import three
                if one:
                    from four import five as six
                return importlib.import_module("seven")

            class Method:
                try:
                    import eight
                except ImportError:
                    eight = None
            """,
        **dict.fromkeys(("one", "two", "three", "four", "seven", "eight", "nine"), "name = five = 1"),
    )
    expected = {"one", "two", "three", "four", "seven", "eight", "nine", "package", "package.inner"}
    assert modules("mine:find") == {"mine"} | expected


def test_the_packages_around_a_module_run_before_it(write):
    packages = {"top/__init__": "import one", "top/middle/__init__": "import two", "top/middle/leaf": "x = 1"}
    write(packages, mine="from top.middle.leaf import x", one="", two="")
    assert modules("mine:find") == {"mine", "top", "top.middle", "top.middle.leaf", "one", "two"}


def test_a_package_without_an_init_is_followed_too(write):
    write({"helpers/deep/tool": "import one"}, mine="from helpers.deep import tool", one="")
    assert modules("mine:find") == {"mine", "helpers.deep.tool", "one"}
    assert is_own("helpers.deep.tool")


def test_modules_that_import_each_other_are_no_circle(write):
    write(one="import two", two="import one")
    assert modules("one:find") == modules("two:find") == {"one", "two"}


def test_what_only_type_checkers_import_is_not_followed(write):
    write(
        mine="""
            import typing
            from typing import TYPE_CHECKING
            if TYPE_CHECKING:
                import one
            if typing.TYPE_CHECKING:
                import two
            else:
                import three
            if not TYPE_CHECKING:
                import four
            """,
        **dict.fromkeys(("one", "two", "three", "four"), ""),
    )
    assert modules("mine:find") == {"mine", "three", "four"}


@pytest.mark.parametrize(
    "text",
    [
        "from awt import gradient_flow",
        "def find():\n    import awt\n    return awt.gradient_flow(1)",
        "import awt as library\nx = library.gradient_flow",
        "import awt.keys\nx = awt.gradient_flow",
        "from awt import *",
        "import awt\nx = getattr(awt, 'gradient_flow')",
    ],
)
def test_public_names_of_awt_are_followed_to_where_they_come_from(text, write):
    """The package imports them when they are first used."""
    write(mine=text)
    whole = "*" in text or "getattr" in text
    assert "awt.kernels.predictions" in modules("mine:find")
    assert ("awt.tickets.shuffled" in modules("mine:find")) == whole


def test_every_public_name_is_one_of_the_module_that_has_it():
    """By the last part of its reference, which is how it is followed."""
    assert {name: reference.partition(":")[2] for name, reference in awt._NAMES.items()} == {n: n for n in awt._NAMES}


PLAIN = """
RATE = 0.5

def find(setting, options=3):
    return setting * RATE
"""
SAME = {
    "comments": PLAIN.replace("RATE = 0.5", "# a rate\nRATE = 0.5  # a half"),
    "docstrings": '"""Of rates."""\n' + PLAIN.replace("    return", '    """Finds."""\n    return'),
    "layout": "\n\n" + PLAIN.replace("setting * RATE", "(\n        setting\n        * RATE\n    )"),
    "quotes and digits": PLAIN.replace("0.5", ".50"),
}
OTHER = {
    "a constant": PLAIN.replace("0.5", "0.25"),
    "a default": PLAIN.replace("options=3", "options=4"),
    "an operation": PLAIN.replace("setting * RATE", "setting + RATE"),
    "a decorator": PLAIN.replace("def find", "@staticmethod\ndef find"),
    "a string that is no docstring": PLAIN + 'NAME = "Of rates."\n',
}


@pytest.mark.parametrize("change", [*SAME, *OTHER])
def test_digests_are_of_what_runs(change, write):
    write(mine="import other", other=PLAIN)
    before = code_of(["mine:find"]).modules
    write(other=(SAME | OTHER)[change])
    after = code_of(["mine:find"]).modules
    assert after["mine"] == before["mine"]
    assert (after["other"] == before["other"]) == (change in SAME)


def test_a_user_s_code_is_in_the_key_of_a_cell_that_names_it(write):
    cell = Cell("mask", "", "awt.cells.mask:find_mask", {"method": "mine:find", "options": {"rate": 0.5}})
    keys = []
    for text in (PLAIN, PLAIN + "# more", PLAIN.replace("0.5", "0.6")):
        write(mine=text)
        keys.append(Surroundings("cpu").key(cell))
    assert keys[0] == keys[1] != keys[2]


def test_code_that_is_not_there_is_named(write):
    for function in ("nowhere:find", "numpy:array", "os:system", "awt.nowhere:find"):
        module = function.partition(":")[0]
        with pytest.raises(InputError, match=f"{module}: no module of awt or of yours is called so"):
            code_of([function])


def test_code_that_cannot_be_followed_is_named(write, tmp_path):
    write(mine="import broken", broken="def find(:")
    with pytest.raises(InputError, match=f"{tmp_path / 'broken.py'}, line 1: not readable as Python"):
        code_of(["mine:find"])
    write({"own/__init__": "", "own/part": "\nfrom . import other", "own/other": ""})
    with pytest.raises(InputError, match=f"{tmp_path / 'own' / 'part.py'}, line 2: a relative import"):
        code_of(["own.part:find"])


def test_movers_are_modules_with_a_reason_and_are_left_out(write):
    assert all(source_of(name) for name in MOVERS)
    assert all(MOVERS.values())
    assert all(name in ("awt", "awt.errors") or name.startswith("awt.runtime") for name in MOVERS)
    write(mine="import awt.errors, awt.runtime.store, awt.keys")
    assert modules("mine:find") == {"mine", "awt.keys"}


def test_what_movers_need_is_left_out_with_them():
    assert "orbax-checkpoint" not in code_of(["awt.cells.retrain:retrain"]).distributions
    assert "ray" not in code_of(["awt.cells.retrain:retrain"]).distributions


def test_distributions_are_those_imported_and_what_they_require(write):
    write(mine="def find():\n    import jax.numpy as jnp", other="import sklearn, os, json")
    needed, others = code_of(["mine:find"]).distributions, code_of(["other:find"]).distributions
    assert needed["jax"] == importlib.metadata.version("jax")
    assert {"jaxlib", "numpy", "ml-dtypes"} <= needed.keys()
    assert {"scikit-learn", "numpy", "joblib", "threadpoolctl"} <= others.keys()
    assert "jax" not in others
    for unused in ("pytest", "ruff", "ray", "awt"):
        assert unused not in needed.keys() | others.keys()


def test_an_installed_module_counts_by_its_version(write, tmp_path):
    """Whatever is said to be installed: the metadata of another version, found first."""
    metadata = tmp_path / "optax-0.0.1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: optax\nVersion: 0.0.1\n")
    write(mine="import optax")
    reached = code_of(["mine:find"])
    assert reached.distributions["optax"] == "0.0.1"
    assert set(reached.modules) == {"mine"}


def test_whose_a_module_is(write):
    write({"package/__init__": "", "package/inner": ""}, mine="")
    assert all(map(is_own, ("mine", "package", "package.inner", "awt", "awt.tickets.awt")))
    assert not any(map(is_own, ("os", "sys", "json.decoder", "numpy", "jax.numpy", "pytest", "nowhere", "mine.deeper")))
    assert not is_own(sysconfig._get_sysconfigdata_name())  # one of Python's, though not among its names of modules


def test_a_user_s_module_may_have_the_name_of_none_that_is_installed(write):
    """Python would import the user's own, and so does the key."""
    write(mine="import tokens_of_mine", tokens_of_mine="x = 1")
    assert "tokens_of_mine" in modules("mine:find")


def test_the_user_s_own_packages_are_what_workers_are_sent(write, tmp_path):
    packages = {"package/__init__": "", "package/inner": "import alone"}
    write(packages, mine="import package.inner, awt.keys, numpy", alone="")
    assert user_modules(["mine:find"]) == [tmp_path / "alone.py", tmp_path / "mine.py", tmp_path / "package"]
    assert user_modules(["awt.cells.mask:find_mask"]) == []


def test_functions_that_a_module_names_are_those_of_awt_and_the_user(write):
    write(mine='CELL, OTHER, ELSE, TIME = "awt.cells.mask:find_mask", "mine:find", "os:system", "12:30"')
    assert named_in("mine") == {"awt.cells.mask:find_mask", "mine:find"}


def test_other_code_or_versions_than_the_driver_s_are_refused(write):
    write(mine="import other, numpy", other="x = 1")
    described = code_of(["mine:find"]).as_json()
    check(described, ["mine:find"])
    write(other="x = 2")
    with pytest.raises(InputError, match=rf"^{socket.gethostname()} has other code than the driver \(other differ\)"):
        check(described, ["mine:find"])
    write(other="import sklearn\nx = 1")  # which brings distributions along, whose absence would be no advice
    with pytest.raises(InputError, match=r"other code than the driver \(other differ\)"):
        check(described, ["mine:find"])
    write(other="x = 1")
    older = described | {"distributions": described["distributions"] | {"numpy": "1.0"}}
    with pytest.raises(InputError, match=r"has numpy [\d.]+, the driver 1\.0: install requirements\.lock"):
        check(older, ["mine:find"])
    more = described | {"distributions": described["distributions"] | {"tinynumbers": "1.0"}}
    with pytest.raises(InputError, match=r"has tinynumbers not installed, the driver 1\.0"):
        check(more, ["mine:find"])
    with pytest.raises(InputError, match=r"has Python 3\.\d+, the driver 2\.7"):
        check(described | {"python": "2.7"}, ["mine:find"])


@pytest.mark.parametrize("kind", ["methods", "attacks", "networks"])
def test_one_choice_does_not_drag_in_the_others(kind):
    """But those that it is made of: DeepFool takes FAB's step, networks share their dense layers."""
    references, parts = {
        "methods": (METHODS.values(), set()),
        "attacks": ({known.attack for known in ATTACKS.values()}, {"awt.attacks.fab", "awt.attacks.pgd"}),
        "networks": (NETWORKS.values(), {"awt.models.mlp"}),
    }[kind]
    for reference in references:
        own = reference.partition(":")[0]
        others = {one.partition(":")[0] for one in references} - parts - {own}
        reached = modules(reference)
        assert own in reached
        assert not others & reached
        assert not any(name.endswith(".registry") for name in reached)


RENAMED = """
import sys
from pathlib import Path
from awt.runtime.code import code_of
print(sorted(code_of(["awt.cells.attack:attack", "awt.attacks.square:Square"]).modules.items()))
"""


def test_the_same_files_elsewhere_have_the_same_digests(tmp_path):
    """A clone of the repository finds the first one's cells."""
    source = Path(awt.__file__).parent
    shutil.copytree(source, tmp_path / "src" / "awt", ignore=shutil.ignore_patterns("__pycache__"))
    here, there = (
        subprocess.run(
            [sys.executable, "-c", RENAMED],
            env=os.environ | {"PYTHONPATH": str(folder)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for folder in (source.parent, tmp_path / "src")
    )
    assert here == there
    assert "awt.attacks.square" in here
