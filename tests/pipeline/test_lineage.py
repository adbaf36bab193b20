"""`awt lineage`: the way back from a number, and every fault on it named where it is."""

import json
import re
import shutil
import subprocess
import sys

import pytest

from awt.artifacts import encode_json, read_json, sha256_file, write
from awt.commands import main as cli
from awt.errors import run
from awt.lineage.hashes import hash_file
from awt.runtime.seals import seal
from awt.runtime.store import Store

NUMBER = "metrics.json:table.awt.0.1.adversarial"
COMMIT = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qam")


@pytest.fixture(scope="module")
def locked(finished, tmp_path_factory):
    """A finished experiment whose dvc.lock is in git; not to be changed."""
    workspace = finished.copy(tmp_path_factory.mktemp("locked") / "repository")
    workspace.command("git", "add", "dvc.lock")
    assert workspace.command(*COMMIT, "locked").returncode == 0
    return workspace


@pytest.fixture
def ask(monkeypatch, capsys):
    """`awt lineage` in a workspace, in this process: its exit code, what it printed, what it complained of."""

    def call(workspace, *words):
        monkeypatch.chdir(workspace.folder)
        arguments = cli.parser(["lineage"]).parse_args(["lineage", *words])
        code = run(lambda: arguments.function(arguments))
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call


@pytest.fixture
def broken(ask):
    """The edges that are not OK, as (stage, kind, name, status)."""

    def find(workspace, *words):
        code, out, _ = ask(workspace, *(words or (NUMBER,)), "--json")
        found = json.loads(out)
        edges = found["edges"] if "edges" in found else [edge for one in found.values() for edge in one["told"]]
        bad = [(e["stage"], e["kind"], e["name"], e["status"]) for e in edges if e["status"] != "OK"]
        assert code == any(status in ("MODIFIED", "MISSING") for *_, status in bad)
        return bad

    return find


def awt(workspace, *words):
    """The command in a process of its own, which has the workspace's code and not that of this one."""
    return workspace.command(sys.executable, "-c", "from awt.commands.main import main; main()", "lineage", *words)


def change_code(path):
    """A change that counts: comments do not."""
    path.write_text(path.read_text() + "\n_ADDED = 0\n")


def stages_run(workspace):
    """Those that `dvc repro` runs."""
    return re.findall(r"Running stage '(\w+)'", workspace.dvc("repro", "dvc.yaml"))


