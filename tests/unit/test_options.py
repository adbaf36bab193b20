"""Typed options are values: equal, hashable, and the same after the way through JSON."""

import dataclasses
import json
from typing import Annotated, Any

import pytest
from annotated_types import Ge

from awt.attacks.ball import Threat
from awt.attacks.pgd import Attack
from awt.data.options import Data
from awt.models.architecture import Model
from awt.options import as_json, from_json, options
from awt.runtime.options import Resources, Runtime
from awt.tickets.method import method
from awt.tickets.registry import METHODS
from awt.training.options import Training


@options
class Inner:
    sizes: tuple[Annotated[int, Ge(1)], ...] = ()


@options
class Outer:
    """Every form of a field that options have."""

    name: str
    inner: Inner = Inner()
    perhaps: Inner | None = None
    many: tuple[Inner, ...] = ()
    named: dict[str, Inner] = dataclasses.field(default_factory=dict)
    free: dict[str, Any] = dataclasses.field(default_factory=dict)
    pair: tuple[int, int] | None = None


WHOLE = Outer(
    name="x",
    inner=Inner(sizes=(1, 2)),
    perhaps=Inner(sizes=(3,)),
    many=(Inner(), Inner(sizes=(4,))),
    named={"a": Inner(sizes=(5,))},
    free={"b": [1, {"c": None}]},
    pair=(6, 7),
)
EXAMPLES = [
    WHOLE,
    Outer(name="y"),
    Data(name="npz", path="a.npz", size=None),
    Data(name="folder", path="images", size=(8, 8)),
    Model(widths=(3, 2)),
    Threat(norm="l2", eps=0.5),
    Attack(step_size=0.1),
    Training(epochs=3, extra_threats=(Threat(eps=0.1),), attack=Attack(steps=2)),
    Runtime(resources={"mask": Resources(cpus=2)}),
]


@pytest.mark.parametrize("value", EXAMPLES, ids=lambda value: type(value).__name__)
def test_options_survive_the_way_through_json(value):
    assert from_json(type(value), json.loads(json.dumps(as_json(value)))) == value


def test_every_field_is_written_those_at_their_defaults_too():
    assert as_json(Attack()) == {"steps": 10, "step_size": None, "random_start": True}
    assert from_json(Attack, {"steps": 3}) == Attack(steps=3)


@pytest.mark.parametrize("reference", METHODS.values())
def test_options_of_methods_can_be_compiled_for(reference):
    """As static arguments of a jitted function."""
    kind = method(reference).options
    required = {one.name: "another" for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING}
    one, same = kind(**required), from_json(kind, as_json(kind(**required)))
    assert one == same
    assert hash(one) == hash(same)


def test_options_stay_as_they_are():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Attack().steps = 3
    with pytest.raises(TypeError):
        Attack(10)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Data(name="npz"), "`path` names the data of"),
        (lambda: Data(size=(8, 8)), "`size` is what images of"),
        (lambda: Data(name="npz", path="x", sha256="short"), "64 hexadecimal digits"),
        (lambda: method(METHODS["imp"]).options(epochs=2, rounds=3), "3 trainings do not fit in `epochs`: 2"),
        (lambda: method(METHODS["awt"]).options(epochs=2, rewind_rounds=3), "3 do not fit in `epochs`: 2"),
    ],
)
def test_options_that_contradict_each_other_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
