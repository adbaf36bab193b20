"""Networks that only look robust are flagged; an honest one is not, and its accuracy falls to nothing as ε grows."""

import jax.numpy as jnp
import numpy as np
import pytest

from awt.artifacts import decode_json
from awt.evaluation.sanity import check, curve_flags
from awt.models.network import encode_weights


@pytest.fixture
def checked(model, build_network, dataset, dataset_npz, quiet):
    """What the check says of a network that tells the bands of the test pictures apart, after a change of it."""
    network = build_network("mlp")
    weights = network.initialise(0)
    # three units see a band each, and are never off; the rest is silent
    first, second, third = (np.zeros(layer.kernel_shape, np.float32) for layer in network.weighted)
    for band in range(3):
        first.reshape(4, 4, 1, -1)[band, :, :, band] = 1.0
        second[band, band] = third[band, band] = 1.0
    made = {name: {"kernel": kernel, "bias": np.zeros(kernel.shape[1], np.float32)}
            for name, kernel in zip(weights, (first, second, third), strict=True)}  # fmt: skip

    made["dense1"]["bias"][:3] = made["dense2"]["bias"][:3] = 20.0

    def run(change):
        change(made["dense3"])
        params = {
            "model": model("mlp"),
            "threat": {"norm": "linf", "eps": 0.05, "eps_unit": "pixel", "clip": True},
            "points": 15,
            "seed": 0,
        }
        ready = {name: {part: jnp.asarray(array) for part, array in layer.items()} for name, layer in made.items()}
        found = check(params, {"dataset": dataset_npz, "model": encode_weights(ready)}, quiet)
        return decode_json(found["sanity.json"], "sanity.json")

    return run


def test_an_honest_network_is_not_flagged(checked):
    found = checked(lambda layer: None)
    assert found["flags"] == []
    shares = [share for _, share in found["eps"]]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.5
    assert shares[-1] == 0
    assert [steps for steps, _ in found["steps"]] == [1, 10, 100]


def test_flags_a_constant_network(checked):
    def constant(layer):
        layer["kernel"][:] = 0.0
        layer["bias"][0] = 1.0

    found = checked(constant)["flags"]
    assert "one answer for all points" in found
    assert "gradients are zero" in found


def test_flags_outputs_that_are_not_numbers(checked):
    assert "outputs are not numbers" in checked(lambda layer: layer["bias"].fill(np.nan))["flags"]


def test_flags_saturated_logits(checked):
    """The cross-entropy of a correct answer is exactly 0, and so is its gradient; the margin's is not."""

    def saturate(layer):
        layer["kernel"] *= 1e4

    found = checked(saturate)
    assert "the cross-entropy's gradient vanishes" in found["flags"]
    assert found["eps"][-1][1] == 0  # scale does not matter to the attack that draws the curve


def test_flags_curves_that_do_not_fall():
    assert curve_flags([[0.1, 0.9], [9.0, 0.5]], [[1, 0.9], [10, 0.8], [100, 0.8]]) == [
        "no perturbation is large enough"
    ]
    assert curve_flags([[0.1, 0.9], [9.0, 0.0]], [[1, 0.9], [10, 0.8], [100, 0.9]]) == ["more steps break less"]
