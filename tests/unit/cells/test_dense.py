"""What the cells of the dense side store is what the search would compute: adversarial examples, outputs, products."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from awt.artifacts import decode_npz
from awt.cells.dense import dense_side, initial_weights, views
from awt.errors import Interrupted
from awt.kernels.exact import tangent_kernel
from awt.kernels.probe import random_signs
from awt.models.network import decode_weights
from awt.tickets.dense_side import HELD_OUT, batch_key, held_out_key, partition, search_key

SEED, BATCH, EPOCHS, PROBES = 5, 5, 2, 3


@pytest.fixture(scope="module")
def side_params(model):
    threat = {"norm": "linf", "eps": 0.1, "eps_unit": "pixel", "clip": True}
    attack = {"steps": 3, "step_size": None, "random_start": True}
    return {"model": model("mlp"), "threat": threat, "attack": attack, "seed": SEED, "batch": BATCH}


@pytest.fixture(scope="module")
def run_cells(side_params, dataset_npz):
    """The three cells, for a seed: the files that they return."""

    def run(context, seed=SEED, estimator="probe", matched=True):
        params = side_params | {"seed": seed, "probes": PROBES, "epochs": EPOCHS, "matched": matched}
        files = initial_weights(params, {"dataset": dataset_npz}, context)
        inputs = {"dataset": dataset_npz, "teacher": files["initial.npz"]}
        files |= dense_side(params, inputs, context)
        inputs["dense"] = files["dense.npz"]
        return files | views(params | {"estimator": estimator}, inputs, context)

    return run


@pytest.mark.parametrize("estimator", ["probe", "residual", "full", "diagonal"])
def test_stored_quantities_are_those_of_the_dense_network(run_cells, build_network, dataset, quiet, estimator):
    files = run_cells(quiet, estimator=estimator)
    network, weights = build_network("mlp"), decode_weights(files["initial.npz"], "initial.npz")
    side, seen = decode_npz(files["dense.npz"], "dense.npz"), decode_npz(files["views.npz"], "views.npz")
    indices = partition(48, BATCH, SEED)
    x, moved = dataset.train_x[indices], side["adversarial"]
    batches = len(indices)
    assert np.abs(moved - x).max() <= 0.1 + 1e-6
    assert np.abs(moved - x).max() > 0.09
    apply = jax.jit(network.apply)
    for number in range(batches):
        np.testing.assert_allclose(side["outputs"][number], apply(weights, moved[number]), rtol=1e-5, atol=1e-6)

    kernel = jax.jit(partial(tangent_kernel, network))
    grams = [kernel(weights, x[number], moved[number]) for number in range(batches)]

    def check(stored, expected):
        np.testing.assert_allclose(stored, expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())

    def products(key, number, probes):
        vectors = random_signs(batch_key(key, number), (probes, BATCH, 3))
        return np.einsum("nmkl,rml->rnk", grams[number], vectors)

    def along_residual(number):
        """The gradient of the loss with respect to the outputs, by JAX's own differentiation."""
        labels = dataset.train_y[indices[number]]
        loss = lambda f: -jnp.sum(jnp.take_along_axis(jax.nn.log_softmax(f), labels[:, None], 1))  # noqa: E731
        return np.einsum("nmkl,ml->nk", grams[number], jax.grad(loss)(side["outputs"][number]))[None]

    assert len(seen["search"]) == (EPOCHS if estimator == "probe" else 1)
    for epoch, stored in enumerate(seen["search"]):
        for number in range(batches):
            expected = {
                "probe": lambda epoch=epoch, number=number: products(search_key(SEED, epoch), number, PROBES),
                "residual": lambda number=number: along_residual(number),
                "full": lambda number=number: np.asarray(grams[number])[None],
                "diagonal": lambda number=number: np.einsum("nnkk->nk", grams[number])[None],
            }[estimator]()
            assert stored[number].shape == expected.shape
            check(stored[number], expected)
    for number, stored in enumerate(seen["held_out"]):
        check(stored, products(held_out_key(SEED), number, HELD_OUT.probes))


def test_cells_are_deterministic_by_seed(run_cells, quiet):
    once, again = run_cells(quiet), run_cells(quiet)
    assert once == again
    other = run_cells(quiet, SEED + 1)
    assert all(once[name] != other[name] for name in once)


def test_a_stop_ends_the_cell_between_batches(run_cells, quiet):
    quiet.stop.is_set = True
    with pytest.raises(Interrupted):
        run_cells(quiet)


def test_a_search_without_a_kernel_term_stores_no_views_but_the_curves_do(run_cells, quiet):
    seen = decode_npz(run_cells(quiet, matched=False)["views.npz"], "views.npz")
    assert seen["search"].size == 0
    assert seen["held_out"].size > 0
