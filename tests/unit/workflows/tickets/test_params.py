"""params.yaml of the tickets workflow: what is valid passes, what is not is named."""

import copy
import datetime
from pathlib import Path
from typing import Any

import pytest

from awt.attacks.pgd import Attack
from awt.errors import InputError
from awt.options import as_json, from_json
from awt.params.checking import checked
from awt.params.reading import read
from awt.tickets.registry import METHODS
from awt.workflows.experiment import experiment
from awt.workflows.tickets.params import Params, check_data, effective

PROJECT = Path(__file__).parents[4]
DEFAULT: dict[str, Any] = read(PROJECT)
DEFAULT["tickets"] |= {"methods": ["awt", "random", "magnitude", "dense"]}
DEFAULT["tickets"]["shared"]["epochs"] = 60
DEFAULT["tickets"]["recipes"]["awt"]["gamma"] = 0.01


def changed(values: dict[str, Any]) -> dict[str, Any]:
    """The default experiment's values with others, by dotted keys."""
    raw = copy.deepcopy(DEFAULT)
    for dotted, value in values.items():
        *parents, last = dotted.split(".")
        section = raw
        for name in parents:
            section = section.setdefault(name, {})
        section[last] = value
    return raw


def parsed(values: dict[str, Any]) -> Params:
    return checked(Params, changed(values), "params.yaml")


@pytest.mark.parametrize("path", [PROJECT / "params.yaml", *PROJECT.glob("pipelines/**/params.yaml")])
def test_every_experiment_is_valid(path: Path) -> None:
    asked = experiment(path.parent)
    assert asked.repository.resolve() == PROJECT


def test_every_knob_has_a_comment() -> None:
    """Where it stands first, or where another recipe has it; methods are explained in the documentation."""
    lines = [line for line in (PROJECT / "params.yaml").read_text().splitlines() if line.strip()]
    bare, explained = (
        {line.partition(":")[0].strip() for line in lines if ("#" in line) is commented} for commented in (False, True)
    )
    assert bare - explained <= METHODS.keys()


