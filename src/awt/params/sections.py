"""Typed, validated parameters. The default params.yaml states every knob; what others may leave out has a default.

The types hold and check values; they compute nothing, so that a value in params.yaml (and thus in dvc.lock and
in a cell's key) is the whole truth about a run.
"""

import difflib
import json
from typing import Annotated, Any, Literal, NamedTuple, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from awt.params.faults import describe

Method = Literal[
    "awt",
    "concrete",
    "dense",
    "dns",
    "grasp",
    "imp",
    "iwi",
    "magnitude",
    "random",
    "shuffled",
    "snip",
    "synflow",
]
ATTACKS = {  # by name, what of it can be set
    "fgsm": (),
    "pgd20": ("steps", "restarts"),
    "pgd100": ("steps", "restarts"),
    "pgd-margin": ("steps", "restarts"),
    "pgd-dlr": ("steps", "restarts"),
    "pgd-kl": ("steps", "restarts"),
    "pgd-t": ("steps", "restarts", "targets"),
    "apgd-ce": ("steps", "restarts"),
    "apgd-dlr": ("steps", "restarts"),
    "apgd-t": ("steps", "restarts", "targets"),
    "fab-t": ("steps", "targets"),
    "square": ("queries", "restarts"),
    "deepfool": ("steps",),
}
SUITES = {  # attacks, each on the points that the ones before it left standing
    "pgd100": ("pgd100",),
    "quick": ("pgd20", "apgd-dlr"),
    "autoattack": ("apgd-ce", "apgd-t", "fab-t", "square"),  # the "standard" version
}
METHODS: tuple[str, ...] = get_args(Method)
CellKind = Literal["default", "teacher", "dense", "views", "points", "plan", "tile", "mask", "retrain", "evaluate"]
Share = Annotated[float, Field(gt=0, lt=1)]
Density = Annotated[float, Field(gt=0, le=1)]
Positive = Annotated[int, Field(ge=1)]
Seed = Annotated[int, Field(ge=0, lt=2**31)]


class _Section(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)

    @classmethod
    def of(cls, value: Any) -> Self:
        """A section rebuilt from its JSON form, as it stands in a cell's parameters."""
        return cls.model_validate(value, strict=False)

    @classmethod
    def of_some(cls, value: dict[str, Any]) -> Self:
        """A section with some of its keys: to read another is an error."""
        fields = {name: cls.model_fields[name] for name in value}
        read = {
            name: TypeAdapter(field.rebuild_annotation()).validate_python(value[name]) for name, field in fields.items()
        }
        return cls.model_construct(set(read), **read)

    def as_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


class Gaussian(_Section):
    """The generated mixture of two classes."""

    points: Annotated[int, Field(ge=2)] = 5000
    dimension: Positive = 100
    distance: Annotated[float, Field(ge=0)] = 3.0
    deviation: Annotated[float, Field(gt=0)] = 1.0


class Data(_Section):
    name: Literal["cifar10", "cifar100", "digits", "fashion_mnist", "folder", "gaussian", "mnist", "npz"]
    root: str | None
    path: str | None
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None
    validation: Annotated[float, Field(ge=0, lt=1)]
    test: Share
    limit: Positive | None
    seed: Seed
    size: tuple[Positive, Positive] | None = None
    gaussian: Gaussian = Gaussian()

    @model_validator(mode="after")
    def _path_of_own_data(self) -> Self:
        if (self.name in ("npz", "folder")) != (self.path is not None):
            raise ValueError("`path` names the data of `name: npz` or `name: folder`, and is null for every other")
        return self

    @model_validator(mode="after")
    def _size_of_images(self) -> Self:
        if self.size is not None and self.name != "folder":
            raise ValueError("`size` is what images of `name: folder` are resized to, and is null for every other")
        return self


class Pooled(NamedTuple):
    """What a network that pools asks for: widths (as published), what they are of; and how often it halves images."""

    widths: tuple[int, ...]
    of: str
    halvings: int


POOLED = {
    "cnn": Pooled((32, 64, 1024), "two convolutions, one dense layer", 2),
    "lenet": Pooled((6, 16, 120, 84), "two convolutions, two dense layers", 2),
    "vgg16": Pooled((64, 128, 256, 512, 512), "the convolutions of each of its five stages", 5),
}


