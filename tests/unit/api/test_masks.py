"""Tools for masks, and files of masks and weights."""

import numpy as np
import pytest

import awt
from awt.errors import InputError
from awt.models.network import encode_mask, encode_weights


@pytest.fixture
def masks():
    rng = np.random.default_rng(0)
    return [{"a": rng.random((6, 5)) < share, "b": rng.random((5, 4)) < share} for share in (0.3, 0.6)]


def test_density_is_the_share_kept(masks):
    for mask in masks:
        assert awt.density(mask) == (mask["a"].sum() + mask["b"].sum()) / 50


def test_overlap_counts_what_two_masks_share(masks):
    shared = awt.overlap(*masks)
    one, other = (np.concatenate([kept.ravel() for kept in mask.values()]) for mask in masks)
    assert (shared.kept, shared.other_kept, shared.both) == (one.sum(), other.sum(), (one & other).sum())
    assert shared.jaccard == (one & other).sum() / (one | other).sum()
    by_chance = sum(masks[0][name].sum() * masks[1][name].sum() / masks[0][name].size for name in masks[0])
    assert shared.by_chance == pytest.approx(by_chance)
    with pytest.raises(InputError, match="other: a mask of another network, with a 6 x 5; mask has a 6 x 5, b 5 x 4"):
        awt.overlap(masks[0], {"a": masks[1]["a"]})


def test_shuffling_keeps_each_layer_s_density(masks):
    shuffled = awt.shuffle(masks[0], seed=1)
    assert all(shuffled[name].sum() == kept.sum() for name, kept in masks[0].items())
    assert any(not np.array_equal(shuffled[name], kept) for name, kept in masks[0].items())
    again, other = awt.shuffle(masks[0], seed=1), awt.shuffle(masks[0], seed=2)
    assert all(np.array_equal(shuffled[name], again[name]) for name in shuffled)
    assert any(not np.array_equal(shuffled[name], other[name]) for name in shuffled)


def test_files_are_the_pipeline_s(mlp, random_mask, tmp_path):
    mask, weights = random_mask(mlp), mlp.initialise(0)
    awt.save(tmp_path / "new" / "mask.npz", mask)
    awt.save(str(tmp_path / "weights.npz"), weights)
    assert (tmp_path / "new" / "mask.npz").read_bytes() == encode_mask(mask)
    assert (tmp_path / "weights.npz").read_bytes() == encode_weights(weights)
    for name, kept in awt.load(tmp_path / "new" / "mask.npz").items():
        np.testing.assert_array_equal(kept, mask[name])
    for name, layer in awt.load(tmp_path / "weights.npz").items():
        np.testing.assert_array_equal(layer["kernel"], weights[name]["kernel"])


def test_masks_of_functions_are_kept_too(foreign, random_mask, tmp_path):
    network = awt.wrap(*foreign)
    mask = random_mask(network)
    awt.save(tmp_path / "mask.npz", mask)
    loaded = awt.load(tmp_path / "mask.npz")
    assert loaded.keys() == mask.keys()
    assert all(np.array_equal(loaded[name], kept) for name, kept in mask.items())
    with pytest.raises(InputError, match=r"value: weights of a wrapped function; save network.params\(value\)"):
        awt.save(tmp_path / "weights.npz", network.initialise(0))


def test_files_that_are_neither(tmp_path):
    with pytest.raises(InputError, match=r"none\.npz: not readable \(No such file or directory\)"):
        awt.load(tmp_path / "none.npz")
    np.savez(tmp_path / "numbers.npz", a=np.ones(3))
    with pytest.raises(InputError, match=r"numbers\.npz: neither a mask \(boolean arrays by layer\) nor weights"):
        awt.load(tmp_path / "numbers.npz")
    (tmp_path / "text.npz").write_text("no archive")
    with pytest.raises(InputError, match=r"text\.npz: not a readable \.npz"):
        awt.load(tmp_path / "text.npz")
