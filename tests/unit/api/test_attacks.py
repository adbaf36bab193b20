"""Attacks on any function: against closed forms, against the pipeline's cells, within the ball."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import awt
from awt.artifacts import decode_json, decode_npz
from awt.attacks.outcome import NATURAL, STANDING
from awt.attacks.registry import resolved
from awt.cells.attack import attack
from awt.cells.sanity import check
from awt.errors import InputError
from awt.evaluation.scores import wilson
from awt.loop import UNWATCHED
from awt.models.network import encode_weights
from awt.options import as_json

THREAT = awt.Threat(eps=0.05)


def linear(weights, x):
    """Two classes by a plane, of points in rows."""
    return x @ weights["kernel"] + weights["bias"]


@pytest.fixture
def plane():
    """Weights of `linear`, points that no corner of the box is near, and the distance of each from the plane."""
    rng = np.random.default_rng(0)
    weights = {"kernel": rng.normal(size=(6, 2)).astype(np.float32), "bias": np.array([0.1, -0.1], np.float32)}
    x = rng.uniform(0.3, 0.7, (40, 6)).astype(np.float32)
    difference = linear(weights, x) @ np.array([-1.0, 1.0])
    return (
        weights,
        x,
        (difference > 0).astype(int),
        np.abs(difference),
        weights["kernel"][:, 1] - weights["kernel"][:, 0],
    )


@pytest.mark.parametrize(("norm", "dual"), [("linf", 1), ("l2", 2)])
def test_a_plane_is_broken_where_it_can_be(plane, norm, dual):
    weights, x, y, gap, normal = plane
    reach = gap / np.linalg.norm(normal, dual)
    eps = float(np.median(reach))
    clear = np.abs(reach - eps) > 0.02 * eps
    outcome = awt.attack(linear, weights, x, y, awt.Threat(norm=norm, eps=eps, clip=False), "pgd20")
    assert outcome.moved.shape == x.shape
    np.testing.assert_array_equal(outcome.standing[clear], (reach > eps)[clear])
    size = np.linalg.norm(outcome.moved - x, np.inf if norm == "linf" else 2, axis=1)
    assert size.max() <= eps * (1 + 1e-5)
    broken = outcome.by == 0
    assert (linear(weights, outcome.moved).argmax(axis=1) != y)[broken].all()
    np.testing.assert_array_equal(outcome.moved[~broken], x[~broken])


def test_points_that_are_wrong_before(plane):
    weights, x, y, *_ = plane
    outcome = awt.attack(linear, weights, x, 1 - y, THREAT, "fgsm")
    assert (outcome.by == NATURAL).all()


@pytest.mark.parametrize("batch", [4, 512])
def test_attacks_are_the_pipeline_s(mlp, dataset, dataset_npz, model, random_weights, batch):
    weights = random_weights(mlp)
    params = {"model": model("mlp"), "threat": as_json(THREAT), "seed": 2, "points": [0, 15]}
    inputs = {"dataset": dataset_npz, "model": encode_weights(weights)}
    for number, name in enumerate(("pgd20", "apgd-dlr")):  # the suite "quick"
        reference, settings = resolved(name, {"steps": 3})
        asked = params | {"attack": reference, "settings": settings, "number": number}
        points = attack(asked, inputs, UNWATCHED)["points.npz"]
        inputs["before"] = points
    expected = decode_npz(points, "points.npz")
    changes = {"pgd20": {"steps": 3}, "apgd-dlr": {"steps": 3}}
    x, y = dataset.test_x, dataset.test_y
    outcome = awt.attack(mlp, weights, x, y, THREAT, "quick", settings=changes, seed=2, batch=batch)
    np.testing.assert_array_equal(outcome.by, expected["by"])
    np.testing.assert_allclose(outcome.size, expected["size"], atol=1e-6)
    assert (outcome.by >= 0).any()


def test_functions_are_attacked_as_networks_are(mlp, dataset, random_weights):
    weights, x, y = random_weights(mlp), dataset.test_x, dataset.test_y
    expected = awt.attack(mlp, weights, x, y, THREAT, ["pgd20", "apgd-dlr"])
    pictures = awt.attack(mlp.apply, weights, x, y, THREAT, ["pgd20", "apgd-dlr"])
    np.testing.assert_array_equal(pictures.by, expected.by)
    np.testing.assert_allclose(pictures.moved, expected.moved, atol=1e-5)


@pytest.mark.parametrize("foreign", ["flax", "equinox"], indirect=True)
def test_masks_are_of_what_is_attacked(foreign, dataset, random_mask):
    network = awt.wrap(*foreign)
    mask = random_mask(network)
    sparse = network.params(awt.apply_mask(network.initialise(0), mask))
    x, y = dataset.test_x, dataset.test_y
    one = awt.attack(network, foreign.params, x, y, THREAT, "fgsm", mask=mask)
    same = awt.attack(foreign.apply, sparse, x, y, THREAT, "fgsm")
    np.testing.assert_array_equal(one.by, same.by)


def test_standard_deviations_are_the_network_s(mlp, dataset, random_weights):
    weights, x, y = random_weights(mlp), dataset.test_x, dataset.test_y
    std = float(dataset.std[0])
    in_pixels = awt.attack(mlp, weights, x, y, awt.Threat(eps=0.2 * std), "fgsm")
    in_std = awt.attack(mlp, weights, x, y, awt.Threat(eps=0.2, eps_unit="std"), "fgsm")
    np.testing.assert_allclose(in_std.moved, in_pixels.moved, atol=1e-6)
    with pytest.raises(InputError, match="threat: eps_unit: std is not known of a function"):
        awt.attack(mlp.apply, weights, x, y, awt.Threat(eps=0.2, eps_unit="std"), "fgsm")


def test_accuracies_are_shares_with_intervals(mlp, dataset, random_weights):
    weights, x, y = random_weights(mlp), dataset.test_x, dataset.test_y
    result = awt.evaluate(mlp, weights, x, y, THREAT, ("fgsm", "pgd20"), sanity_points=0)
    right = np.asarray(mlp.apply(weights, x).argmax(axis=1) == y)
    assert result.natural == (right.mean(), *wilson(int(right.sum()), len(y)))
    for suite in ("fgsm", "pgd20"):
        standing = awt.attack(mlp, weights, x, y, THREAT, suite).by == STANDING
        assert result.robust[suite] == (standing.mean(), *wilson(int(standing.sum()), len(y)))
    assert str(result).startswith(f"natural {right.mean():.1%} (")


def test_signs_of_a_network_that_is_only_hard_to_attack(dataset, mlp, dataset_npz, model, random_weights):
    weights, x, y = random_weights(mlp), dataset.test_x, dataset.test_y
    soft = jax.jit(lambda weights, x: jax.nn.softmax(mlp.apply(weights, x)))
    result = awt.evaluate(soft, weights, x, y, THREAT, "fgsm", sanity_points=12)
    assert "outputs are probabilities" in result.flags
    assert "not to be believed: outputs are probabilities" in str(result)
    params = {"model": model("mlp"), "threat": as_json(THREAT), "seed": 0, "points": 12}
    inputs = {"dataset": dataset_npz, "model": encode_weights(weights)}
    seen = decode_json(check(params, inputs, UNWATCHED)["sanity.json"], "sanity.json")
    own = awt.evaluate(mlp, weights, x, y, THREAT, "fgsm", sanity_points=12)
    assert own.flags == seen["flags"]
    assert own.curves == {"eps": seen["eps"], "steps": seen["steps"]}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suite": "pgd10"}, "suites: 'pgd10' is neither a suite nor an attack; did you mean `pgd1?0?0`"),
        ({"suite": ()}, "suite: no attack at all"),
        ({"settings": {"pgd20": {"lr": 1}}}, "attacks.pgd20.lr: unknown key; allowed: steps, restarts"),
        ({"y": [0, 1]}, "y: 2 labels for 15 points"),
        ({"y": np.full(15, 3)}, r"y: label 3 is out of range; labels must be 0\.\.2"),
        ({"threat": {"eps": 0.1, "norm": "l3"}}, "threat: norm: input should be 'linf', 'l2' or 'l1'"),
        ({"x": np.full((15, 4, 4, 1), 3.0)}, r"x: values from 3 to 3; an attack keeps pixels in \[0, 1\]"),
        ({"x": np.full((15, 16), 0.5)}, r"x: shape \[15, 16\]; the network takes images"),
        ({"batch": 0}, "batch: 0; it should be a whole number"),
    ],
)
def test_what_cannot_be_attacked(mlp, dataset, change, message):
    arguments = {"x": dataset.test_x, "y": dataset.test_y, "threat": THREAT, "suite": "fgsm"} | change
    with pytest.raises(InputError, match=f"^{message}"):
        awt.attack(mlp, mlp.initialise(0), **arguments)


def test_an_attack_that_is_not_defined_for_a_norm(plane):
    weights, x, y, *_ = plane
    with pytest.raises(InputError, match="the attack deepfool is not defined for l1"):
        awt.attack(linear, weights, x, y, awt.Threat(norm="l1", eps=1.0), "deepfool")


def test_functions_in_half_precision(plane):
    """Whatever the function computes in, the perturbation stays in single precision."""
    weights, x, y, *_ = plane
    half = jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.bfloat16), weights)
    outcome = awt.attack(lambda w, x: linear(w, x.astype(jnp.bfloat16)).astype(jnp.float32), half, x, y, THREAT, "fgsm")
    assert outcome.moved.dtype == np.float32
