"""Tickets through the API: exact densities, the pipeline's masks bit for bit, any function like awt's own networks."""

from dataclasses import fields

import jax.numpy as jnp
import numpy as np
import pytest

import awt
from awt.artifacts import decode_npz
from awt.cells.mask import find_mask
from awt.errors import InputError, WorkError
from awt.loop import UNWATCHED
from awt.models.network import decode_weights
from awt.options import options
from awt.tickets.masks import select, total_kept
from awt.tickets.method import Method, Scoped, method
from awt.tickets.registry import METHODS
from awt.tickets.setting import Setting, Ticket

THREAT = awt.Threat(eps=0.05)
ATTACK = {"steps": 1}
QUICK = {"epochs": 1, "batch": 12, "attack": ATTACK, "score_batches": 2, "rounds": 1, "mask_of": "random"}


def quick(name, **changes):
    """The options of a method that make it quick."""
    has = [field.name for field in fields(method(METHODS[name]).options)]
    return {key: value for key, value in (QUICK | changes).items() if key in has}


def assert_same(mask, other):
    assert mask.keys() == other.keys()
    for name in mask:
        np.testing.assert_array_equal(mask[name], other[name])


@pytest.mark.parametrize("name", METHODS)
def test_every_method_keeps_exactly_what_is_asked_for(name, mlp, dataset):
    density = None if name == "dense" else 0.3
    ticket = awt.find_ticket(name, mlp, dataset, density, THREAT, **quick(name))
    kept = {layer: int(part.sum()) for layer, part in ticket.mask.items()}
    assert sum(kept.values()) == total_kept(mlp.kernel_shapes, density or 1.0)
    assert min(kept.values()) >= 1
    assert (ticket.start is not None) == (name in ("dns", "iwi"))


@pytest.mark.parametrize("name", ["awt", "dns", "snip", "magnitude", "random"])
def test_masks_are_the_pipeline_s_bit_for_bit(name, mlp, dataset, search_params, search_inputs):
    """Teacher, its outputs, views of its kernel and all."""
    changes = {"awt": {"teacher_epochs": 2}, "magnitude": {"weights": "teacher", "teacher_epochs": 2}}.get(name, {})
    params = search_params(name, epochs=2, **changes)
    files = find_mask(params, search_inputs(teacher_epochs=2 if changes else 0), UNWATCHED)
    ticket = awt.find_ticket(name, mlp, dataset, 0.3, THREAT, **params["options"])
    assert_same(ticket.mask, decode_npz(files["mask.npz"], "mask.npz"))
    if "start.npz" in files:
        for layer, parts in decode_weights(files["start.npz"], "start.npz").items():
            assert_same(parts, ticket.start[layer])


def test_threats_in_standard_deviations(mlp, dataset, search_params, search_inputs):
    threat = awt.Threat(eps=0.2, eps_unit="std")
    params = search_params("snip")
    params["threat"] |= {"eps": 0.2, "eps_unit": "std"}
    expected = decode_npz(find_mask(params, search_inputs(), UNWATCHED)["mask.npz"], "mask.npz")
    assert_same(awt.find_ticket("snip", mlp, dataset, 0.3, threat, **params["options"]).mask, expected)


def test_points_and_labels_are_data(mlp, dataset):
    x, y = dataset.train_x, dataset.train_y
    bytes_ = (x * 255).round().astype(np.uint8)
    whole = awt.find_ticket("snip", mlp, dataset, 0.3, THREAT, **quick("snip"))
    for data in ((x, y), (bytes_, y.tolist())):
        assert_same(awt.find_ticket("snip", mlp, data, 0.3, THREAT, **quick("snip")).mask, whole.mask)


@pytest.mark.parametrize(
    "name", ["random", "magnitude", "snip", "grasp", "imp", "dns", "concrete", "iwi", "shuffled", "awt"]
)
def test_functions_have_the_tickets_of_networks(name, mlp, wrapped_mlp, dataset):
    """Of the same function, method and seed: what awt does not know of its layers, it does not need."""
    asked = quick(name, epochs=2, estimator="residual", teacher_epochs=1, gamma=0.03, mask_every=2)
    own, wrapped = (awt.find_ticket(name, one, dataset, 0.3, THREAT, **asked) for one in (mlp, wrapped_mlp))
    assert_same(wrapped.mask, own.mask)
    for row, expected in zip(wrapped.curve, own.curve, strict=True):
        np.testing.assert_allclose(list(row.values()), list(expected.values()), rtol=1e-3)


