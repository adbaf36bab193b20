"""`awt data`: what it lists, fetches and verifies in the folder of an experiment."""

import gzip
import hashlib
import json
import shutil
import struct
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from ruamel.yaml import YAML

from awt.data import cifar10, cifar100, fashion_mnist, mnist
from awt.data.prepare import PRESENT, READERS

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """A folder with the default parameters, the current one, whose data folder is empty and which has no network."""
    shutil.copy(PROJECT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("AWT_DATA_DIR", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    offline = replace(mnist.FILES.source, mirrors=("http://127.0.0.1:1/",))
    monkeypatch.setattr(mnist, "FILES", replace(mnist.FILES, source=offline))
    return tmp_path


@pytest.fixture
def awt_data(awt):
    return partial(awt, "data")


@pytest.fixture
def small_mnist(experiment, monkeypatch) -> Path:
    """A few points in MNIST's place, whose digests stand in for the real ones."""
    folder = experiment / "data" / "mnist"
    folder.mkdir(parents=True)
    digests = {}
    for prefix, points in (("train", 30), ("t10k", 10)):
        arrays = {
            "images-idx3": np.zeros((points, 5, 4), np.uint8),
            "labels-idx1": np.arange(points, dtype=np.uint8) % 10,
        }
        for kind, array in arrays.items():
            head = bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape)
            content = head + array.tobytes()
            digests[f"{prefix}-{kind}-ubyte"] = hashlib.md5(content).hexdigest()
            (folder / f"{prefix}-{kind}-ubyte.gz").write_bytes(gzip.compress(content))
    monkeypatch.setattr(mnist, "FILES", replace(mnist.FILES, digests=digests))
    return folder


def edit(experiment: Path, **changes: object) -> None:
    yaml = YAML(typ="safe", pure=True)
    raw = yaml.load(experiment / "params.yaml")
    raw["data"] |= changes
    yaml.dump(raw, experiment / "params.yaml")


def states(awt_data) -> dict[str, str]:
    code, out, _ = awt_data("--json")
    assert code == 0
    return {one["name"]: one["state"] for one in json.loads(out)}


def test_lists_every_data_set_and_where_it_is_looked_for(experiment, awt_data):
    code, out, err = awt_data()
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()] == sorted(READERS)
    assert f"missing     no cifar-10-binary.tar.gz in {experiment / 'data' / 'cifar10'}" in out
    assert not (experiment / "data").exists()


def test_states_follow_what_is_there(small_mnist, awt_data):
    assert states(awt_data)["mnist"] == "verified"
    labels = small_mnist / "t10k-labels-idx1-ubyte.gz"
    content = labels.read_bytes()
    labels.unlink()
    assert states(awt_data)["mnist"] == "incomplete"
    labels.write_bytes(content[:-9])
    assert states(awt_data)["mnist"] == "faulty"
    assert str(labels) in awt_data()[1]


def test_the_data_folder_of_the_parameters_counts(experiment, small_mnist, awt_data):
    small_mnist.parent.rename(experiment / "other")
    assert states(awt_data)["mnist"] == "missing"
    edit(experiment, root="other")
    assert states(awt_data)["mnist"] == "verified"


def test_verify_reads_what_is_there(small_mnist, awt_data):
    code, out, _ = awt_data("verify", "mnist")
    assert code == 0
    assert "mnist: verified: 30 training points, 10 test points, 10 classes" in out
    assert str(small_mnist / "train-images-idx3-ubyte.gz") in out


def test_verify_downloads_nothing(small_mnist, awt_data):
    (small_mnist / "train-images-idx3-ubyte.gz").unlink()
    code, out, err = awt_data("verify", "mnist")
    assert (code, out) == (2, "")
    assert "no train-images-idx3-ubyte.gz; `awt data fetch mnist` downloads what is missing" in err


def test_fetch_offline_says_what_to_do(experiment, awt_data):
    code, _, err = awt_data("fetch", "mnist")
    assert code == 2
    assert "Put it there (`awt data` says what else is missing)" in err
    assert str(experiment / "data" / "mnist") in err
    assert not (experiment / "data").exists()


def test_fetch_is_content_with_what_is_there(small_mnist, awt_data):
    code, out, _ = awt_data("fetch", "mnist")
    assert code == 0
    assert "downloading" not in out


@pytest.mark.parametrize("name", ["digits", "gaussian"])
def test_what_needs_no_file_verifies_too(experiment, awt_data, name):
    code, out, _ = awt_data("verify", name)
    assert code == 0
    assert "no test points of its own" in out


def test_own_images_are_those_of_the_parameters(experiment, awt_data):
    code, _, err = awt_data("verify", "folder")
    assert code == 2
    assert "data.name: digits; your own data are looked for where params.yaml has `name: folder`" in err
    for label in ("cat", "dog"):
        (experiment / "pets" / label).mkdir(parents=True)
        Image.new("RGB", (3, 2)).save(experiment / "pets" / label / "1.png")
    edit(experiment, name="folder", path="pets")
    code, out, _ = awt_data("verify", "folder")
    assert code == 0
    assert "2 training points" in out
    assert "points of 2 x 3 x 3" in out


@pytest.mark.parametrize("words", [("fetch", "digits"), ("verify", "mnits"), ("fetch",), ("remove", "mnist")])
def test_unknown_words_are_refused(experiment, awt_data, words):
    code, _, err = awt_data(*words)
    assert code == 2
    assert "usage: awt data" in err


def test_every_downloaded_data_set_is_kept_in_a_folder_of_its_name():
    sources = {
        "cifar10": cifar10.ARCHIVE.source,
        "cifar100": cifar100.ARCHIVE.source,
        "fashion_mnist": fashion_mnist.FILES.source,
        "mnist": mnist.FILES.source,
    }
    assert {name: source.folder for name, source in sources.items()} == {name: name for name in PRESENT}
