"""The code that a function can reach: part of a cell's key, compared by workers, watched by DVC.

Imports are followed from module to module, wherever in a file they stand. Modules of awt and of the user count by their
source, without comments and docstrings, which compute nothing; installed distributions count by their versions, and so
do those that they require. Code that parameters name is code too: every string `module:name` in a cell's parameters.
What moves bytes and decides no value is left out, module by module (`MOVERS`).
"""

import ast
import functools
import importlib.machinery
import importlib.metadata
import re
import socket
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from awt.artifacts import sha256
from awt.errors import InputError
from awt.loading import is_reference

# The modules of awt that a worker loads beside the code of its cell, and why none of them decides a value. (A test runs
# every kind of cell, and fails where a module was loaded that is neither in the cell's key nor here.)
MOVERS: Mapping[str, str] = {
    "awt": "exports names, each of which is followed by itself",
    "awt.errors": "what is raised ends a cell without a result",
    "awt.runtime": "a package without code",
    "awt.runtime.cell": "describes cells and makes their keys",
    "awt.runtime.checkpoints": "saves and restores arrays, sealed by their digests",
    "awt.runtime.code": "finds out which code a cell's key has",
    "awt.runtime.context": "passes on logs, progress and the wish to stop",
    "awt.runtime.cores": "pins a process to cores, whose number is in the key",
    "awt.runtime.courier": "takes sealed checkpoints to the store's URL and back",
    "awt.runtime.device": "says what kind of device there is, which is in the key",
    "awt.runtime.executor": "looks cells up, and keeps what they return",
    "awt.runtime.lock": "keeps a second driver away",
    "awt.runtime.machines": "counts cores, GPUs and memory for schedules",
    "awt.runtime.memory": "has the C library keep freed memory",
    "awt.runtime.mirror": "copies entries, checked by their digests, to and from the store's URL",
    "awt.runtime.options": "how a run runs: resources, retries, places",
    "awt.runtime.pace": "tells cells that lag behind",
    "awt.runtime.progress": "shows a run",
    "awt.runtime.ray_cluster": "connects to Ray",
    "awt.runtime.ray_executor": "has Ray's workers run cells",
    "awt.runtime.ray_tasks": "wraps inputs and results for Ray",
    "awt.runtime.remote": "reads and writes files at a URL",
    "awt.runtime.seals": "digests of checkpoints",
    "awt.runtime.serial_executor": "runs cells in this process",
    "awt.runtime.store": "keeps entries under their keys, checked by their digests",
    "awt.runtime.worker": "applies the settings that are in the key, then calls the cell's function",
}
_NAME = re.compile(r"^[A-Za-z0-9._-]+")
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True)
class Code:
    """What a function can reach: digests of modules' sources, and versions of distributions, by name."""

    modules: Mapping[str, str]
    distributions: Mapping[str, str]

    def as_json(self) -> dict[str, Any]:
        return {"modules": dict(self.modules), "distributions": dict(self.distributions), "python": PYTHON}


@dataclass(frozen=True)
class _Module:
    """A source file: its digest, the dotted names that it imports, the references that it has in strings."""

    digest: str
    imports: frozenset[str]
    references: frozenset[str]


def code_of(functions: Iterable[str]) -> Code:
    """The code behind some functions, each `module:name`, as it lies on the disk when this is first asked."""
    return _code_of(frozenset(name.partition(":")[0] for name in functions))


@functools.cache
def _code_of(starts: frozenset[str]) -> Code:
    for name in starts:
        if _source(name) is None:
            raise InputError(f"{name}: no module of awt or of yours is called so (is its folder on PYTHONPATH?)")
    modules, distributions = {}, set[str]()
    waiting, seen = list(starts), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or name in MOVERS:
            continue
        seen.add(name)
        path = _source(name)
        if path is None:
            distributions |= _distributions_of(name)
            continue
        found = _parsed(path)
        modules[name] = found.digest
        waiting += found.imports
        waiting += _parents(name)
    versions = {name: importlib.metadata.version(name) for name in sorted(_required(frozenset(distributions)))}
    return Code(dict(sorted(modules.items())), versions)


def user_modules(functions: Iterable[str]) -> list[Path]:
    """The user's own packages and modules behind some functions: what a cluster's workers must be sent beside awt."""
    tops = {name.partition(".")[0] for name in code_of(functions).modules} - {"awt"}
    paths = [path for top in sorted(tops) for path in _places(top)]
    return [path.parent if path.name == "__init__.py" else path for path in paths]


def is_own(module: str) -> bool:
    """Whether a module is awt's or the user's, and not an installed one."""
    return _source(module) is not None


def source_of(module: str) -> Path | None:
    """The file of a module that is awt's or the user's."""
    return _source(module)


def named_in(module: str) -> frozenset[str]:
    """The functions of awt and the user that a module names in strings."""
    path = _source(module)
    found = _parsed(path).references if path else frozenset()
    return frozenset(name for name in found if is_own(name.partition(":")[0]))


def check(described: Mapping[str, Any], functions: Iterable[str]) -> None:
    """Refuses to compute with other code than the driver's: the result would be kept under a wrong key."""
    own, host = code_of(functions).as_json(), socket.gethostname()
    # code first: other code may import other distributions
    for kind, advice in (("modules", "was it changed during the run?"), ("distributions", "install requirements.lock")):
        here, there = own[kind], described[kind]
        differing = sorted(name for name in here.keys() | there.keys() if here.get(name) != there.get(name))
        if differing and kind == "modules":
            raise InputError(
                f"{host} has other code than the driver ({', '.join(differing)} differ): {advice} "
                "Run again, with the same code everywhere"
            )
        if differing:
            name = differing[0]
            raise InputError(
                f"{host} has {name} {here.get(name, 'not installed')}, the driver {there.get(name)}: {advice}"
            )
    if own["python"] != described["python"]:
        raise InputError(f"{host} has Python {own['python']}, the driver {described['python']}: install the same")


