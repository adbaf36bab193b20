"""params.yaml: what is valid passes, what is not is named."""

import copy
import datetime
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from awt import params
from awt.errors import InputError

PROJECT = Path(__file__).parents[2]
DEFAULT: dict[str, Any] = YAML(typ="safe", pure=True).load(PROJECT / "params.yaml")
DEFAULT["search"] |= {"methods": ["awt", "random", "magnitude", "dense"], "variants": {}, "epochs": 60, "gamma": 0.01}


def changed(dotted: str, value: Any) -> dict[str, Any]:
    raw = copy.deepcopy(DEFAULT)
    *parents, last = dotted.split(".")
    section = raw
    for name in parents:
        section = section[name]
    section[last] = value
    return raw


@pytest.mark.parametrize("path", [PROJECT / "params.yaml", *PROJECT.glob("pipelines/**/params.yaml")])
def test_every_experiment_is_valid(path):
    parameters = params.load(path)
    assert (path.parent / parameters.root).resolve() == PROJECT


def test_every_knob_has_a_comment():
    lines = (PROJECT / "params.yaml").read_text().splitlines()
    bare = [line for line in lines if line.strip() and "#" not in line]
    assert bare == []


@pytest.mark.parametrize(
    ("dotted", "value", "message"),
    [
        ("search.densitys", [0.1], "search.densitys: unknown key; did you mean `densities`?"),
        ("sedes", [0], "sedes: unknown key; did you mean `seeds`?"),
        ("retrain.attack.zzz", 1, "retrain.attack.zzz: unknown key; known keys: steps, step_size, random_start"),
        ("runtime.resources", {"mask": {"gpu": 1}}, "runtime.resources.mask.gpu: unknown key; did you mean `gpus`?"),
        ("runtime.resources", {"maks": {"cpus": 2}}, "did you mean `mask`?"),
        ("seeds", [datetime.date(2026, 1, 1)], "seeds.0: input should be a valid integer"),
        ("search.densities", [1.4], "search.densities.0: input should be less than or equal to 1 (got 1.4)"),
        ("search.densities", [0], "search.densities.0: input should be greater than 0 (got 0)"),
        ("search.densities", [], "search.densities"),
        (
            "model",
            {"name": "vgg16", "widths": [8], "init": "he"},
            "`widths` of vgg16 are 5 numbers",
        ),
        ("search.rewinds", 61, "search: `rewinds`: 61 rounds do not fit in `epochs`: 60"),
        ("search.densities", [0.1, 0.1], "`densities` names something twice"),
        ("search.methods", ["magnitud"], "did you mean `magnitude`?"),
        (
            "search.methods",
            ["zzz"],
            "search: `methods` names 'zzz', neither a method nor one of `variants`; known: ",
        ),
        ("search.variants", {"awt": {"method": "awt"}}, "search: variants.awt: a variant needs a name of its own"),
        ("search.variants", {"a/b": {"method": "awt"}}, "search: variants.a/b: a variant needs a name of its own"),
        ("search.variants", {"x": {"gamma": 0}}, "search: variants.x.method: None is not one of awt, concrete"),
        ("search.variants", {"x": {"method": "awt", "gama": 0}}, "variants.x.gama: unknown key; did you mean `gamma`?"),
        ("search.variants", {"x": {"method": "awt", "densities": [0.5]}}, "variants.x.densities: unknown key"),
        ("search.variants", {"x": {"method": "awt", "gamma": -1}}, "variants.x.gamma: input should be greater than or"),
        ("search.variants", {"x": {"method": "awt", "attack": {"steps": 0}}}, "variants.x.attack.steps: input should"),
        ("search.methods", ["shuffled"], "search.like: shuffled shuffles the mask of another method"),
        ("search.like", "awtt", "search.like: random takes after 'awtt', which is none of the methods that choose"),
        ("seeds", [0, 0], "`seeds` names something twice"),
        ("seeds", [-1], "seeds.0"),
        ("threat.eps", -0.1, "threat.eps: input should be greater than or equal to 0 (got -0.1)"),
        ("threat.eps", float("nan"), "threat.eps: input should be a finite number (got NaN)"),
        ("threat.eps", "0.1", "threat.eps: input should be a valid number"),
        ("retrain.epochs", True, "retrain.epochs: input should be a valid integer"),
        ("kernel.memory_gb", 0, "kernel.memory_gb: input should be greater than 0 (got 0)"),
        ("kernel.memory_gb", "1", "kernel.memory_gb: input should be a valid number"),
        ("retrain.epochs", 1.5, "retrain.epochs: input should be a valid integer"),
        ("model.name", "vgg", "model.name: input should be 'mlp', 'cnn', 'lenet' or 'vgg16'"),
        ("data.path", "x.npz", "data: `path` names the data of `name: npz` or `name: folder`"),
        ("data.name", "npz", "data: `path` names the data of `name: npz`"),
        ("data.name", "folder", "data: `path` names the data of `name: npz`"),
        ("data.name", "cifar", "did you mean `cifar10`?"),
        ("data.size", [32, 32], "data: `size` is what images of `name: folder` are resized to"),
        ("data.size", [32], "data.size.1: "),
        ("data.gaussian", {"points": 1}, "data.gaussian.points: input should be greater than or equal to 2 (got 1)"),
        ("data.gaussian", {"dimensions": 9}, "data.gaussian.dimensions: unknown key; did you mean `dimension`?"),
        ("evaluate.suites", ["autoatack"], "evaluate: `suites` names 'autoatack'; did you mean `autoattack`?"),
        ("evaluate.attacks", {"sqare": {}}, "did you mean `square`?"),
        ("evaluate.attacks", {"square": {"steps": 5}}, "attacks.square.steps: unknown key; allowed: queries, restarts"),
        ("evaluate.attacks", {"square": {"queries": 0}}, "evaluate.attacks.square.queries"),
    ],
)
def test_faults_are_named(dotted, value, message):
    with pytest.raises(InputError) as error:
        params.parse(changed(dotted, value), "params.yaml")
    assert message in str(error.value)
    assert str(error.value).startswith("params.yaml: ")