FAULTS = [
    ("tickets.densitys", [0.1], "tickets.densitys: unknown key; did you mean `densities`?"),
    ("sedes", [0], "sedes: unknown key; did you mean `seeds`?"),
    ("retrain.attack.zzz", 1, "retrain.attack.zzz: unknown key; known keys: steps, step_size, random_start"),
    ("runtime.resources", {"mask": {"gpu": 1}}, "runtime.resources.mask.gpu: unknown key; did you mean `gpus`?"),
    ("runtime.resources", {"maks": {"cpus": 2}}, "runtime.resources.maks: no cells are of this kind; did you mean"),
    ("seeds", [datetime.date(2026, 1, 1)], "seeds.0: input should be a valid integer"),
    ("seeds", [0, 0], "`seeds` names something twice"),
    ("seeds", [-1], "seeds.0"),
    ("tickets.densities", [1.4], "tickets.densities.0: input should be less than or equal to 1 (got 1.4)"),
    ("tickets.densities", [0], "tickets.densities.0: input should be greater than 0 (got 0)"),
    ("tickets.densities", [], "tickets.densities"),
    ("tickets.densities", [0.1, 0.1], "`densities` names something twice"),
    ("model", {"name": "vgg16", "widths": [8], "init": "he"}, "model.widths: those of vgg16 are 5 numbers"),
    ("model.name", "vgg", "model.name: 'vgg' is none of cnn, lenet, mlp, vgg16, nor module:name of your own"),
    ("model.name", "no.such.module:NET", "no.such.module:NET: there is no module 'no'"),
    ("threat.eps", -0.1, "threat.eps: input should be greater than or equal to 0 (got -0.1)"),
    ("threat.eps", float("nan"), "threat.eps: input should be a finite number (got NaN)"),
    ("threat.eps", "0.1", "threat.eps: input should be a valid number"),
    ("retrain.epochs", True, "retrain.epochs: input should be a valid integer"),
    ("retrain.epochs", 1.5, "retrain.epochs: input should be a valid integer"),
    ("retrain.objective", "pdg", "did you mean `pgd`?"),
    ("kernel.tile_memory_gb", 0, "kernel.tile_memory_gb: input should be greater than 0 (got 0)"),
    ("kernel.tile_memory_gb", "1", "kernel.tile_memory_gb: input should be a valid number"),
    ("data.path", "x.npz", "data: `path` names the data of `name: npz` or `name: folder`"),
    ("data.name", "npz", "data: `path` names the data of `name: npz`"),
    ("data.name", "folder", "data: `path` names the data of `name: npz`"),
    ("data.name", "cifar", "did you mean `cifar10`?"),
    ("data.size", [32, 32], "data: `size` is what images of `name: folder` are resized to"),
    ("data.size", [32], "data.size.1: "),
    ("data.gaussian", {"points": 1}, "data.gaussian.points: input should be greater than or equal to 2 (got 1)"),
    ("data.gaussian", {"dimensions": 9}, "data.gaussian.dimensions: unknown key; did you mean `dimension`?"),
    ("evaluate.suites", ["autoatack"], "evaluate.suites: 'autoatack' is neither a suite nor an attack; did you"),
    ("evaluate.suites", ["quick", "quick"], "`suites` names something twice"),
    ("evaluate.attacks", {"sqare": {}}, "did you mean `square`?"),
    ("evaluate.attacks", {"square": {"steps": 5}}, "attacks.square.steps: unknown key; allowed: queries, restarts"),
    ("evaluate.attacks", {"square": {"queries": 0}}, "evaluate.attacks.square.queries"),
]  # fmt: skip
RECIPES = [
    ("tickets.methods", ["magnitud"], "did you mean `magnitude`?"),
    ("tickets.methods", ["zzz"], "tickets: 'zzz' is neither a method, one of `recipes`, nor module:name; known: awt, "),
    ("tickets.methods", ["json:dumps_"], "json:dumps_: the module json has no 'dumps_'"),
    ("tickets.methods", ["shuffled"], "tickets.recipes.shuffled.mask_of: missing"),
    ("tickets.recipes.random.gamma", 0.1, "recipes.random.gamma: unknown key; known keys: scope, layer_counts_of"),
    ("tickets.recipes.random.layer_counts_of", "awtt", "tickets.recipes.random: it takes after 'awtt', which is none"),
    ("tickets.recipes.awt.rewind_rounds", 61, "tickets.recipes.awt: `rewind_rounds`: 61 do not fit in `epochs`: 60"),
    ("tickets.recipes.awt.decay", -1, "tickets.recipes.awt.decay: input should be greater than or equal to 0 (got -1)"),
    ("tickets.recipes.a/b", {"method": "awt"}, "tickets.recipes.a/b: the name of a recipe has letters"),
    ("tickets.recipes.x", {"gamma": 0}, "tickets: 'x' is neither a method"),
    ("tickets.recipes.x", {"method": "awt", "gama": 0}, "tickets.recipes.x.gama: unknown key; did you mean `gamma`?"),
    ("tickets.recipes.x", {"method": "awt", "densities": [0.5]}, "tickets.recipes.x.densities: unknown key"),
    ("tickets.recipes.x", {"method": "awt", "attack": {"steps": 0}}, "tickets.recipes.x.attack.steps: input should"),
    ("tickets.recipes.x", {"from": "awtt"}, "tickets.recipes.x.from: 'awtt' is none of awt, awt_paper"),
    ("tickets.recipes.x", {"from": "x"}, "tickets.recipes.x: `from` leads back to it"),
    ("tickets.recipes.awt.from", "awt_paper", "`from` leads back to it"),
    ("tickets.shared.batchs", 3, "tickets.shared.batchs: unknown key; did you mean `batch`?"),
    ("tickets.shared.batch", 0, "tickets.shared.batch: input should be greater than or equal to 1 (got 0)"),
    ("tickets.shared.attack.steps", 0, "tickets.shared.attack.steps: input should be greater than or equal to 1"),
    ("tickets.shared.scope", "globl", "tickets.shared.scope: input should be"),
]  # fmt: skip


@pytest.mark.parametrize(("dotted", "value", "message"), [*FAULTS, *RECIPES])
def test_faults_are_named(dotted: str, value: Any, message: str) -> None:
    with pytest.raises(InputError) as error:
        parsed({dotted: value})
    assert message in str(error.value)
    assert str(error.value).startswith("params.yaml: ")
    assert "\n" not in str(error.value)


def test_a_missing_key_is_named() -> None:
    raw = copy.deepcopy(DEFAULT)
    del raw["tickets"]["densities"]
    with pytest.raises(InputError, match=r"params\.yaml: tickets\.densities: missing"):
        checked(Params, raw, "params.yaml")


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(InputError, match=r"threat\.eps.*retrain\.epochs"):
        parsed({"threat.eps": -1, "retrain.epochs": 0})