class Model(_Section):
    name: Literal["mlp", "cnn", "lenet", "vgg16"]
    widths: tuple[Positive, ...]
    init: Literal["glorot", "he", "lecun", "ntk"]

    @model_validator(mode="after")
    def _widths_are_as_many_as_the_layers(self) -> Self:
        asked = POOLED.get(self.name)
        if asked and len(self.widths) != len(asked.widths):
            numbers = list(asked.widths)
            raise ValueError(f"`widths` of {self.name} are {len(numbers)} numbers, of {asked.of}, e.g. {numbers}")
        return self


class Threat(_Section):
    norm: Literal["linf", "l2", "l1"]
    eps: Annotated[float, Field(ge=0)]
    eps_unit: Literal["pixel", "std"]
    clip: bool


class Attack(_Section):
    steps: Positive
    step_size: Annotated[float, Field(gt=0)] | None
    random_start: bool


class Kernel(_Section):
    reference: Positive
    memory_gb: Annotated[float, Field(gt=0)]
    disk_gb: Annotated[float, Field(gt=0)]


class Search(_Section):
    methods: Annotated[tuple[str, ...], Field(min_length=1)]
    densities: Annotated[tuple[Density, ...], Field(min_length=1)]
    scope: Literal["layer", "global", "erk"]
    adversarial: bool
    attack: Attack
    batch: Positive
    epochs: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    teacher_epochs: Annotated[int, Field(ge=0)]
    teacher_rate: Annotated[float, Field(gt=0)]
    target: Literal["squared", "reverse_kl", "loss_gradient", "labels"]
    gamma: Annotated[float, Field(ge=0)]
    distance: Literal["frobenius", "cosine"]
    estimator: Literal["probe", "residual", "full", "diagonal"]
    probes: Positive
    projected: bool
    decay: Annotated[float, Field(ge=0)]
    initial_mask: Literal["magnitude", "random"]
    mask_every: Positive
    anneal: Annotated[float, Field(ge=0, le=1)]
    rewinds: Annotated[int, Field(ge=0)] = 0
    drop: Annotated[float, Field(ge=0, le=1)] = 0.1
    start: Literal["rewind", "searched"]
    weights: Literal["initial", "teacher"]
    score_batches: Positive
    rounds: Positive
    like: str | None
    variants: dict[str, dict[str, Any]]

    @model_validator(mode="after")
    def _no_repeats(self) -> Self:
        for name in ("methods", "densities"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"`{name}` names something twice: {list(values)}")
        return self

    @model_validator(mode="after")
    def _rounds_fit(self) -> Self:
        if self.rewinds > self.epochs:
            raise ValueError(f"`rewinds`: {self.rewinds} rounds do not fit in `epochs`: {self.epochs}")
        return self

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        known = [*METHODS, *self.variants]
        for name in self.methods:
            if name not in known:
                close = difflib.get_close_matches(name, known, n=1)
                hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"
                raise ValueError(f"`methods` names {name!r}, neither a method nor one of `variants`; {hint}")
        return self

    @model_validator(mode="after")
    def _variants_are_valid(self) -> Self:
        fixed = {"methods", "densities", "variants"}
        for name, changes in self.variants.items():
            here = f"variants.{name}"
            if name in METHODS or not name.replace("_", "").isalnum():
                raise ValueError(f"{here}: a variant needs a name of its own, of letters, digits and _")
            if changes.get("method") not in METHODS:
                raise ValueError(f"{here}.method: {changes.get('method')!r} is not one of {', '.join(METHODS)}")
            for key in changes.keys() - {"method"}:
                if key not in Search.model_fields or key in fixed:
                    own = [field for field in Search.model_fields if field not in fixed]
                    close = difflib.get_close_matches(key, own, n=1)
                    raise ValueError(f"{here}.{key}: unknown key" + (f"; did you mean `{close[0]}`?" if close else ""))
            try:
                self.recipe(name)
            except ValidationError as error:
                raise ValueError("; ".join(f"{here}.{describe(fault, Search)}" for fault in error.errors())) from None
        return self

    def base(self, name: str) -> str:
        """The method that a name of `methods` stands for."""
        return str(self.variants[name]["method"]) if name in self.variants else name

    def recipe(self, name: str) -> "Search":
        """The section as one of the `methods` sees it: with its variant's values in place."""
        changes = {key: value for key, value in self.variants.get(name, {}).items() if key != "method"}
        if isinstance(changes.get("attack"), dict):
            changes["attack"] = self.attack.as_json() | changes["attack"]
        own = self.as_json() | changes | {"methods": [self.base(name)], "variants": {}}
        return Search.model_validate_json(json.dumps(own))