@pytest.mark.parametrize("foreign", ["flax", "equinox"], indirect=True)
def test_functions_of_other_libraries_have_tickets(foreign, dataset):
    """By all that a search does: an attack, probes of the kernel, steps of Adam."""
    network = awt.wrap(*foreign)
    ticket = awt.find_ticket("awt", network, dataset, 0.25, THREAT, **quick("awt", probes=1))
    assert sum(int(kept.sum()) for kept in ticket.mask.values()) == total_kept(network.kernel_shapes, 0.25)
    assert ticket.curve[-1]["kernel_distance"] > 0


def test_points_that_are_no_pictures(dataset):
    x, y = dataset.train_x.reshape(48, 16), dataset.train_y
    network = awt.wrap(lambda params, x: x @ params, np.random.default_rng(0).normal(size=(16, 3)))
    ticket = awt.find_ticket("snip", network, (x, y), 0.5, THREAT, **quick("snip"))
    assert awt.density(ticket.mask) == 0.5


@pytest.mark.parametrize("name", ["random", "magnitude"])
def test_methods_that_look_at_no_data_do_without(name, mlp, dataset):
    with_data = awt.find_ticket(name, mlp, dataset, 0.3, **quick(name))
    assert_same(awt.find_ticket(name, mlp, density=0.3).mask, with_data.mask)


def test_weights_and_teachers_of_one_s_own(mlp, dataset, random_weights):
    initial, teacher = random_weights(mlp, 1), random_weights(mlp, 2)
    largest = {name: jnp.abs(layer["kernel"]) for name, layer in initial.items()}
    expected = select(largest, jnp.asarray([total_kept(mlp.kernel_shapes, 0.3)]))
    assert_same(awt.find_ticket("magnitude", mlp, density=0.3, initial=initial).mask, expected)
    given = {"initial": teacher, "teacher": initial}
    taught = awt.find_ticket("magnitude", mlp, dataset, 0.3, weights="teacher", batch=12, **given)
    assert_same(taught.mask, expected)


def test_tickets_of_tickets(mlp, dataset):
    """A method that takes after another's mask takes a ticket, or has it found."""
    snip = awt.find_ticket("snip", mlp, dataset, 0.3, THREAT, **quick("snip"))
    counts = {name: int(kept.sum()) for name, kept in snip.mask.items()}
    shuffled = awt.find_ticket("shuffled", mlp, seed=1, mask_of=snip).mask
    assert_same(shuffled, awt.shuffle(snip.mask, seed=1))
    for density in (None, awt.density(snip.mask)):
        random = awt.find_ticket("random", mlp, density=density, layer_counts_of=snip).mask
        assert {name: int(kept.sum()) for name, kept in random.items()} == counts
    by_name = awt.find_ticket("shuffled", mlp, density=0.3, mask_of="magnitude").mask
    assert_same(by_name, awt.shuffle(awt.find_ticket("magnitude", mlp, density=0.3).mask))


@options
class Options(Scoped):
    """Of `smallest`."""

    power: int = 1


def smallest(setting: Setting, options: Options) -> Ticket:
    scores = {name: -(jnp.abs(layer["kernel"]) ** options.power) for name, layer in setting.initial.items()}
    return Ticket(select(scores, setting.kept(options.scope)))


def everything(setting: Setting) -> Ticket:
    return Ticket(setting.network.everything())


def test_methods_of_one_s_own(mlp):
    asked = [smallest, Method(smallest, Options), f"{__name__}:smallest"]
    masks = [awt.find_ticket(one, mlp, density=0.3, power=2).mask for one in asked]
    for mask in masks:
        assert_same(mask, masks[0])
    weights = mlp.initialise(0)["dense1"]["kernel"]
    kept = np.asarray(masks[0]["dense1"])
    assert np.abs(weights)[kept].max() <= np.abs(weights)[~kept].min()
    with pytest.raises(InputError, match=r"find_ticket\(smallest\): powre: unknown key; did you mean `power`"):
        awt.find_ticket(smallest, mlp, density=0.3, powre=2)
    with pytest.raises(WorkError, match="mask keeps 141 weights instead of 42"):
        awt.find_ticket(everything, mlp, density=0.3)


