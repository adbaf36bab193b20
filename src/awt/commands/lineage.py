"""`awt lineage`: where a number, a file or a cell came from, and whether that still holds."""

import argparse
import random
import sys
from pathlib import Path
from typing import Any

from awt.artifacts import decode_json, encode_json, write
from awt.errors import InputError, WorkError
from awt.lineage import answer, compare, page, rocrate, text
from awt.lineage.cells import Cells
from awt.lineage.edges import Edge, Status, breaks, check_cells, check_checkpoints, summary
from awt.lineage.pipeline import flat
from awt.lineage.repository import experiment_folders, find_repository
from awt.lineage.snapshot import Snapshot, take
from awt.lineage.targets import Target, find
from awt.lineage.verify import Verifier
from awt.runtime.known import known
from awt.runtime.store import Store
from awt.workflows.code import stage_code, value_at
from awt.workflows.experiment import Experiment, experiment
from awt.workflows.running import check_out, publish
from awt.workflows.workflow import ARTIFACTS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "target",
        nargs="?",
        metavar="TARGET",
        help="metrics.json:table.METHOD.DENSITY.COLUMN, results.csv:METHOD.DENSITY.SEED.COLUMN, an artifact's path, "
        "report/index.html#FIGURE, a checkpoint's folder, a cell's key or label; before it, a revision or an "
        "experiment and a colon",
    )
    what.add_argument("--diff", nargs=2, metavar=("A", "B"), help="two targets: where their histories part")
    what.add_argument("--impact", metavar="ARTIFACT", help="what depends on a file, a parameter or code")
    what.add_argument("--verify-all", action="store_true", help="check every experiment whose results are here")
    parser.add_argument("--deep", action="store_true", help="also compute one cell of each stage again; needs --seed")
    parser.add_argument("--seed", type=int, help="chooses the cells of --deep")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="print JSON")
    shown.add_argument("--md", action="store_true", help="print Markdown")
    shown.add_argument("--html", type=Path, metavar="FILE", help="write a page")
    shown.add_argument("--rocrate", type=Path, metavar="FOLDER", help="write a Workflow Run RO-Crate")


def lineage(arguments: argparse.Namespace) -> None:
    """Prints the answer; fails when what is here is not what was recorded."""
    _check(arguments)
    here = Path.cwd()
    repository = find_repository(here)
    if arguments.verify_all:
        _verify_all(repository, arguments)
    elif arguments.diff:
        one, other = (find(name, repository, here, _store) for name in arguments.diff)
        _print(compare.differences(one, other), compare.text, arguments)
    elif arguments.impact:
        _print(compare.impact(arguments.impact, repository, here, _store), compare.impact_text, arguments)
    else:
        _trace(repository, here, arguments)


def _check(arguments: argparse.Namespace) -> None:
    if arguments.deep != (arguments.seed is not None):
        raise InputError("--deep and --seed go together: the seed chooses the cells that are computed again")
    if arguments.deep and (arguments.diff or arguments.impact or arguments.verify_all):
        raise InputError("--deep: computes cells behind one TARGET; leave it out")
    if not arguments.target and (arguments.md or arguments.html or arguments.rocrate):
        raise InputError("--md, --html and --rocrate show one TARGET; --json is for all")
    if arguments.html and (arguments.html.suffix != ".html" or not arguments.html.absolute().parent.is_dir()):
        raise InputError(f"--html: {arguments.html} is no .html file in a folder that is there")
    if arguments.rocrate:
        check_out("--rocrate", arguments.rocrate, rocrate.METADATA, "a crate", rocrate.belongs)


def _trace(repository: Path, here: Path, arguments: argparse.Namespace) -> None:
    target = find(arguments.target, repository, here, _store)
    asked = experiment(target.snapshot.folder)
    if target.snapshot.revision is not None and arguments.deep:
        raise InputError("--deep: computes with the code that is here; check the revision out first")
    edges = [] if target.snapshot.revision else answer.check(target, asked.store(), _verifier(target.snapshot, asked))
    if arguments.deep:
        edges += _recompute(target, asked, arguments.seed)
    told = answer.answer(target, edges, arguments.target)
    if arguments.html:
        write(arguments.html, page.html(told).encode())
        print(arguments.html.resolve())
    elif arguments.rocrate:
        publish(arguments.rocrate, rocrate.files(told, target.snapshot))
        print((arguments.rocrate / rocrate.METADATA).resolve())
    else:
        _print(told, text.markdown if arguments.md else text.text, arguments)
    _fail(edges)


