"""Code and parameters: dvc.lock, the run record and what is here must agree, and where they do not is named."""

import json

import pytest

from awt.artifacts import encode_json, write
from awt.errors import InputError
from awt.lineage.compare import impact
from awt.lineage.edges import Status
from awt.lineage.hashes import hash_file
from awt.lineage.records import RECORDS, Run, run_id
from awt.lineage.snapshot import graph_of, take
from awt.lineage.verify import Verifier
from awt.runtime.code import digest
from awt.runtime.store import Store

CODE = {"modules": {"mine": "1" * 64, "awt.names": "2" * 64}, "distributions": {"numpy": "2.0"}, "python": "3.11"}
PARAMS = {"fit.rate": 0.5, "fit.steps": 3}
PIPELINE = """
stages:
  code: {cmd: w, always_changed: true, outs: [artifacts/code.json, artifacts/params.json]}
  fit:
    cmd: python ${root}/fit.py
    deps: [given.csv]
    params: [artifacts/code.json: [fit], artifacts/params.json: [fit]]
    outs: [artifacts/fit.json, artifacts/records/fit.json]
"""


@pytest.fixture
def folder(tmp_path):
    """An experiment that has run."""
    files = {
        "dvc.yaml": PIPELINE,
        "params.yaml": "root: .\n",
        "given.csv": "x",
        "artifacts/fit.json": "{}",
        "mine.py": "",
    }
    for name, content in files.items():
        write(tmp_path / name, content.encode())
    run = Run.begin("fit", tmp_path, tmp_path, {"fit": {"rate": 0.5, "steps": 3}}, CODE)
    keep(tmp_path, run.record(executor="serial", platform="cpu", cells={}, seeds=[]))
    return tmp_path


def keep(folder, record):
    """Writes a record, and a dvc.lock that has its hash."""
    write(folder / RECORDS / "fit.json", encode_json(record))
    outs = ("artifacts/fit.json", "artifacts/records/fit.json")
    hashes = {name: {"path": name, "md5": hash_file(folder / name).md5} for name in ("given.csv", *outs)}
    step = {
        "cmd": "python ./fit.py",
        "deps": [hashes["given.csv"]],
        "params": {
            "artifacts/code.json": {"fit": digest(CODE)},
            "artifacts/params.json": {"fit": {"rate": 0.5, "steps": 3}},
        },
        "outs": [hashes[name] for name in outs],
    }
    write(folder / "dvc.lock", encode_json({"stages": {"fit": step, "code": {"cmd": "w"}}}))


def recorded(folder):
    return json.loads((folder / RECORDS / "fit.json").read_text())


def broken(folder, params=PARAMS, code=CODE):
    edges = Verifier(take(folder), lambda stage: params, lambda stage: code).everything()
    return [(edge.kind, edge.name, edge.remark) for edge in edges if edge.status != Status.OK]


def test_nothing_changed(folder):
    assert broken(folder) == []


def test_other_code_is_named_by_its_file(folder):
    now = CODE | {"modules": CODE["modules"] | {"mine": "3" * 64}}
    assert broken(folder, code=now) == [("code", "mine.py", "was 111111111111, is 333333333333 now")]
    now = CODE | {"modules": {"mine": "1" * 64, "awt.other": "4" * 64}}
    assert [edge[1:] for edge in broken(folder, code=now)] == [
        ("src/awt/names.py", "was 222222222222, is not reached now"),
        ("src/awt/other.py", "was not reached, is 444444444444 now"),
    ]


def test_other_versions(folder):
    now = CODE | {"distributions": {"numpy": "2.1"}, "python": "3.12"}
    assert broken(folder, code=now) == [
        ("version", "numpy", "was 2.0, is 2.1 now"),
        ("version", "python", "was 3.11, is 3.12 now"),
    ]


def test_a_record_that_names_other_code_than_ran(folder):
    record = recorded(folder)
    record["code"]["modules"]["mine"] = "3" * 64
    keep(folder, record | {"run": run_id(record)})
    now = CODE | {"modules": record["code"]["modules"]}
    name, remark = "artifacts/code.json: fit", "the run record's modules do not give its digest: it was edited"
    assert broken(folder, code=now) == [("code", name, remark)]
    record["code"]["digest"] = digest(now)
    keep(folder, record | {"run": run_id(record)})
    assert broken(folder, code=now) == [("code", name, "dvc.lock and the run record disagree")]


def test_code_without_a_record(folder):
    (folder / RECORDS / "fit.json").unlink()
    kinds = {kind for kind, *_ in broken(folder)}
    assert kinds == {"output"}
    assert ("code", "artifacts/code.json: fit", "changed since the run") in broken(
        folder, code=CODE | {"python": "3.12"}
    )


def test_other_parameters(folder):
    assert broken(folder, params=PARAMS | {"fit.rate": 0.1}) == [
        ("parameter", "fit.rate", "was 0.5, params.yaml now says 0.1")
    ]
    record = recorded(folder)
    record["params"]["fit.steps"] = 4
    keep(folder, record | {"run": run_id(record)})
    assert broken(folder) == [("parameter", "fit.steps", "was 3, dvc.lock and the run record disagree; it says 4")]


def test_a_file_that_no_stage_makes(folder):
    write(folder / "given.csv", b"y")
    assert broken(folder) == [("input", "given.csv", "changed since the run")]
    (folder / "given.csv").unlink()
    assert broken(folder) == [("input", "given.csv", "no stage makes it: bring it back")]


def test_a_stage_that_is_gone_from_the_pipeline(folder):
    write(folder / "dvc.yaml", PIPELINE.partition("  fit:")[0].encode())
    assert [edge for edge in broken(folder) if edge[0] != "input"] == [
        ("command", "python ./fit.py", "dvc.yaml now says: no stage")
    ]


def test_what_was_recorded_by_an_older_awt(folder):
    write(folder / RECORDS / "fit.json", encode_json(recorded(folder) | {"format_version": 1}))
    with pytest.raises(InputError, match=r"^artifacts/records/fit\.json: recorded by awt 0\.1: run `dvc repro` again$"):
        broken(folder)
    write(folder / "dvc.lock", b"stages: {fit: {cmd: x, deps: [{path: ./src/awt/x.py, md5: abc}]}}")
    with pytest.raises(InputError, match=r"^dvc\.lock: recorded by awt 0\.1: run `dvc repro` again$"):
        take(folder)


def test_the_graph_has_every_module_by_its_file(folder):
    graph = graph_of(take(folder))
    code = {name: (node.label, node.content) for name, node in graph.nodes.items() if node.kind == "code"}
    assert code == {"code mine": ("mine.py", "1" * 64), "code awt.names": ("src/awt/names.py", "2" * 64)}
    assert {"code mine", "parameter fit.rate", "artifact given.csv", "numpy of fit"} <= graph.upstream("stage fit")


@pytest.mark.parametrize("asked", ["mine.py", "mine", "src/awt", "awt.names", "fit.rate", "fit", "given.csv"])
def test_impact(folder, asked):
    store = Store(folder / "store")
    assert impact(asked, folder, folder, lambda where: store)["artifacts"] == ["artifacts/fit.json"]


def test_impact_of_what_nothing_depends_on(folder):
    with pytest.raises(InputError, match=r"no file, parameter or code"):
        impact("src/awt/errors.py", folder, folder, lambda where: Store(folder / "store"))
