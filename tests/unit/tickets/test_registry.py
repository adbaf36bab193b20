"""Every method by name is a Method, which says what it needs and what it costs."""

import dataclasses

import pytest

from awt.errors import InputError
from awt.models.size import Problem, size
from awt.tickets.method import Method, NoOptions, Scoped, method
from awt.tickets.registry import METHODS
from awt.tickets.setting import Setting, Ticket


def options_of(name: str):
    kind = method(METHODS[name]).options
    return kind(**{one.name: "awt" for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING})


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_in_the_file_of_its_name_and_tells_its_cost(name, build_network):
    assert METHODS[name] == f"awt.tickets.{name}:METHOD"
    asked, options = method(METHODS[name]), options_of(name)
    problem = Problem(size(build_network("mlp"), (4, 4, 1)), 3, {"train": 640, "validation": 12, "test": 15})
    cost = asked.flops(options, 0.1, problem)
    assert 0 <= cost < float("inf")
    assert asked.flops(options, 0.0, problem) <= cost  # nothing is attacked
    assert asked.needs(options).views is None or asked.needs(options).outputs


def test_what_methods_need_of_others():
    needs = {name: method(reference).needs(options_of(name)) for name, reference in METHODS.items()}
    assert {name for name, one in needs.items() if one.teacher} == {"awt", "concrete"}
    assert {name for name, one in needs.items() if one.views} == {"awt"}
    assert {name for name, one in needs.items() if one.mask_of} == {"shuffled"}
    one_shot = method(METHODS["magnitude"]).options(weights="teacher")
    assert method(METHODS["magnitude"]).needs(one_shot).teacher
    taking_after = method(METHODS["random"]).options(layer_counts_of="awt")
    assert method(METHODS["random"]).needs(taking_after).mask_of == "awt"


def bare(setting):
    return Ticket(setting.network.everything())


def plain(setting: Setting) -> Ticket:
    return Ticket(setting.network.everything())


def optioned(setting: Setting, options: Scoped) -> Ticket:
    return Ticket(setting.network.everything())


NUMBER = 3


def test_functions_of_the_user_s_are_methods(build_network, dataset):
    """With the options that their second argument's type says."""
    network = build_network("mlp")
    setting = Setting(network, network.initialise(0), 1.0, 0, dataset)
    for function, kind in ((bare, NoOptions), (plain, NoOptions), (optioned, Scoped)):
        asked = method(f"{__name__}:{function.__name__}")
        assert isinstance(asked, Method)
        assert asked.options is kind
        assert all(kept.all() for kept in asked.find(setting, kind()).mask.values())
    with pytest.raises(InputError, match="NUMBER: neither a Method nor a function"):
        method(f"{__name__}:NUMBER")
