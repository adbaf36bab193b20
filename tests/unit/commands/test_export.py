"""`awt export`: what it writes is the trained network, for numpy alone and for ONNX; what it refuses."""

import json
import re
import textwrap
from functools import partial
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
from ruamel.yaml import YAML

from awt.artifacts import encode_json, encode_npz, sha256_file, write
from awt.data.dataset import Description
from awt.models.architecture import Model, build
from awt.models.network import apply_mask, encode_weights
from awt.models.registry import resolved
from awt.options import from_json

PROJECT = Path(__file__).parents[3]
SHAPE = [7, 6, 2]  # pooling drops a row; two channels a pixel
DATA = {"shape": SHAPE, "classes": 3, "mean": [0.3, 0.6], "std": [0.2, 0.4]}
NETWORKS = {
    "mlp": {"name": "mlp", "widths": [20, 15], "init": "glorot"},
    "cnn": {"name": "cnn", "widths": [6, 8, 12], "init": "glorot"},
    "scaled mlp": {"name": "mlp", "widths": [20, 15], "init": "ntk"},
    "scaled cnn": {"name": "cnn", "widths": [6, 8, 12], "init": "ntk"},
}


class Experiment:
    """A folder with one trained ticket."""

    def __init__(self, folder, model, random_weights, random_mask, density):
        yaml = YAML(typ="safe", pure=True)
        params = yaml.load(PROJECT / "params.yaml")
        yaml.dump(params | {"model": model}, folder / "params.yaml")
        self.network = build(resolved(from_json(Model, model)), Description.of(DATA))
        self.weights = apply_mask(random_weights(self.network), random_mask(self.network, density))
        self.file = folder / "artifacts" / "models" / "awt-0.1-seed0.npz"
        index = [{"method": "awt", "density": 0.1, "seed": 0, "file": self.file.name, "trains_all": False}]
        write(self.file.with_name("index.json"), encode_json({"models": index}))
        write(folder / "artifacts" / "data" / "dataset.json", encode_json(DATA))
        self.save()

    def save(self):
        write(self.file, encode_weights(self.weights))

    def logits(self, x):
        return np.asarray(self.network.apply(self.weights, jnp.asarray(x)))


@pytest.fixture
def experiment(tmp_path, monkeypatch, random_weights, random_mask):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWT_STORE", str(tmp_path / "store"))
    return lambda name, density=0.06: Experiment(tmp_path, NETWORKS[name], random_weights, random_mask, density)


@pytest.fixture
def awt_export(awt):
    return partial(awt, "export")


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(5).random((11, *SHAPE), np.float32)


@pytest.fixture(scope="module")
def reader():
    """The function of the documentation that needs numpy alone."""
    pages = "\n".join(page.read_text() for page in [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))])
    blocks = re.findall(r"^```python\n([\s\S]*?)^```|((?:^(?: {4}.*)?\n)+)", pages, re.MULTILINE)
    [shown] = [text for block in blocks for text in block if "def logits(folder" in text]
    names = {}
    exec(textwrap.dedent(shown), names)
    assert {name for name, value in names.items() if type(value).__name__ == "module"} <= {"json", "np"}
    return names["logits"]


@pytest.mark.parametrize("name", NETWORKS)
def test_numpy_alone_gives_the_same_logits(name, experiment, awt_export, images, reader):
    made = experiment(name)
    code, out, err = awt_export("awt", "--to", "ticket")
    assert (code, err) == (0, "")
    assert out.endswith(f"{Path('ticket').resolve()}\n")
    for network in ("whole", "compact"):
        np.testing.assert_allclose(reader("ticket", images, network), made.logits(images), rtol=1e-4, atol=1e-5)
    arrays, compact = (dict(np.load(f"ticket/{file}.npz")) for file in ("weights", "compact"))
    assert all(compact[part].size <= arrays[part].size for part in arrays)
    assert sum(map(np.size, compact.values())) < sum(map(np.size, arrays.values()))
    assert ("pixels" in compact) == name.endswith("mlp")


@pytest.mark.parametrize("name", ["mlp", "cnn"])
def test_the_description(name, experiment, awt_export):
    made = experiment(name)
    awt_export("awt", "--to", "ticket")
    about = json.loads(Path("ticket/network.json").read_text())
    assert about["format_version"] == 1
    assert about["input"]["shape"] == SHAPE
    assert (about["classes"], about["normalise"]["std"]) == (3, pytest.approx([0.2, 0.4]))
    digest = sha256_file(made.file)
    file = str(made.file.relative_to(Path.cwd()))
    assert about["source"] == {"method": "awt", "density": 0.1, "seed": 0, "file": file, "sha256": digest}
    for network in about["networks"].values():
        arrays = dict(np.load(Path("ticket") / network["file"]))
        kernels = [arrays[layer["kernel"]] for layer in network["layers"] if "kernel" in layer]
        units = [layer["units"] for layer in network["layers"] if "kernel" in layer]
        assert units == [kernel.shape[-1] for kernel in kernels]
        assert network["weights"] == sum(kernel.size for kernel in kernels)
        assert network["biases"] == sum(units)
        positions = [1, 1, 1] if name == "mlp" else [7 * 6, 3 * 3, 1, 1]
        assert network["multiply_adds"] == sum(
            count * kernel.size for count, kernel in zip(positions, kernels, strict=True)
        )
    whole, compact = about["networks"]["whole"], about["networks"]["compact"]
    assert about["density"] == whole["nonzero_weights"] / whole["weights"]
    assert compact["nonzero_weights"] <= whole["nonzero_weights"]


