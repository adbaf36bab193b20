"""Networks by name, and networks of the user's own, which are functions that build layers."""

from dataclasses import replace

import pytest

from awt.errors import InputError
from awt.models.architecture import Architecture, Model, architecture, build
from awt.models.mlp import mlp
from awt.models.registry import NETWORKS, check, resolved


def doubled(shape, widths, classes, init):
    return mlp(shape, tuple(2 * width for width in widths), classes, init)


PAIRED = Architecture(doubled, (3, 2), "two layers")


@pytest.mark.parametrize("name", NETWORKS)
def test_a_name_is_an_architecture_in_the_file_of_its_name(name):
    reference = NETWORKS[name]
    assert reference.startswith(f"awt.models.{name}:")
    asked = architecture(reference)
    widths = asked.widths or (4,)
    check(Model(name=name, widths=widths))
    assert resolved(Model(name=name, widths=widths)) == Model(name=reference, widths=widths)
    assert resolved(resolved(Model(name=name, widths=widths))).name == reference


def test_a_function_of_the_user_s_is_a_network(dataset):
    own = Model(name=f"{__name__}:doubled", widths=(3, 2))
    check(own)
    assert build(resolved(own), dataset) == build(Model(name=NETWORKS["mlp"], widths=(6, 4)), dataset)
    assert architecture(f"{__name__}:PAIRED") is PAIRED


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Model(name="vgg", widths=()), r"^model\.name: 'vgg' is none of cnn, lenet, mlp, vgg16, nor module:name"),
        (Model(name="vgg16", widths=(8,)), r"^model\.widths: those of vgg16 are 5 numbers, of the convolutions"),
        (Model(name="cnn", widths=(1, 2)), r"^model\.widths: those of cnn are 3 numbers"),
        (Model(name="awt.models.cnn:NONE", widths=()), "has no 'NONE'"),
        (Model(name="nowhere:net", widths=()), "there is no module 'nowhere'"),
    ],
)
def test_networks_that_cannot_be_built_are_refused(model, message):
    with pytest.raises(InputError, match=message):
        check(model)


def test_the_widths_of_a_user_s_own_architecture_are_checked_as_well():
    own = Model(name=f"{__name__}:PAIRED", widths=(3, 2))
    check(own)
    with pytest.raises(InputError, match="are 2 numbers, of two layers"):
        check(replace(own, widths=(3,)))
