"""The dense side of a search: a fixed partition into batches, and probes that no two views share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.errors import InputError
from awt.kernels.probe import random_signs
from awt.tickets.dense_side import batch_key, held_out_key, partition, search_key

SEED = 5


@settings(deadline=None, max_examples=50)
@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 2**31 - 1))
def test_batches_are_a_seeded_partition_without_the_ragged_rest(points, batch, seed):
    if batch > points:
        with pytest.raises(InputError, match=rf"^batch: {batch} .*{points}"):
            partition(points, batch, seed)
        return
    indices = partition(points, batch, seed)
    assert indices.shape == (points // batch, batch)
    assert len(np.unique(indices)) == indices.size
    assert indices.min() >= 0
    assert indices.max() < points
    np.testing.assert_array_equal(indices, partition(points, batch, seed))


def test_another_seed_is_another_partition():
    assert not np.array_equal(partition(60, 6, 0), partition(60, 6, 1))


def test_probes_differ_by_epoch_and_batch_and_from_the_held_out_ones():
    keys = [search_key(SEED, 0), search_key(SEED, 1), held_out_key(SEED), search_key(SEED + 1, 0)]
    drawn = [np.asarray(random_signs(batch_key(key, batch), (2, 8, 3))).tobytes() for key in keys for batch in range(2)]
    assert len(set(drawn)) == len(drawn)