def test_units_without_inputs_count_where_their_bias_does(experiment, awt_export, images, reader):
    """All of the first layer is cut off: what it puts out is a constant."""
    made = experiment("mlp", density=0.5)
    first = made.weights["dense1"]
    made.weights["dense1"] = {"kernel": jnp.zeros_like(first["kernel"]), "bias": first["bias"]}
    made.save()
    assert awt_export("awt", "--to", "ticket")[0] == 0
    compact = dict(np.load("ticket/compact.npz"))
    assert len(compact["dense1/bias"]) == np.sum(np.asarray(first["bias"]) > 0) > 0
    np.testing.assert_allclose(reader("ticket", images), made.logits(images), rtol=1e-4, atol=1e-5)


def test_a_file_is_as_good_as_a_method(experiment, awt_export):
    made = experiment("mlp")
    write(Path("copy.npz"), made.file.read_bytes())
    for what, folder in (("awt", "one"), (made.file, "two"), ("copy.npz", "three"), ("awt", "one")):
        code, out, _ = awt_export(what, "--to", folder)
        assert code == 0
        assert "awt, density 0.1, seed 0\n" in out
    for name in ("weights.npz", "compact.npz"):
        assert len({Path(folder, name).read_bytes() for folder in ("one", "two", "three")}) == 1


@pytest.mark.parametrize("name", ["mlp", "cnn", "scaled cnn"])
def test_onnx_gives_the_same_logits(name, experiment, awt_export, images):
    reference = pytest.importorskip("onnx.reference", reason="needs onnx: pip install onnx")
    import onnx

    made = experiment(name)
    code, _, err = awt_export("awt", "--to", "ticket", "--onnx")
    assert (code, err) == (0, "")
    model = onnx.load("ticket/network.onnx")
    [opset] = model.opset_import
    assert (opset.domain, opset.version) == ("", 17)
    [ours] = reference.ReferenceEvaluator(model).run(None, {"images": images})
    np.testing.assert_allclose(ours, made.logits(images), rtol=1e-4, atol=1e-5)


MISTAKES = {
    "unknown method": (["awtt", "--to", "never"], "WHAT: the experiment has no 'awtt', only awt; did you mean `awt`?"),
    "no such file": (["lost.npz", "--to", "never"], "lost.npz: no such file"),
    "not a network": (["params.yaml", "--to", "never"], "params.yaml: not a readable .npz"),
    "a mask": (["mask.npz", "--to", "never"], "mask.npz: no model"),
    "another network": (
        ["other.npz", "--to", "never"],
        "other.npz: weights of another network: dense1/kernel is 3 x 4;",
    ),
    "no checkpoint": (["artifacts", "--to", "never"], "artifacts: no checkpoints in it"),
    "neither": (["no such thing", "--to", "never"], "WHAT: 'no such thing' is neither a method"),
    "unknown density": (["awt", "--density", "0.3", "--to", "never"], "--density: 0.3 is not there"),
    "unknown seed": (["awt", "--seed", "3", "--to", "never"], "--seed: 3 is not one of the experiment's [0]"),
    "density of a file": (["other.npz", "--density", "0.1", "--to", "never"], "--density: says which network"),
    "a file to write to": (["awt", "--to", "params.yaml"], "--to: params.yaml is a file"),
    "a folder in use": (["awt", "--to", "."], "--to: . has other things in it than an exported network"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes(mistake, experiment, awt_export):
    experiment("mlp")
    write(Path("mask.npz"), encode_npz({"dense1": np.ones((3, 4), bool)}))
    write(Path("other.npz"), encode_npz({"dense1/kernel": np.ones((3, 4)), "dense1/bias": np.ones(4)}))
    words, message = MISTAKES[mistake]
    code, out, err = awt_export(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")
    assert len(err.splitlines()) == 1
    assert not Path("never").exists()


def test_onnx_is_optional(monkeypatch, experiment, awt_export):
    experiment("mlp")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, err = awt_export("awt", "--to", "never", "--onnx")
    assert code == 2
    assert err.startswith("error: --onnx: needs the package onnx")
    assert not Path("never").exists()
