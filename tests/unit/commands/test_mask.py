"""`awt mask`: what it prints, draws and refuses, in a folder with masks."""

import json
import xml.etree.ElementTree as ElementTree
from functools import partial

import numpy as np
import pytest

from awt.artifacts import encode_json, encode_npy, encode_npz, write
from awt.workflows.tickets.reporting import mask_picture

SHAPES = {"dense1": (6, 4), "dense2": (4, 2)}
TICKETS = [("awt", 0.1, 0), ("awt", 0.1, 1), ("awt", 0.5, 0), ("awt", 0.5, 1), ("random", 0.5, 0), ("random", 0.5, 1)]


@pytest.fixture
def experiment(tmp_path, monkeypatch):
    """A folder with masks of 2 × 3 pixels, and the current one."""
    rng = np.random.default_rng(0)
    index = []
    for method, density, seed in TICKETS:
        mask = {name: rng.random(shape) < density for name, shape in SHAPES.items()}
        file = f"{method}-{density:g}-seed{seed}.npz"
        write(tmp_path / "artifacts" / "masks" / file, encode_npz(mask))
        index.append({"method": method, "density": density, "seed": seed, "file": file})
    write(tmp_path / "artifacts" / "masks" / "index.json", encode_json({"masks": index}))
    write(tmp_path / "artifacts" / "data" / "dataset.json", encode_json({"shape": [2, 3, 1]}))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def awt_mask(awt):
    return partial(awt, "mask")


def save(path, **layers):
    path.write_bytes(encode_npz({name: np.asarray(kept, bool) for name, kept in layers.items()}))
    return path


def small(path):
    """Of four pixels one is not used; a unit gets nothing, one leads nowhere."""
    return save(
        path,
        dense1=[[1, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]],
        dense2=[[1, 1], [0, 0], [1, 0]],
    )


def test_a_mask_by_layer(tmp_path, monkeypatch, awt_mask):
    monkeypatch.chdir(tmp_path)
    small(tmp_path / "small.npz")
    code, out, err = awt_mask("small.npz")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "small.npz",
        "layer   kept  size  density  units  alive  dead  no input  no output",
        "dense1     5    12   0.4167      3      1     2         1          1",
        "dense2     3     6      0.5      2      2     0         0          0",
        "whole      8    18   0.4444      5      3     2         1          1",
        "3 of 4 input pixels used",
    ]