@pytest.mark.parametrize(
    ("arguments", "keywords", "message"),
    [
        (("snap", None, 0.3), {}, "method: 'snap' is neither a method of awt nor module:name; did you mean `snip`"),
        (("snip", None, None), {}, "density: None; it should be a number above 0, and 1 at most"),
        (("snip", None, 1.5), {}, "density: 1.5; it should be a number"),
        (("snip", None, 0.001), {}, "density: 0.001 of 141 weights leaves some of the 3 layers without any; .* 0.021"),
        (("dense", None, 0.3), {}, "density: 0.3; dense prunes nothing"),
        (("snip", None, 0.3), {}, r"data: snip looks at training points; pass data=\(x, y\)"),
        (("synflow", None, 0.3), {}, "data: synflow looks at training points"),
        (("awt", None, 0.3), {}, "data: awt looks at training points"),
        (("snip", 3, 0.3), {}, r"data: int; it should be \(x, y\), or a data set"),
        (("snip", None, 0.3), {"batch": 0}, r"find_ticket\(snip\): batch: input should be greater than or equal to 1"),
        (("snip", None, 0.3), {"epochs": 3}, r"find_ticket\(snip\): epochs: unknown key"),
        (("shuffled", None, 0.3), {}, r"find_ticket\(shuffled\): mask_of: missing"),
        (("snip", None, 0.3), {"teacher": {}}, "teacher: snip with these options compares with none"),
        (("snip", None, 0.3, 0.1), {}, "threat: 0.1 is no threat; it should be awt.Threat"),
        (("snip", None, 0.3, awt.Threat(eps=-1.0)), {}, "threat: eps: input should be greater than or equal to 0"),
    ],
)
def test_what_cannot_be_found(mlp, arguments, keywords, message):
    name, *others = arguments
    with pytest.raises(InputError, match=f"^{message}"):
        awt.find_ticket(name, mlp, *others, **keywords)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": np.zeros((48, 5, 5, 1))}, r"data: the network takes no points of shape \[5, 5, 1\]"),
        ({"x": np.full((48, 4, 4, 1), 2.0)}, "data: x: values from 2 to 2; pixels should be in"),
        ({"x": np.zeros((48, 4, 4, 1), int)}, r"data: x: int64 \[48, 4, 4, 1\]; it should be floating"),
        ({"x": np.zeros((48, 16))}, r"data: x: shape \[48, 16\]; the network takes images"),
        ({"y": np.zeros(4, int)}, "data: y: 4 labels for 48 points"),
        ({"y": np.full(48, 3)}, r"data: y: label 3 is out of range; labels must be 0\.\.2"),
    ],
)
def test_data_that_does_not_fit(mlp, dataset, change, message):
    data = {"x": dataset.train_x, "y": dataset.train_y} | change
    with pytest.raises(InputError, match=message):
        awt.find_ticket("snip", mlp, (data["x"], data["y"]), 0.3, THREAT)


def test_a_data_set_that_does_not_fit(dataset):
    network = awt.network("mlp", (4,), shape=(5, 5, 1), classes=3)
    with pytest.raises(InputError, match=r"data: the network takes no points of shape \[4, 4, 1\]"):
        awt.find_ticket("snip", network, dataset, 0.3, THREAT)


def test_what_needs_layers_says_so(wrapped_mlp, mlp, dataset):
    with pytest.raises(InputError, match="network: this needs to know the layers"):
        awt.find_ticket("synflow", wrapped_mlp, dataset, 0.3)
    for estimator in ("full", "diagonal"):
        with pytest.raises(InputError, match=f"estimator: {estimator} needs the layers of one of awt's own"):
            awt.find_ticket("awt", wrapped_mlp, dataset, 0.3, THREAT, estimator=estimator)
    with pytest.raises(InputError, match=r"network: function is no network; wrap it first: awt.wrap\(apply, params\)"):
        awt.find_ticket("snip", lambda params, x: x, dataset, 0.3)
    with pytest.raises(InputError, match=r"network: int is no network; awt\.network and awt\.wrap make one"):
        awt.find_ticket("snip", 3, dataset, 0.3)