def digest(value: Any) -> str:
    """Of JSON values in any order."""
    import json

    return sha256(json.dumps(value, sort_keys=True, allow_nan=False).encode())


@functools.cache
def _source(module: str) -> Path | None:
    """The source of a module that is awt's or the user's; none for built-in, standard and installed ones."""
    places = _places(module)
    return places[0] if places and places[0].is_file() else None


@functools.cache
def _places(module: str) -> tuple[Path, ...]:
    """The source of a module that is awt's or the user's; of a package without an __init__.py, its folders."""
    package, _, name = module.rpartition(".")
    if not package:
        return _top(name)
    folders = [path.parent if path.name == "__init__.py" else path for path in _places(package)]
    for folder in folders:
        for path in (folder / name / "__init__.py", folder / f"{name}.py"):  # in Python's order
            if path.is_file():
                return (path,)
    return tuple(folder / name for folder in folders if (folder / name).is_dir())


def _top(name: str) -> tuple[Path, ...]:
    if name in sys.stdlib_module_names or name in sys.builtin_module_names:
        return ()
    spec = importlib.machinery.PathFinder.find_spec(name)
    if spec is None:
        return ()
    origins = [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    paths = [Path(one) for one in origins if one.endswith(".py") or not spec.origin]
    return tuple(path for path in paths if name == "awt" or not _is_installed_in(path, name))


def _is_installed_in(path: Path, name: str) -> bool:
    """Whether Python or a distribution put a top-level module where it is; the links of editable installs lie
    elsewhere."""
    providers = _providers().get(name, ())
    folder = path.parent.parent if path.name == "__init__.py" else path.parent
    places = [str(importlib.metadata.distribution(one).locate_file("")) for one in providers]
    places += [sysconfig.get_path(kind) for kind in ("purelib", "platlib") if providers]
    places += [sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib")]  # has more than stdlib_module_names
    return any(Path(place).resolve() == folder.resolve() for place in places)


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[:end]) for end in range(1, len(parts))]


@functools.cache
def _parsed(path: Path) -> _Module:
    try:
        tree = ast.parse(path.read_bytes(), str(path))
    except SyntaxError as error:
        raise InputError(f"{path}, line {error.lineno}: not readable as Python ({error.msg})") from None
    try:
        imports = frozenset([*_imports(tree), *_used_of_awt(tree)])
    except InputError as error:
        raise InputError(f"{path}, {error}") from None
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and is_reference(node.value))
    named = frozenset(map(str, strings))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            _drop_docstring(node)
    return _Module(sha256(ast.dump(tree).encode()), imports, named)


def _drop_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    if ast.get_docstring(node, clean=False) is not None:
        node.body = node.body[1:]


def _imports(node: ast.AST) -> Iterable[str]:
    """Dotted names that may be modules; what is imported for type checkers alone is never run."""
    for child in ast.iter_child_nodes(node):
        yield from _imported(child)


def _imported(node: ast.AST) -> Iterable[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
        yield node.module
        for alias in node.names:
            if _is_inner(node.module, alias.name):  # a name of a package may be a module of its own
                yield f"{node.module}.{alias.name}"
            elif node.module == "awt":
                yield from _exported(alias.name)
    elif isinstance(node, ast.ImportFrom):
        raise InputError(f"line {node.lineno}: a relative import, which is not followed: write the whole name")
    elif isinstance(node, ast.If) and _asks_for_type_checkers(node.test):
        yield from (name for other in node.orelse for name in _imported(other))
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and node.args:
        yield from [str(node.args[0].value)] if isinstance(node.args[0], ast.Constant) else []
    else:
        yield from _imports(node)


def _asks_for_type_checkers(test: ast.expr) -> bool:
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else ""
    return name == "TYPE_CHECKING"


def _used_of_awt(tree: ast.Module) -> Iterable[str]:
    """The modules behind `awt.name`: the package imports its public names when they are first used."""
    aliases = [alias for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    names = {alias.asname or "awt" for alias in aliases if alias.name == "awt"}
    names |= {"awt" for alias in aliases if alias.name.startswith("awt.") and alias.asname is None}
    uses = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in names]
    taken = [
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names
    ]
    # whoever passes the package itself on may use all of it
    for name in taken if len(taken) == len(uses) else ["*"]:
        yield from _exported(name)


def _exported(name: str) -> list[str]:
    """The module of a public name of awt; of all for `*`."""
    path = _source("awt")
    references = [one.partition(":") for one in (_parsed(path).references if path else ())]
    return [module for module, _, exported in references if name in (exported, "*")]


def _is_inner(package: str, name: str) -> bool:
    return bool(_places(f"{package}.{name}"))


@functools.cache
def _providers() -> Mapping[str, list[str]]:
    return importlib.metadata.packages_distributions()


def _distributions_of(module: str) -> set[str]:
    """The installed distributions that a module comes from; of a namespace package, such as google, all of them."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names:
        return set()
    return {_canonical(name) for name in _providers().get(top, ())} - {"awt"}


@functools.cache
def _required(names: frozenset[str]) -> frozenset[str]:
    """These distributions and all that they require and that is installed."""
    found, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += _requirements(name)
    return frozenset(found)


@functools.cache
def _requirements(name: str) -> tuple[str, ...]:
    found = []
    for line in importlib.metadata.requires(name) or ():
        required, _, marker = line.partition(";")
        match = _NAME.match(required.strip())
        if match and "extra" not in marker and _is_installed(match[0]):
            found.append(_canonical(match[0]))
    return tuple(found)


@functools.cache
def _is_installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