class Retrain(_Section):
    objective: Literal["natural", "fgsm", "pgd", "trades", "beta"] = "pgd"
    epochs: Positive
    batch: Positive
    learning_rate: Annotated[float, Field(gt=0)]
    schedule: Literal["constant", "cosine", "steps"] = "constant"
    decay: Annotated[float, Field(ge=0)] = 0.0
    divergence: Annotated[float, Field(gt=0)] = 6.0
    smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    warmup: Annotated[float, Field(ge=0, le=1)] = 0.0
    keep: Literal["last", "best"] = "last"
    also: tuple[Threat, ...] = ()
    attack: Attack


class Evaluate(_Section):
    points: Positive | None = None
    chunk: Positive
    suites: Annotated[tuple[str, ...], Field(min_length=1)]
    attacks: dict[str, dict[str, Positive]]
    sanity: Annotated[int, Field(ge=0)]
    dynamics: Annotated[int, Field(ge=0)] = 0

    @model_validator(mode="after")
    def _names_are_known(self) -> Self:
        if len(set(self.suites)) != len(self.suites):
            raise ValueError(f"`suites` names something twice: {list(self.suites)}")
        for where, names, known in (
            ("suites", self.suites, (*SUITES, *ATTACKS)),
            ("attacks", tuple(self.attacks), ATTACKS),
        ):
            for name in names:
                if name not in known:
                    close = difflib.get_close_matches(name, known, n=1)
                    hint = f"did you mean `{close[0]}`?" if close else f"known: {', '.join(known)}"
                    raise ValueError(f"`{where}` names {name!r}; {hint}")
        for name, changes in self.attacks.items():
            for key in changes:
                if key not in ATTACKS[name]:
                    raise ValueError(f"attacks.{name}.{key}: unknown key; allowed: {', '.join(ATTACKS[name])}")
        return self

    def attacked(self, points: int) -> int:
        """How many of so many test points are attacked."""
        return points if self.points is None else min(points, self.points)

    def suite(self, name: str) -> tuple[str, ...]:
        """The attacks of a suite, or the one that a name stands for itself."""
        return SUITES.get(name, (name,))


class Published(_Section):
    """What others report of a method, as shares."""

    method: str
    density: Density
    natural: Annotated[float, Field(ge=0, le=1)] | None = None
    adversarial: Annotated[float, Field(ge=0, le=1)] | None = None
    cosine: Annotated[float, Field(ge=-1, le=1)] | None = None  # these two of the Gaussian mixture
    robustness: Annotated[float, Field(ge=0, le=1)] | None = None


class Report(_Section):
    published: tuple[Published, ...] = ()
    source: str = ""


class Resources(_Section):
    """What one cell asks of the cluster; `gpus: null` means one where the cluster has any."""

    cpus: Annotated[float, Field(gt=0)] = 1
    gpus: Annotated[float, Field(ge=0)] | None = None
    memory_gb: Annotated[float, Field(ge=0)] = 0


class Runtime(_Section):
    executor: Literal["ray", "serial"] = "ray"
    device: Literal["auto", "cpu", "gpu"] = "auto"
    store: str | None = None
    retries: Annotated[int, Field(ge=0)] = 3
    checkpoint_seconds: Annotated[float, Field(ge=0)] = 20
    grace_seconds: Annotated[float, Field(ge=0)] = 30
    resources: dict[CellKind, Resources] = {}


class Params(_Section):
    root: str
    seeds: Annotated[tuple[Seed, ...], Field(min_length=1)]
    data: Data
    model: Model
    threat: Threat
    kernel: Kernel
    search: Search
    retrain: Retrain
    evaluate: Evaluate
    report: Report = Report()
    runtime: Runtime = Runtime()

    @model_validator(mode="after")
    def _seeds_differ(self) -> Self:
        if len(set(self.seeds)) != len(self.seeds):
            raise ValueError(f"`seeds` names something twice: {list(self.seeds)}")
        return self

    @model_validator(mode="after")
    def _masks_to_take_after_are_found(self) -> Self:
        search = self.search
        for name in search.methods:
            method, like = search.base(name), search.recipe(name).like
            if method == "shuffled" and like is None:
                raise ValueError(f"search.like: {name} shuffles the mask of another method, and must name it")
            after = ("shuffled", "random")
            if method in after and like is not None and (like not in search.methods or search.base(like) in after):
                raise ValueError(f"search.like: {name} takes after {like!r}, which is none of the methods that choose")
        return self

    @model_validator(mode="after")
    def _the_best_epoch_can_be_known(self) -> Self:
        if self.retrain.keep == "best" and self.data.validation == 0:
            raise ValueError("retrain.keep: best goes by robust validation accuracy: set data.validation above 0")
        return self
