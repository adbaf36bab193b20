"""The parameters of the tickets workflow; sections that the core defines are the core's own options."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le, MinLen

from awt.attacks import registry as attacks
from awt.attacks.ball import Threat
from awt.data.options import Data, Positive, Seed
from awt.errors import InputError
from awt.loading import is_reference
from awt.models import registry as networks
from awt.models.architecture import Model, architecture
from awt.options import as_json, options
from awt.params.checking import checked
from awt.params.common import Common
from awt.params.reading import merged
from awt.tickets.method import Method, Needs, method, threat_of
from awt.tickets.registry import METHODS
from awt.training.objectives.objective import objective
from awt.training.objectives.registry import OBJECTIVES
from awt.training.objectives.registry import resolved as resolved_training
from awt.training.options import Training

# of cells, whose resources may be set; `default` is of all that are not
KINDS = ("default", "teacher", "dense", "views", "points", "plan", "tile", "mask", "retrain", "evaluate")

Density = Annotated[float, Gt(0), Le(1)]
Share = Annotated[float, Ge(0), Le(1)]


@options
class Kernel:
    reference_points: Positive = 128
    tile_memory_gb: Annotated[float, Gt(0)] = 1.0
    views_disk_gb: Annotated[float, Gt(0)] = 2.0


@options
class Tickets:
    methods: Annotated[tuple[str, ...], MinLen(1)]
    densities: Annotated[tuple[Density, ...], MinLen(1)]
    shared: dict[str, Any] = field(default_factory=dict)
    recipes: dict[str, dict[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("methods", "densities"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"`{name}` names something twice: {list(values)}")


@options
class Evaluate:
    points: Positive | None = None
    chunk_points: Positive = 512
    suites: Annotated[tuple[str, ...], MinLen(1)] = ("pgd100",)
    attacks: dict[str, dict[str, Positive]] = field(default_factory=dict)
    sanity_points: Annotated[int, Ge(0)] = 0
    dynamics_points: Annotated[int, Ge(0)] = 0
    keep_examples: bool = False

    def __post_init__(self) -> None:
        if len(set(self.suites)) != len(self.suites):
            raise ValueError(f"`suites` names something twice: {list(self.suites)}")

    def attacked(self, points: int) -> int:
        """How many of so many test points are attacked."""
        return points if self.points is None else min(points, self.points)


@options
class Published:
    """What others report of a method, as shares."""

    method: str
    density: Density
    natural: Share | None = None
    adversarial: Share | None = None
    cosine: Annotated[float, Ge(-1), Le(1)] | None = None  # these two of the Gaussian mixture
    robustness: Share | None = None


@options
class Report:
    published: tuple[Published, ...] = ()
    source: str = ""


@options
class Params(Common):
    seeds: Annotated[tuple[Seed, ...], MinLen(1)]
    data: Data
    model: Model
    threat: Threat
    kernel: Kernel = Kernel()
    tickets: Tickets
    retrain: Training
    evaluate: Evaluate = Evaluate()
    report: Report = Report()

    def __post_init__(self) -> None:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"`seeds` names something twice: {list(self.seeds)}")
        if self.retrain.keep_epoch == "best" and self.data.validation_share == 0:
            raise ValueError(
                "retrain.keep_epoch: best goes by robust validation accuracy: set data.validation_share above 0"
            )
        for kind in self.runtime.resources:
            if kind not in KINDS:
                raise ValueError(f"runtime.resources.{kind}: no cells are of this kind; {_hint(kind, KINDS)}")
        try:
            networks.check(self.model)
            attacks.check(self.evaluate.suites, self.evaluate.attacks)
            _check_objective(self.retrain)
            _check_recipes(self.tickets)
        except InputError as error:
            raise ValueError(str(error)) from None

    def recipe(self, name: str) -> "Recipe":
        return recipe(self.tickets, name)

    @property
    def recipes(self) -> "list[Recipe]":
        """Those of the methods that are compared, in their order."""
        return [recipe(self.tickets, name) for name in self.tickets.methods]


@dataclass(frozen=True)
class Recipe:
    """A method with its options, under the name that tables have."""

    name: str
    reference: str  # module:name
    method: Method
    options: Any

    @property
    def needs(self) -> Needs:
        return self.method.needs(self.options)

    @property
    def gives_start(self) -> bool:
        return self.method.gives_start(self.options)

    def threat(self, threat: Threat) -> Threat | None:
        """What the search is attacked with: nothing, where the method looks at no points or at natural ones."""
        return threat_of(self.options, threat)


def recipe(tickets: Tickets, name: str) -> Recipe:
    """The method that a name stands for: its own options, over the shared ones that it has, over its defaults."""
    asked, own = _written(tickets, name, ())
    if asked not in METHODS and not is_reference(asked):
        hint = _hint(asked, [*METHODS, *tickets.recipes])
        raise InputError(f"tickets: {asked!r} is neither a method, one of `recipes`, nor module:name; {hint}")
    reference = METHODS.get(asked, asked)
    found = method(reference)
    has = {field.name for field in dataclasses.fields(found.options)}
    given = merged({key: value for key, value in tickets.shared.items() if key in has}, own)

    def key(names: Sequence[str]) -> str:
        section = "shared" if _leads(tickets.shared, names) and not _leads(own, names) else f"recipes.{name}"
        return ".".join(["tickets", section, *names])

    return Recipe(name, reference, found, checked(found.options, given, "", key))


def _leads(values: Any, names: Sequence[str]) -> bool:
    """Whether nested mappings have what some names lead to."""
    for name in names:
        if not isinstance(values, Mapping):
            return True
        if name not in values:
            return False
        values = values[name]
    return bool(names)


def _hint(given: object, known: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(given), known, n=1)
    return f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"


def _written(tickets: Tickets, name: str, seen: tuple[str, ...]) -> tuple[str, dict[str, Any]]:
    """The method that a recipe names, and its options as written: over those of the recipe that it starts `from`."""
    if name in seen:
        raise InputError(f"tickets.recipes.{name}: `from` leads back to it")
    own = dict(tickets.recipes.get(name, {}))
    source, asked = own.pop("from", None), own.pop("method", None)
    if source is None:
        return asked or name, own
    if source not in tickets.recipes:
        raise InputError(f"tickets.recipes.{name}.from: {source!r} is none of {', '.join(tickets.recipes)}")
    method_of_source, options_of_source = _written(tickets, source, (*seen, name))
    return asked or method_of_source, merged(options_of_source, own)


def _check_objective(training: Training) -> None:
    name = training.objective
    if name not in OBJECTIVES and not is_reference(name):
        close = difflib.get_close_matches(name, OBJECTIVES, n=1)
        hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(OBJECTIVES)}"
        raise InputError(f"retrain.objective: {name!r} is no objective, nor module:name; {hint}")
    checked(objective(OBJECTIVES.get(name, name)).options, training.objective_options, "retrain.objective_options")


def _check_recipes(tickets: Tickets) -> None:
    for name in tickets.recipes:
        if not name.replace("_", "").isalnum():  # it is part of the names of files
            raise InputError(f"tickets.recipes.{name}: the name of a recipe has letters, digits and _ alone")
    recipes = {name: recipe(tickets, name) for name in dict.fromkeys([*tickets.methods, *tickets.recipes])}
    kinds = [type(one.options) for one in recipes.values()] + [method(one).options for one in METHODS.values()]
    known = {field.name for kind in kinds for field in dataclasses.fields(kind)}
    for key in tickets.shared:
        if key not in known:
            raise InputError(f"tickets.shared.{key}: unknown key; {_hint(key, sorted(known))}")
    for name in tickets.methods:
        other = recipes[name].needs.mask_of
        if other is None:
            continue
        if other not in tickets.methods or recipes[other].needs.mask_of is not None:
            raise InputError(
                f"tickets.recipes.{name}: it takes after {other!r}, which is none of the methods that choose a mask"
            )


def effective(params: Params) -> dict[str, Any]:
    """As stages depend on them: what a default or a short name decides is written out; how a run runs is left out."""
    found: dict[str, Any] = as_json(params)
    for name in ("root", "base", "workflow", "runtime"):
        del found[name]
    found["model"] = as_json(networks.resolved(params.model))
    found["retrain"] = as_json(resolved_training(params.retrain))
    found["tickets"] = {
        "densities": found["tickets"]["densities"],
        "recipes": {one.name: {"method": one.reference, "options": as_json(one.options)} for one in params.recipes},
    }
    evaluate = params.evaluate
    found["evaluate"]["suites"] = {
        name: {
            attack: list(attacks.resolved(attack, evaluate.attacks.get(attack, {}))) for attack in attacks.suite(name)
        }
        for name in evaluate.suites
    }
    return found


def check_data(params: Params, described: Mapping[str, Any]) -> None:
    """What parameters ask of the data that they will meet (dataset.json): found before hours of work, not after."""
    points, shape = described["counts"]["train"], described["shape"]
    asked = {"kernel.reference_points": params.kernel.reference_points, "retrain.batch": params.retrain.batch}
    for one in params.recipes:
        if hasattr(one.options, "batch"):
            asked[f"batch of the method {one.name}"] = one.options.batch
    for name, value in asked.items():
        if value > points:
            raise InputError(f"params.yaml: {name}: {value} is more than the {points} training points")
    halvings = architecture(networks.resolved(params.model).name).halvings
    if min(shape[:2]) < (least := 2**halvings):
        raise InputError(
            f"params.yaml: model.name: {params.model.name} pools {halvings} times and needs images of "
            f"{least} x {least} at least, not {shape[0]} x {shape[1]}"
        )
    _check_disk(params, points, described["classes"])


def _check_disk(params: Params, points: int, classes: int) -> None:
    """The dense kernel's views must fit the budget: the whole tensor of 781 batches of CIFAR-100 would be 128 GB."""
    budget = params.kernel.views_disk_gb
    for one in params.recipes:
        asked = one.needs.views
        if asked is None or not asked.matched:
            continue
        row = one.options.batch * classes
        views = {"full": row**2, "probe": asked.epochs * asked.probes * row, "residual": row, "diagonal": row}
        size = {kind: 4e-9 * (points // one.options.batch) * numbers for kind, numbers in views.items()}
        if size[asked.estimator] > budget:
            others = [f"`estimator: {kind}` ({size[kind]:.3g} GB)" for kind in views if size[kind] <= budget]
            fewer = "fewer probes" if asked.estimator == "probe" else "a smaller batch"
            raise InputError(
                f"params.yaml: tickets.recipes.{one.name}: estimator: {asked.estimator} stores "
                f"{size[asked.estimator]:.3g} GB an initialisation, more than kernel.views_disk_gb: {budget:g}; "
                f"choose {', '.join([*others, fewer])}, or raise it"
            )