def test_a_mask_as_json(tmp_path, awt_mask):
    path = small(tmp_path / "small.npz")
    code, out, _ = awt_mask(path, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["file"] == str(path)
    assert [row["name"] for row in found["layers"]] == ["dense1", "dense2"]
    assert found["whole"] == {
        "kept": 8,
        "size": 18,
        "density": 8 / 18,
        "units": 5,
        "alive": 3,
        "dead": 2,
        "no_input": 1,
        "no_output": 1,
    }
    assert found["inputs"] == {"used": 3, "count": 4, "of": "pixels"}


def test_convolutions_use_channels(tmp_path, awt_mask):
    kernel = np.zeros((3, 3, 2, 3), bool)
    kernel[0, 2, 1, 0] = True
    flat = np.zeros((4 * 3, 2), bool)
    flat[3] = True  # the second position of the first channel
    path = save(tmp_path / "cnn.npz", conv1=kernel, dense1=flat)
    code, out, _ = awt_mask(path)
    assert code == 0
    assert "\nconv1      1    54  0.01852      3      1     2         2          2\n" in out
    assert out.endswith("1 of 2 input channels used; a convolution sees every pixel of them\n")


def test_a_pixel_of_several_channels_is_used_by_any_of_them(experiment, awt_mask):
    write(experiment / "artifacts" / "data" / "dataset.json", encode_json({"shape": [2, 1, 2]}))
    path = save(experiment / "m.npz", dense1=[[1], [0], [0], [0]])
    assert awt_mask(path)[1].endswith("1 of 2 input pixels used\n")


@pytest.mark.parametrize(
    ("words", "title"),
    [
        (["awt", "--density", "0.1"], "awt, density 0.1, seed 0"),
        (["awt", "--density", "0.1", "--seed", "1"], "awt, density 0.1, seed 1"),
        (["random"], "random, density 0.5, seed 0"),
    ],
)
def test_a_ticket_is_its_file(experiment, awt_mask, words, title):
    code, out, err = awt_mask(*words)
    assert (code, err) == (0, "")
    shown = json.loads(awt_mask(*words, "--json")[1])
    assert out.splitlines()[0] == title == "{method}, density {density:g}, seed {seed}".format(**shown)
    assert out.splitlines()[1:] == awt_mask(f"./{shown['file']}")[1].splitlines()[1:]


def test_a_comparison(tmp_path, monkeypatch, awt_mask):
    monkeypatch.chdir(tmp_path)
    save(tmp_path / "a.npz", dense1=[[1, 1], [1, 0]], dense2=[[0], [0]])
    save(tmp_path / "b.npz", dense1=[[1, 0], [1, 1]], dense2=[[0], [0]])
    code, out, err = awt_mask("a.npz", "--with", "b.npz")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "a.npz; other: b.npz",
        "layer   kept  other  both  by chance  jaccard",
        "dense1     3      3     2       2.25      0.5",
        "dense2     0      0     0          0        -",
        "whole      3      3     2       2.25      0.5",
    ]
    found = json.loads(awt_mask("a.npz", "--with", "b.npz", "--json")[1])
    assert found["whole"] == {"kept": 3, "other_kept": 3, "both": 2, "by_chance": 2.25, "jaccard": 0.5}
    assert found["layers"][1]["jaccard"] is None
    assert (found["mask"], found["with"]) == ({"file": "a.npz"}, {"file": "b.npz"})


def test_the_other_has_the_same_density_and_seed_unless_told(experiment, awt_mask):
    def compared(*words):
        found = json.loads(awt_mask("awt", *words, "--json")[1])
        return [(found[name]["method"], found[name]["density"], found[name]["seed"]) for name in ("mask", "with")]

    asked = ("--density", "0.5", "--seed", "1")
    assert compared(*asked, "--with", "random") == [("awt", 0.5, 1), ("random", 0.5, 1)]
    told = compared(*asked, "--with", "awt", "--with-density", "0.1", "--with-seed", "0")
    assert told == [("awt", 0.5, 1), ("awt", 0.1, 0)]
    file = "artifacts/masks/awt-0.1-seed1.npz"
    found = json.loads(awt_mask(file, "--with", "awt", "--density", "0.1", "--seed", "1", "--json")[1])
    assert found["whole"]["jaccard"] == 1


@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_a_picture(experiment, awt_mask, suffix):
    path = experiment / "new" / f"mask{suffix}"
    code, out, _ = awt_mask("random", "--picture", path)
    assert code == 0
    assert out.endswith(f" input pixels used\n{path}\n")
    if suffix == ".png":
        assert path.read_bytes().startswith(b"\x89PNG")
    else:
        assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert [file.name for file in path.parent.iterdir()] == [path.name]
    before = path.read_bytes()
    assert json.loads(awt_mask("random", "--picture", path, "--json")[1])
    assert path.read_bytes() == before


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_what_a_picture_shows(channels):
    weights = np.arange(6 * channels).reshape(2, 3, channels)
    figure = mask_picture.picture("title", "places", weights, {"dense1": 0.03, "dense2": 0.5}, "awt")
    images = [axes.images[0].get_array() for axes in figure.axes if axes.images]
    np.testing.assert_array_equal(np.stack(images, axis=-1), weights)
    [bars] = [axes for axes in figure.axes if axes.patches and axes.get_ylabel() == "weights kept, %"]
    assert [bar.get_height() for bar in bars.patches] == [3, 50]
    assert [label.get_text() for label in bars.get_xticklabels()] == ["dense1", "dense2"]
    assert [text.get_text() for text in bars.texts] == ["3 %", "50 %"]