def test_the_best_epoch_needs_points_to_judge_by() -> None:
    with pytest.raises(InputError, match=r"params\.yaml: retrain\.keep_epoch: best .* data\.validation_share"):
        parsed({"retrain.keep_epoch": "best", "data.validation_share": 0})


def test_options_survive_the_way_through_json() -> None:
    options = parsed({}).recipe("awt").options
    again = from_json(type(options), as_json(options))
    assert again == options
    assert hash(again) == hash(options)
    assert isinstance(again.attack, Attack)


CIFAR100 = {"counts": {"train": 50000}, "shape": [32, 32, 3], "classes": 100}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"estimator": "full"},
            "tickets.recipes.awt: estimator: full stores 128 GB an initialisation, more than kernel.views_disk_gb: 2; "
            "choose `estimator: residual` (0.02 GB), `estimator: diagonal` (0.02 GB), a smaller batch, or raise it",
        ),
        ({"estimator": "probe"}, "tickets.recipes.awt: estimator: probe stores 2.4 GB"),
        ({"estimator": "full", "epochs": 20}, "choose `estimator: probe` (0.8 GB), `estimator: residual` (0.02 GB)"),
    ],
)
def test_what_does_not_fit_the_disk_budget_is_refused_with_its_alternatives(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        check_data(parsed({f"tickets.recipes.awt.{name}": value for name, value in changes.items()}), CIFAR100)
    assert message in str(caught.value)


@pytest.mark.parametrize("changes", [{"kernel.views_disk_gb": 3}, {"tickets.recipes.awt.gamma": 0}])
def test_a_larger_budget_or_no_kernel_term_is_fine(changes: dict[str, Any]) -> None:
    check_data(parsed(changes), CIFAR100)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel.reference_points": 60000}, "kernel.reference_points: 60000 is more than the 50000 training points"),
        ({"retrain.batch": 60000}, "retrain.batch: 60000 is more than"),
        ({"tickets.shared.batch": 60000}, "batch of the method awt: 60000 is more than"),
        ({"model": {"name": "vgg16", "widths": [1] * 5}}, "model.name: vgg16 pools 5 times"),
    ],
)
def test_what_does_not_fit_the_data_is_refused(changes: dict[str, Any], message: str) -> None:
    small = {**CIFAR100, "shape": [28, 28, 1]}
    with pytest.raises(InputError) as caught:
        check_data(parsed(changes), small)
    assert message in str(caught.value)


def test_a_recipe_is_its_method_with_its_own_values_over_the_shared_ones() -> None:
    asked = parsed({"tickets.recipes.ours": {"method": "awt", "gamma": 0.5, "attack": {"steps": 3}}})
    recipe = asked.recipe("ours")
    assert recipe.reference == asked.recipe("awt").reference
    assert (recipe.options.gamma, recipe.options.epochs) == (0.5, 60)
    assert (recipe.options.attack.steps, recipe.options.attack.random_start) == (3, True)
    assert recipe.options.mask_every != asked.recipe("awt").options.mask_every  # what awt says is awt's own


def test_a_recipe_from_another_has_its_values() -> None:
    asked = parsed(
        {"tickets.recipes.ours": {"from": "awt", "gamma": 0.5}, "tickets.recipes.more": {"from": "ours", "decay": 0.1}}
    )
    awt, ours, more = (as_json(asked.recipe(name).options) for name in ("awt", "ours", "more"))
    assert ours == awt | {"gamma": 0.5}
    assert more == ours | {"decay": 0.1}


def test_shared_options_go_to_the_methods_that_have_them() -> None:
    before, after = (parsed({"tickets.shared.scope": scope}) for scope in ("global", "layer"))
    assert before.recipe("dense").options == after.recipe("dense").options
    assert after.recipe("random").options.scope == after.recipe("awt").options.scope == "layer"


def test_what_decides_nothing_is_not_among_what_stages_depend_on() -> None:
    """Where files are, how a run runs, recipes that are not compared, whether a default is written out."""
    before = effective(parsed({}))
    others = {"runtime.retries": 9, "root": "elsewhere", "tickets.recipes.awt_paper.gamma": 2}
    assert effective(parsed(others)) == before
    del (raw := copy.deepcopy(DEFAULT))["retrain"]["warmup_share"]
    assert effective(checked(Params, raw, "params.yaml")) == before
    assert effective(parsed({"retrain.warmup_share": 0.5})) != before