def test_a_missing_key_is_named():
    raw = copy.deepcopy(DEFAULT)
    del raw["search"]["gamma"]
    with pytest.raises(InputError, match=r"search\.gamma: missing"):
        params.parse(raw, "params.yaml")


def test_all_faults_are_told_at_once():
    raw = changed("threat.eps", -1)
    raw["retrain"]["epochs"] = 0
    with pytest.raises(InputError, match=r"threat\.eps.*retrain\.epochs"):
        params.parse(raw, "params.yaml")


@pytest.mark.parametrize("text", ["", "- 1", "a: [", "a: 1\na: 2", "\x00"])
def test_files_that_are_not_parameters(tmp_path, text):
    path = tmp_path / "params.yaml"
    path.write_text(text)
    with pytest.raises(InputError, match=r"params\.yaml"):
        params.load(path)


def test_the_reading_is_that_of_dvc(tmp_path):
    """YAML 1.2: 1e-3 is a number (PyYAML's 1.1 reads a string)."""
    path = tmp_path / "params.yaml"
    path.write_text((PROJECT / "params.yaml").read_text().replace("learning_rate: 3.0e-3", "learning_rate: 3e-3"))
    assert params.load(path).search.learning_rate == 0.003


def test_sections_survive_the_way_through_json():
    parameters = params.load(PROJECT / "params.yaml")
    assert params.Search.of(parameters.search.as_json()) == parameters.search
    attack = parameters.search.attack
    assert hash(params.Attack.of(attack.as_json())) == hash(attack)


CIFAR100 = {"counts": {"train": 50000}, "shape": [32, 32, 3], "classes": 100}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"estimator": "full"},
            "search.estimator: full stores 128 GB an initialisation (awt), more than kernel.disk_gb: 2; choose "
            "`estimator: residual` (0.02 GB), `estimator: diagonal` (0.02 GB), a smaller search.batch, or raise it",
        ),
        ({"estimator": "probe"}, "search.estimator: probe stores 2.4 GB"),
        ({"estimator": "full", "epochs": 20}, "choose `estimator: probe` (0.8 GB), `estimator: residual` (0.02 GB)"),
    ],
)
def test_what_does_not_fit_the_disk_budget_is_refused_with_its_alternatives(changes, message):
    raw = copy.deepcopy(DEFAULT)
    raw["search"] |= changes
    with pytest.raises(InputError) as caught:
        params.check_data(params.parse(raw, "params.yaml"), CIFAR100)
    assert message in str(caught.value)


@pytest.mark.parametrize("changes", [{"kernel.disk_gb": 3}, {"search.gamma": 0}])
def test_a_larger_budget_or_no_kernel_term_is_fine(changes):
    [(dotted, value)] = changes.items()
    params.check_data(params.parse(changed(dotted, value), "params.yaml"), CIFAR100)


def test_a_variant_is_the_section_with_its_own_values():
    raw = changed("search.variants", {"ours": {"method": "awt", "gamma": 0.5, "attack": {"steps": 3}}})
    raw["search"]["methods"] = ["awt", "ours", "dense"]
    search = params.parse(raw, "params.yaml").search
    recipe = search.recipe("ours")
    assert search.base("ours") == "awt"
    assert (recipe.gamma, recipe.attack.steps, recipe.attack.random_start) == (0.5, 3, True)
    changes = {"methods", "variants", "gamma", "attack"}
    assert recipe.model_dump(exclude=changes) == search.model_dump(exclude=changes)
    assert search.recipe("awt").gamma == search.gamma
