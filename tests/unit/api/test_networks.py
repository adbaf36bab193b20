"""Networks by name, and any function as one: its weights, its masks, what errors say."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import awt
from awt.errors import InputError
from awt.models.architecture import Model, build
from awt.models.network import Network


def test_a_network_by_name_is_the_pipelines(dataset):
    model = Model(name="awt.models.mlp:MLP", widths=(6, 5), init="glorot")
    assert awt.network("mlp", (6, 5), dataset) == build(model, dataset)


@pytest.mark.parametrize(
    ("name", "shape", "layers"), [("cnn", (28, 28, 1), 4), ("lenet", (28, 28, 1), 5), ("vgg16", (32, 32, 3), 14)]
)
def test_published_widths_and_normalisation(name, shape, layers):
    network = awt.network(name, shape=shape, classes=7, mean=0.25, std=[0.5] * shape[2])
    assert len(network.kernel_shapes) == layers
    weights = jax.eval_shape(network.initialise, 0)
    x = jax.ShapeDtypeStruct((2, *shape), jnp.float32)
    assert jax.eval_shape(network.apply, weights, x).shape == (2, 7)
    assert network.layers[0].mean == (0.25,) * shape[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("mpl", (5,)), "name: 'mpl' is none of cnn, lenet, mlp, vgg16, nor module:name"),
        (("mlp",), "widths: mlp has no published ones"),
        (("cnn", (3, 4)), "widths: those of cnn are 3 numbers"),
        (("mlp", (0,)), "network: widths.0: input should be greater than or equal to 1"),
        (("mlp", (5,), (1, 2)), "data: tuple; it should be a data set of awt.dataset"),
        (("mlp", (5,), None, {"shape": (28, 28)}), r"shape: \(28, 28\); it should be \(height, width, channels\)"),
        (("mlp", (5,), None, {"classes": 0}), "classes: 0; it should be a whole number"),
        (("mlp", (5,), None, {"std": [1.0, 2.0]}), r"std: \[1.0, 2.0\]; it should be a number, or one for each"),
        (("mlp", (5,), None, {"init": "gloort"}), "network: init: .*did you mean `glorot`"),
        (("vgg16", None, None, {"shape": (28, 28, 1)}), "shape: vgg16 needs images of 32 x 32 at least, not 28 x 28"),
    ],
)
def test_networks_that_cannot_be_built(arguments, message):
    *positional, keywords = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(InputError, match=f"^{message}"):
        awt.network(*positional, **keywords)


def test_a_wrapped_function_gives_what_it_gave(foreign, uniform_points):
    network, x = awt.wrap(*foreign), uniform_points(5)
    assert isinstance(network, Network)
    weights = network.initialise(3)
    np.testing.assert_array_equal(network.apply(weights, x), foreign.apply(foreign.params, x))
    assert {name: layer["kernel"].shape for name, layer in weights.items()} == network.kernel_shapes
    assert all(kept.all() for kept in network.everything().values())


def test_weights_and_parameters_lead_to_one_another(foreign):
    network = awt.wrap(*foreign)
    weights = network.weights(foreign.params)
    back = network.params(weights)
    assert jax.tree.structure(back) == jax.tree.structure(foreign.params)
    assert all(
        one is two or np.array_equal(one, two)
        for one, two in zip(jax.tree.leaves(back), jax.tree.leaves(foreign.params), strict=True)
    )
    assert network.weights(weights) is weights


def test_what_may_be_pruned(foreign):
    """Matrices and kernels of convolutions; not biases, scales, or what is no array."""
    shapes = awt.wrap(*foreign).kernel_shapes
    assert (
        sorted(shapes)
        == {
            2: ["first", "second"] if "first" in shapes else sorted(shapes),
            3: ["params.Conv_0.kernel", "params.Dense_0.kernel", "params.Dense_1.kernel"],
        }[len(shapes)]
    )
    assert all(len(shape) >= 2 for shape in shapes.values())
    one, *_ = shapes
    alone = awt.wrap(*foreign, prunable=lambda place, leaf: place == one)
    assert list(alone.kernel_shapes) == [one]
    np.testing.assert_array_equal(
        *(n.apply(n.initialise(0), jnp.ones((2, 4, 4, 1))) for n in (alone, awt.wrap(*foreign)))
    )


def test_a_mask_of_a_wrapped_function_zeroes_its_leaves(foreign, random_mask, uniform_points):
    network, x = awt.wrap(*foreign), uniform_points(4)
    mask = random_mask(network)
    masked = network.params(awt.apply_mask(network.initialise(0), mask))
    kept = sum(
        int(np.count_nonzero(leaf)) for leaf in jax.tree.leaves(masked) if hasattr(leaf, "ndim") and leaf.ndim > 1
    )
    assert kept == sum(int(layer.sum()) for layer in mask.values())
    assert not np.array_equal(foreign.apply(masked, x), foreign.apply(foreign.params, x))


def test_one_function_wrapped_twice_is_compiled_once(foreign, uniform_points):
    traces = []

    def apply(params, x):
        traces.append(x)
        return foreign.apply(params, x)

    x = uniform_points(2)
    one, two, other = (
        awt.wrap(apply, foreign.params),
        awt.wrap(apply, foreign.params),
        awt.wrap(foreign.apply, foreign.params),
    )
    assert one == two
    assert hash(one) == hash(two)
    assert one != other
    compiled = jax.jit(lambda network, weights, x: network.apply(weights, x), static_argnums=0)
    for network in (one, two):
        compiled(network, network.initialise(0), x)
    assert len(traces) == 1


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"w": np.ones((3, 2)), "more": 1}, "params: .* is not the form of what was wrapped"),
        ({"w": np.ones((2, 2))}, r"params: w has the shape \[2, 2\]; what was wrapped has \[3, 2\]"),
        ({"w": {"kernel": np.ones((2, 2)), "bias": {}}}, r"params: w has the shape \[2, 2\]; what was wrapped has"),
        ({"w": {"kernel": np.ones((3, 2))}}, "params: .* is not the form of what was wrapped"),
    ],
)
def test_parameters_of_another_form(params, message):
    network = awt.wrap(lambda params, x: x @ params["w"], {"w": np.ones((3, 2))})
    with pytest.raises(InputError, match=message):
        network.weights(params)


def test_functions_that_cannot_be_wrapped():
    with pytest.raises(InputError, match=r"params: none of its floating arrays may be pruned; they are scale \[3\]"):
        awt.wrap(lambda params, x: x * params["scale"], {"scale": np.ones(3), "step": np.ones((2, 2), int)})
    with pytest.raises(InputError, match="apply: dict is no function"):
        awt.wrap({}, {"w": np.ones((3, 2))})
    with pytest.raises(InputError, match="params: two leaves would have one name"):
        awt.wrap(lambda params, x: x, {"a": {"b": np.ones((2, 2))}, "a.b": np.ones((2, 2))})


def test_layers_that_are_not_known(wrapped_mlp):
    with pytest.raises(InputError, match="network: this needs to know the layers, and a wrapped function has none"):
        wrapped_mlp.weighted  # noqa: B018


def test_a_data_set_by_name():
    digits = awt.dataset("digits", train_limit=100, seed=1)
    assert digits.train_x.shape == (100, 8, 8, 1)
    assert digits.train_x.dtype == np.float32
    assert (digits.classes, digits.train_x.min(), digits.train_x.max()) == (10, 0.0, 1.0)
    with pytest.raises(InputError, match=r"dataset: name: .*did you mean `digits`"):
        awt.dataset("digit")
    with pytest.raises(InputError, match="dataset: train_limti: unknown key; did you mean `train_limit`"):
        awt.dataset("digits", train_limti=3)