def test_a_mask_that_keeps_nothing_can_be_drawn():
    figure = mask_picture.picture("title", "places", np.zeros((2, 2, 1), int), {"dense1": 0.0}, "awt")
    assert mask_picture.encode(figure, ".png").startswith(b"\x89PNG")


MISTAKES = {
    "unknown method": (["awtt"], "METHOD: the experiment has no 'awtt', only awt, random; did you mean `awt`?"),
    "nothing like it": (["zzz"], "METHOD: the experiment has no 'zzz', only awt, random\n"),
    "unknown other": (["random", "--with", "rndom"], "--with: the experiment has no 'rndom'"),
    "no density": (["awt"], "--density: is needed; the tickets of awt have 0.1, 0.5"),
    "unknown density": (["awt", "--density", "0.2"], "--density: 0.2 is not there; the tickets of awt have 0.1, 0.5"),
    "no other density": (["random", "--with", "awt"], "--with-density: is needed"),
    "unknown seed": (["random", "--seed", "7"], "--seed: 7 is not one of the experiment's [0, 1]"),
    "no file": (["none.npz"], "none.npz: no such file; name a method"),
    "a folder": (["artifacts/masks"], "artifacts/masks: no such file"),
    "text": (["./text"], "text: no mask: not an .npz"),
    "an array": (["array.npy"], "array.npy: no mask: not an .npz"),
    "a broken archive": (["broken.npz"], "broken.npz: not a readable .npz"),
    "objects": (["objects.npz"], "objects.npz: not a readable .npz of plain arrays"),
    "weights": (["weights.npz"], "weights.npz: no mask: dense1/kernel is float64, not boolean"),
    "wrong shape": (["line.npz"], "line.npz: no mask: dense1 has the shape [3], which is not [in, out]"),
    "other shapes": (["random", "--with", "small.npz"], "--with: masks of other networks cannot be compared"),
    "density of a file": (["small.npz", "--density", "0.1"], "--density: says which ticket of a method"),
    "other density, no other": (["random", "--with-density", "0.1"], "--with-density: says which ticket"),
    "picture of two": (["random", "--with", "random", "--picture", "a.png"], "--picture: shows one mask"),
    "picture's kind": (["random", "--picture", "a.pdf"], "--picture: a.pdf is neither a .png nor an .svg"),
    "picture under a file": (["random", "--picture", "text/a.png"], "--picture: text/a.png lies under"),
    "picture is a folder": (["random", "--picture", "folder.png"], "--picture: folder.png is a folder"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(experiment, awt_mask, mistake):
    small(experiment / "small.npz")
    save(experiment / "line.npz", dense1=[1, 0, 1])
    (experiment / "text").write_text("text")
    (experiment / "folder.png").mkdir()
    (experiment / "array.npy").write_bytes(encode_npy(np.ones(3, bool)))
    (experiment / "weights.npz").write_bytes(encode_npz({"dense1/kernel": np.ones((2, 2))}))
    broken = bytearray((experiment / "small.npz").read_bytes())
    broken[60] ^= 255
    (experiment / "broken.npz").write_bytes(broken)
    np.savez(experiment / "objects.npz", dense1=np.array([None, {}]))
    before = sorted(experiment.rglob("*"))
    words, message = MISTAKES[mistake]
    code, out, err = awt_mask(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert len(err.splitlines()) == 1
    assert sorted(experiment.rglob("*")) == before


def test_an_experiment_that_has_not_run(tmp_path, monkeypatch, awt_mask):
    monkeypatch.chdir(tmp_path)
    code, _, err = awt_mask("awt")
    assert code == 2
    assert err.startswith("error: artifacts/masks/index.json is missing: run `dvc repro`")