def flip(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.chmod(0o644)  # DVC's cache is read-only
    path.write_bytes(data)


def edit_record(workspace, stage, **changes):
    write(workspace.folder / "artifacts" / "records" / f"{stage}.json", encode_json(workspace.record(stage) | changes))


def test_a_number_is_traced_to_the_raw_data(locked, ask):
    code, out, _ = ask(locked, NUMBER)
    assert code == 0
    value = read_json(locked.folder / "artifacts" / "metrics.json")["table"]["awt"]["0.1"]["adversarial"]
    assert out.startswith(f"{NUMBER} = {value}\n")
    assert sha256_file(locked.folder / "artifacts" / "metrics.json") in out
    stages = re.findall(r"^(\w+): python", out, re.M)
    assert stages == ["evaluate", "retrain", "mask", "kernel", "prepare"]
    for part in (
        "retrain.epochs 24",
        "git ",
        "clean",
        "jax 0.9.2",
        "devices cpu",
        "seeds 0",
        "sklearn.datasets.load_digits",
    ):
        assert part in out
    cells = re.findall(r"^  cell \w+ (.*?): computed", out, re.M)
    assert cells[:3] == [f"evaluate awt-0.1-seed0 pgd100 points {c}" for c in ("0-200", "200-359")] + [
        "retrain awt-0.1-seed0"
    ]
    assert set(cells[3:]) >= {"mask awt-0.1-seed0", "initial weights seed0"}
    assert not any("0.3" in label or "random" in label for label in cells)
    assert "MODIFIED" not in out
    assert "dvc repro evaluate" in out


def test_numbers_of_the_report_have_answers(locked, ask):
    table = read_json(locked.folder / "artifacts" / "metrics.json")["table"]
    for method in ("awt", "dense"):
        for density, columns in table[method].items():
            for column in columns:
                found = json.loads(
                    ask(locked, f"artifacts/metrics.json:table.{method}.{density}.{column}", "--json")[1]
                )
                assert found["value"] == columns[column]
                assert found["sound"]
                assert any(cell["label"] == f"retrain {method}-{density}-seed0" for cell in found["steps"][1]["behind"])


@pytest.mark.parametrize(
    ("target", "stage", "cell"),
    [
        ("artifacts/masks/awt-0.1-seed0.npz", "mask", "mask awt-0.1-seed0"),
        ("artifacts/models/random-0.3-seed0.npz", "retrain", "retrain random-0.3-seed0"),
        ("artifacts/gram/seed-0/tile-000000-000000.npy", "kernel", "gram dense-1-seed0 tile-000000-000000.npy"),
        ("results.csv:awt.0.3.0.natural", "evaluate", "evaluate awt-0.3-seed0 pgd100 points 0-200"),
        ("kernels.csv:awt.0.3.0.trained.trace", "evaluate", "gram awt-0.3-seed0 trained tile-000000-000000.npy"),
        ("report/table.csv:awt.0.1.adversarial_mean", "report", "evaluate awt-0.1-seed0 pgd100 points 0-200"),
        ("report/index.html#1", "report", None),
        ("mask awt-0.3-seed0", "mask", "mask awt-0.3-seed0"),
    ],
)
def test_targets(locked, ask, target, stage, cell):
    code, out, _ = ask(locked, target, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["steps"][0]["stage"] == stage
    labels = [one["label"] for step in found["steps"] for one in step["behind"]]
    assert cell is None or cell in labels


def test_mistakes_are_told(locked, ask):
    for words, message in [
        (["absent"], "is no number"),
        (["metrics.json:table.awt.0.2.natural"], "there is: 0.1, 0.3"),
        (["metrics.json:table.awt"], "go on with one of: 0.1, 0.3"),
        (["report/index.html#99"], "the page has figures #1 to #"),
        ([NUMBER, "--deep"], "--deep and --seed go together"),
        (["--impact", "absent"], "is no file, parameter or code"),
        ([f"HEAD~1:{NUMBER}"], "has no dvc.lock"),
        (["--verify-all", "--md"], "show one TARGET"),
        ([NUMBER, "--rocrate", "."], "has other things in it than a crate"),
        ([NUMBER, "--html", "params.yaml"], "is no .html file"),
    ]:
        code, _, complaint = ask(locked, *words)
        assert (code, message in complaint) == (2, True), (words, complaint)


def test_a_whole_experiment_is_sound(locked, ask):
    code, out, _ = ask(locked, "--verify-all")
    assert code == 0
    assert re.fullmatch(r"the default experiment: \d+ OK\n", out)


@pytest.mark.parametrize(
    ("path", "stage"),
    [
        ("artifacts/masks/awt-0.1-seed0.npz", "mask"),
        ("artifacts/gram/seed-0/tile-000000-000000.npy", "kernel"),
        ("artifacts/metrics.json", "evaluate"),
    ],
)
def test_a_flipped_bit_in_an_artifact(locked, copy_of, broken, path, stage):
    workspace = copy_of(locked)
    flip(workspace.folder / path)
    assert broken(workspace, path) == [(stage, "output", path, "MODIFIED")]
    assert broken(workspace, "--verify-all") == [(stage, "output", path, "MODIFIED")]


def test_what_a_number_does_not_depend_on_does_not_break_it(locked, copy_of, broken):
    workspace = copy_of(locked)
    flip(workspace.folder / "artifacts/gram/seed-0/tile-000000-000000.npy")
    assert broken(workspace) == []


def test_a_flipped_bit_in_the_cache(locked, copy_of, broken):
    workspace = copy_of(locked)
    md5 = hash_file(workspace.folder / "artifacts/masks/awt-0.1-seed0.npz").md5
    place = f"files/md5/{md5[:2]}/{md5[2:]}"
    flip(workspace.path / ".dvc" / "cache" / place)
    name = f"artifacts/masks/awt-0.1-seed0.npz: {place}"
    assert broken(workspace) == [("mask", "cache", name, "MODIFIED")]


def test_a_flipped_bit_in_a_cell_of_the_store(locked, copy_of, broken):
    workspace = copy_of(locked)
    [key] = workspace.keys("mask awt-0.1-seed0")
    flip(workspace.path / ".awt" / "store" / "cells" / key[:2] / key / "mask.npz")
    assert broken(workspace) == [("mask", "cell", f"mask awt-0.1-seed0 ({key[:12]})", "MODIFIED")]


def test_a_flipped_bit_in_a_checkpoint(locked, copy_of, broken):
    workspace = copy_of(locked)
    [key] = workspace.keys("mask awt-0.1-seed0")
    store = Store(workspace.path / ".awt" / "store")
    write(store.checkpoints(key) / "5" / "state" / "array", b"some numbers")
    seal(store.checkpoints(key), 5)
    shutil.rmtree(store.root / "cells" / key[:2] / key)  # as before it was finished
    target = f".awt/store/work/{key}/checkpoints/5"
    assert broken(workspace, target) == broken(workspace, "--verify-all") == []
    flip(store.checkpoints(key) / "5" / "state" / "array")
    edge = ("mask", "checkpoint", f"{key[:12]}, step 5", "MODIFIED")
    assert broken(workspace, target) == broken(workspace, "--verify-all") == [edge]


def test_swapped_masks(locked, copy_of, ask):
    workspace = copy_of(locked)
    one, other = (workspace.folder / f"artifacts/masks/awt-{density}-seed0.npz" for density in ("0.1", "0.3"))
    first, second = one.read_bytes(), other.read_bytes()
    one.unlink(), other.unlink()
    one.write_bytes(second), other.write_bytes(first)
    code, out, _ = ask(workspace, NUMBER)
    assert code == 1
    assert "MODIFIED    mask: output artifacts/masks/awt-0.1-seed0.npz (has the content of awt-0.3-seed0.npz)" in out
    assert "MODIFIED    mask: output artifacts/masks/awt-0.3-seed0.npz (has the content of awt-0.1-seed0.npz)" in out


def test_edited_parameters_and_source(locked, copy_of, broken):
    workspace = copy_of(locked)
    workspace.edit({"retrain.learning_rate": 0.5})
    name = "retrain.learning_rate"
    assert set(broken(workspace)) == {(stage, "parameter", name, "MODIFIED") for stage in ("evaluate", "retrain")}
    workspace.edit({"retrain.learning_rate": 3.0e-3})
    path = workspace.path / "src" / "awt" / "tickets" / "random.py"
    path.write_text(path.read_text() + "# a comment\n")
    assert awt(workspace, NUMBER).returncode == 0
    change_code(path)
    done = awt(workspace, NUMBER, "--json")
    assert done.returncode == 1
    edges = [edge for edge in json.loads(done.stdout)["edges"] if edge["status"] != "OK"]
    assert {(edge["kind"], edge["name"], edge["status"]) for edge in edges} == {
        ("code", "src/awt/tickets/random.py", "MODIFIED")
    }
    # those that depend on the section `tickets`
    assert [edge["stage"] for edge in edges] == ["evaluate", "retrain", "mask", "kernel"]


def test_results_of_an_older_awt(locked, copy_of, ask):
    workspace = copy_of(locked)
    edit_record(workspace, "mask", format_version=1)
    message = "error: artifacts/records/mask.json: recorded by awt 0.1: run `dvc repro` again\n"
    assert ask(workspace, NUMBER) == (2, "", message)
    assert ask(workspace, "--verify-all")[::2] == (2, message)


def test_edited_dvc_lock(locked, copy_of, broken, ask):
    workspace = copy_of(locked)
    lock = workspace.folder / "dvc.lock"
    before = lock.read_text()
    md5 = hash_file(workspace.folder / "artifacts" / "metrics.json").md5
    lock.write_text(before.replace(md5, "0" * 32, 1))
    assert broken(workspace) == [("evaluate", "lock", "dvc.lock: artifacts/metrics.json", "MODIFIED")]
    assert "differs from git's HEAD" in ask(workspace, NUMBER)[1]
    lock.write_text(before.replace("epochs: 24", "epochs: 25"))
    assert {edge[:3] for edge in broken(workspace)} >= {("retrain", "parameter", "retrain.epochs")}


def test_a_number_and_its_hash_edited_together(locked, copy_of, broken):
    workspace = copy_of(locked)
    path, lock = workspace.folder / "artifacts" / "metrics.json", workspace.folder / "dvc.lock"
    md5 = hash_file(path).md5
    flip(path)
    lock.write_text(lock.read_text().replace(md5, hash_file(path).md5))
    assert broken(workspace, "artifacts/metrics.json") == [("evaluate", "output", "artifacts/metrics.json", "MODIFIED")]


def test_an_edited_record(locked, copy_of, broken):
    workspace = copy_of(locked)
    edit_record(workspace, "mask", host="elsewhere")
    name = "artifacts/records/mask.json"
    assert broken(workspace) == [("mask", "record", name, "MODIFIED"), ("mask", "record", "mask", "MODIFIED")]
    edit_record(workspace, "mask", host=locked.record("mask")["host"], outputs={})
    found = {edge[:3] for edge in broken(workspace)}
    assert {("mask", "record", name), ("retrain", "parent", "mask")} <= found
    for shape in ({"inputs": 3}, {"git": {}}, {"cells": []}):
        edit_record(workspace, "mask", **shape)
        assert ("mask", "record", name, "MODIFIED") in broken(workspace)


def test_a_stage_that_ran_again_from_a_dirty_tree_and_gave_the_same(locked, copy_of, ask):
    """Its record has other times than the one that later stages know, and dvc.lock follows."""
    workspace = copy_of(locked)
    (workspace.path / "README.md").write_text("changed\n")
    assert workspace.stage("prepare").returncode == 0
    workspace.dvc("commit", "-f", "prepare")
    code, out, _ = ask(workspace, NUMBER)
    assert code == 0
    assert "OK          kernel: parent prepare (rerun since, same outputs)" in out
    assert re.search(r"OK          prepare: git \w{12} \(dirty when it ran", out)


def test_a_deleted_artifact(locked, copy_of, broken, ask):
    workspace = copy_of(locked)
    (workspace.folder / "artifacts/masks/awt-0.1-seed0.npz").unlink()
    shutil.rmtree(workspace.folder / "artifacts/models")
    name = "artifacts/masks/awt-0.1-seed0.npz"
    assert broken(workspace) == [
        ("retrain", "output", "artifacts/models", "MISSING"),
        ("mask", "output", name, "MISSING"),
    ]
    assert "`dvc checkout` brings it back" in ask(workspace, name)[1]


def test_another_clone_has_results_and_lineage_from_the_remote(locked, copy_of, broken, ask, tmp_path):
    workspace = copy_of(locked)
    remote, clone = tmp_path / "remote", type(locked)(tmp_path / "clone", dict(locked.environment))
    workspace.dvc("remote", "add", "-d", "shared", str(remote))
    workspace.dvc("push", "dvc.yaml")
    assert workspace.command(*COMMIT, "remote").returncode == 0
    subprocess.run(["git", "clone", "-q", workspace.path, clone.path], check=True)
    statuses = {status for *_, status in broken(clone, "artifacts/metrics.json")}
    assert statuses == {"REMOTE-ONLY"}
    md5 = hash_file(locked.folder / "artifacts" / "metrics.json").md5
    kept = remote / "files" / "md5" / md5[:2] / md5[2:]
    whole = kept.read_bytes()
    flip(kept)
    assert ("evaluate", "output", "artifacts/metrics.json", "MODIFIED") in broken(clone, "artifacts/metrics.json")
    kept.write_bytes(whole)
    clone.dvc("pull", "dvc.yaml")
    code, out, _ = ask(clone, "--verify-all")
    assert (code, out.splitlines()[1:]) == (0, [])
    code, out, _ = ask(clone, NUMBER)
    assert code == 0
    assert "retrain awt-0.1-seed0: computed" in out
    assert "mask awt-0.1-seed0: computed" in out
    assert "not in the store here" in out
    assert stages_run(clone) == ["code"]
    assert clone.results() == locked.results()


def test_differences_between_revisions_experiments_and_cells(locked, copy_of, ask):
    workspace = copy_of(locked)
    words = "src/awt/workflows/tickets/reporting/words.py"
    change_code(workspace.path / words)
    assert workspace.command(*COMMIT, "reword the report").returncode == 0
    workspace.dvc("repro")
    assert workspace.command(*COMMIT, "report").returncode == 0
    workspace.edit({"report.source": "a book"})
    workspace.dvc("repro")
    assert workspace.command(*COMMIT, "source").returncode == 0

    table = "report/table.csv"
    found = json.loads(ask(workspace, "--diff", f"HEAD~1:{table}", f"HEAD:{table}", "--json")[1])
    assert [change["name"] for change in found["first"]] == ["parameter report.source"]
    assert (found["first"][0]["one"], found["first"][0]["other"]) == ("", "a book")
    assert found["also"] == []
    back = json.loads(ask(workspace, "--diff", table, f"HEAD~1:{table}", "--json")[1])
    assert [change["name"] for change in back["follows"]] == [change["name"] for change in found["follows"]]
    out = ask(workspace, "--diff", f"HEAD~3:{table}", f"HEAD~1:{table}")[1]
    assert re.search(rf"they part at:\n  code {re.escape(words)}: .*\n    commit \w+ reword the report\n", out)
    out = ask(workspace, "--diff", "mask awt-0.1-seed0", "mask awt-0.3-seed0")[1]
    assert (
        "they part at:\n  parameter density of mask awt-0.1-seed0 | density of mask awt-0.3-seed0: 0.1 | 0.3\n" in out
    )
    assert "nothing differs" in ask(workspace, "--diff", NUMBER, f"HEAD~3:{NUMBER}")[1]


def test_experiments_in_pipelines(locked, copy_of, ask):
    """As if it had run there: paths to the scripts are other ones, all else is the same."""
    workspace = copy_of(locked)
    folder = workspace.path / "pipelines" / "same"
    for name in ("artifacts", "report"):
        shutil.copytree(workspace.path / name, folder / name)
    (folder / "dvc.yaml").symlink_to("../../dvc.yaml")
    shutil.copy(workspace.path / "params.yaml", folder)
    (folder / "dvc.lock").write_text((workspace.path / "dvc.lock").read_text().replace(" ./", " ../../"))
    inner = type(workspace)(workspace.path, workspace.environment, "pipelines/same")
    inner.edit({"root": "../.."})
    code, out, _ = ask(workspace, "--verify-all")
    assert code == 0, out
    assert "pipelines/same: " in out
    outside, inside = (
        ask(*words)[1].splitlines()[1:-1] for words in ((workspace, f"pipelines/same:{NUMBER}"), (inner, NUMBER))
    )
    assert outside == inside
    assert "nothing differs" in ask(workspace, "--diff", NUMBER, f"pipelines/same:{NUMBER}")[1]
    flip(folder / "artifacts" / "metrics.json")
    assert ask(workspace, "--verify-all")[0] == 1
    shutil.rmtree(folder / "artifacts")  # as in a new clone
    code, out, err = ask(workspace, "--verify-all")
    assert code == 0, out
    assert "pipelines/same: its results are not here" in err


@pytest.mark.slow
def test_a_number_before_and_after_a_change_and_after_going_back(locked, copy_of, ask):
    workspace = copy_of(locked)
    workspace.edit({"retrain.epochs": 3, "evaluate.attacks.pgd100.steps": 4})
    workspace.dvc("repro")
    found = json.loads(ask(workspace, "--diff", f"HEAD:{NUMBER}", NUMBER, "--json")[1])
    assert [change["name"] for change in found["first"]] == ["parameter retrain.epochs"]
    assert [change["name"] for change in found["also"]] == [
        "parameter evaluate.attacks.pgd100.steps",
        "parameter evaluate.suites.pgd100.pgd100",  # the attack with all its settings
    ]
    assert found["one"]["value"] != found["other"]["value"]
    workspace.edit({"retrain.epochs": 24, "evaluate.attacks.pgd100.steps": 5})
    assert stages_run(workspace) == ["code"]  # records come back with the run cache
    assert ask(workspace, "--verify-all")[0] == 0
    assert workspace.record("evaluate") == locked.record("evaluate")


def test_impact(locked, ask):
    found = json.loads(ask(locked, "--impact", "artifacts/masks/awt-0.1-seed0.npz", "--json")[1])
    assert found["stages"] == ["retrain", "evaluate", "report"]
    assert {cell["label"] for cell in found["cells"]} >= {"retrain awt-0.1-seed0"}
    assert not any("0.3" in cell["label"] for cell in found["cells"])
    assert json.loads(ask(locked, "--impact", "evaluate.chunk_points", "--json")[1])["stages"] == ["evaluate", "report"]
    assert "stage mask" in ask(locked, "--impact", "src/awt/tickets/awt.py")[1]
    assert "nothing came from" in ask(locked, "--impact", "report/table.csv")[1]


def test_pages_and_crates(locked, ask, tmp_path):
    assert ask(locked, NUMBER, "--html", str(tmp_path / "page.html"))[0] == 0
    page = (tmp_path / "page.html").read_text()
    assert "every edge holds" in page
    assert not re.search(r"(src|href)=", page)
    assert "## retrain" in ask(locked, NUMBER, "--md")[1]
    assert ask(locked, NUMBER, "--rocrate", str(tmp_path / "crate"))[0] == 0
    check_crate(tmp_path / "crate", {"prepare", "kernel", "mask", "retrain", "evaluate"})


def check_crate(folder, stages):
    """What the profile asks for (Provenance Run Crate 0.5), and that every reference leads somewhere."""
    graph = read_json(folder / "ro-crate-metadata.json")["@graph"]
    by_id = {entity["@id"]: entity for entity in graph}
    assert len(by_id) == len(graph)

    def references(value):
        if isinstance(value, dict) and set(value) == {"@id"}:
            return {value["@id"]}
        nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return {name for one in nested for name in references(one)}

    assert references(graph) - set(by_id) == {"https://w3id.org/ro/crate/1.1"}
    root, workflow = by_id[by_id["ro-crate-metadata.json"]["about"]["@id"]], by_id["dvc.yaml"]
    assert root["@type"] == "Dataset"
    assert all(name in root for name in ("name", "description", "datePublished", "license"))
    assert root["mainEntity"] == {"@id": "dvc.yaml"}
    assert set(workflow["@type"]) == {"File", "SoftwareSourceCode", "ComputationalWorkflow", "HowTo"}
    steps = [by_id[one["@id"]] for one in workflow["step"]]
    assert [step["@type"] for step in steps] == ["HowToStep"] * len(stages)
    assert [step["workExample"] for step in steps] == workflow["hasPart"]
    controls = {
        one["instrument"]["@id"]: by_id[one["object"]["@id"]] for one in graph if one["@type"] == "ControlAction"
    }
    for step in steps:
        made = controls[step["@id"]]
        assert made["@type"] == "CreateAction"
        assert made["instrument"] == step["workExample"]
        assert made["startTime"] <= made["endTime"]
    assert {one["name"] for one in graph if one["@type"] == "SoftwareApplication"} == {"DVC", *stages}
    for entity in graph:
        if "File" in entity["@type"] and not entity["@id"].startswith("ni:///sha-256;"):
            assert (folder / entity["@id"]).is_file()
            if "sha256" in entity:
                assert sha256_file(folder / entity["@id"]) == entity["sha256"]


@pytest.mark.slow
def test_deep_computes_cells_again(locked, copy_of):
    workspace = copy_of(locked)
    done = awt(workspace, "artifacts/initial/seed-0.npz", "--deep", "--seed", "0")
    assert done.returncode == 0, done.stderr
    assert "kernel: recomputed initial weights seed0" in done.stdout
    assert "(the same bytes)" in done.stdout