def _verify_all(repository: Path, arguments: argparse.Namespace) -> None:
    """Every experiment's steps, and every cell and checkpoint of their stores."""
    edges: dict[str, list[Edge]] = {}
    stores: dict[Path, Store] = {}
    failed: list[str] = []
    for folder in experiment_folders(repository):
        place = folder.relative_to(repository).as_posix()
        if not (folder / ARTIFACTS).exists():  # as in a new clone: git has dvc.lock, DVC the results
            print(f"{place}: its results are not here (`dvc pull` or `dvc repro` brings them)", file=sys.stderr)
            continue
        try:
            snapshot, asked = take(repository, place), experiment(folder)
            store = asked.store()
            cells = check_cells(Cells(snapshot, store).made.values(), store)
            edges[place] = _verifier(snapshot, asked).everything() + cells
        except InputError as error:  # the others can be verified all the same
            failed.append(str(error))
            continue
        stores[store.root.resolve()] = store
    if not edges:
        raise InputError("; ".join(failed) or "no experiment of this repository has results here: `dvc repro` first")
    for store in stores.values():
        begun = [one for one in known(store) if one.state == "checkpointed"]
        edges[str(store.root)] = [edge for one in begun for edge in check_checkpoints(one.key, one.stage, store)]
    _print({place: summary(some) for place, some in edges.items() if some}, text.summaries, arguments)
    if failed:
        raise InputError("; ".join(failed))
    _fail([edge for some in edges.values() for edge in some])


def _recompute(target: Target, asked: Experiment, seed: int) -> list[Edge]:
    """One cell of each stage behind the target, by chance, computed again."""
    from awt.commands.recompute import recompute  # the executor: only where it is needed

    chance, edges, store = random.Random(seed), [], asked.store()
    behind = {one.key: one for one in target.cells.behind(target.nearest) if one.entry}
    described = {one.key: one for one in known(store) if one.key in behind}
    for stage in answer.steps_of(target):
        keys = sorted(key for key in described if behind[key].stage == stage)
        if not keys:
            continue
        one = described[chance.choice(keys)]
        differing = recompute(asked, store, one, serial=True).differing
        status, remark = Status.OK, "the same bytes"
        if differing != []:
            status, remark = Status.MODIFIED, f"other bytes: {', '.join(differing or ['nothing to compare with'])}"
        edges.append(Edge(stage, "recomputed", f"{one.cell.label} ({one.key[:12]})", status, remark, one.key))
    return edges


def _store(folder: Path) -> Store:
    return experiment(folder).store()


def _verifier(snapshot: Snapshot, asked: Experiment) -> Verifier:
    """One that compares with what the experiment's stages would run with now."""
    values = decode_json(encode_json(asked.workflow.effective(asked.params)), "params.yaml")

    def params_now(name: str) -> dict[str, Any]:
        leaves: dict[str, Any] = {}
        for key in asked.workflow.stage(name).params:
            leaves |= flat(value_at(values, key), key)
        return leaves

    return Verifier(snapshot, params_now, lambda name: stage_code(asked.workflow.stage(name), values))


def _print(told: dict[str, Any], show: Any, arguments: argparse.Namespace) -> None:
    print(encode_json(told).decode() if arguments.json else show(told) + "\n", end="")


def _fail(edges: list[Edge]) -> None:
    broken = breaks(edges)
    if broken:
        first = broken[0]
        raise WorkError(
            f"the lineage is broken at {len(broken)} of {len(edges)} edges, first at "
            f"{first.stage or 'the experiment'}: {first.kind} {first.name}: {first.status}"
        )
