"""The split is a seeded partition that keeps the proportions of the classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.data.options import Data
from awt.data.split import PARTS, Split, stratified_split
from awt.errors import InputError

counts_of_classes = st.lists(st.integers(6, 60), min_size=2, max_size=8)
seeds = st.integers(0, 2**31 - 1)


def split(labels: np.ndarray, own_test: int | None = None, **changes: object) -> Split:
    return stratified_split(labels, int(labels.max()) + 1, own_test, Data(name="digits", **changes))


def labels_of(counts: list[int], seed: int = 0) -> np.ndarray:
    labels = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    return np.random.default_rng(seed).permutation(labels)


def same(one: Split, other: Split) -> bool:
    return all(np.array_equal(getattr(one, part), getattr(other, part)) for part in PARTS)


@given(counts_of_classes, seeds, st.floats(0, 0.6), st.floats(0.01, 0.6))
def test_is_a_partition_with_every_class_in_every_part_that_has_room(counts, seed, validation, test):
    labels = labels_of(counts)
    found = split(labels, seed=seed, validation_share=validation, test_share=test)
    everything = np.concatenate([found.train, found.validation, found.test])
    assert np.array_equal(np.sort(everything), np.arange(len(labels)))
    parts = [getattr(found, part) for part in PARTS if len(getattr(found, part))]
    if all(len(part) >= len(counts) for part in parts):
        assert all(set(labels[part]) == set(range(len(counts))) for part in parts)


@given(st.lists(st.integers(20, 80), min_size=2, max_size=6), seeds, st.integers(20, 40))
def test_is_stratified_within_one_point_per_class(counts, seed, limit):
    labels, total = labels_of(counts), np.array(counts)
    found = split(labels, seed=seed, validation_share=0.1, test_share=0.2)
    held_out = np.bincount(labels[found.test], minlength=len(counts))
    left = total - held_out
    validated = np.bincount(labels[found.validation], minlength=len(counts))
    assert np.all(np.abs(held_out - total * len(found.test) / total.sum()) < 1)
    assert np.all(np.abs(validated - left * len(found.validation) / left.sum()) < 1)

    trained = left - validated
    few = split(labels, seed=seed, validation_share=0.1, test_share=0.2, train_limit=limit).train
    quota = trained * len(few) / trained.sum()
    assert len(few) == min(limit, trained.sum())
    if quota.min() >= 1:  # below, a class gets its one point all the same
        assert np.all(np.abs(np.bincount(labels[few], minlength=len(counts)) - quota) < 1)
    if limit >= len(counts):
        assert set(labels[few]) == set(range(len(counts)))


@given(counts_of_classes, seeds)
def test_is_decided_by_the_seed(counts, seed):
    labels = labels_of(counts)
    assert same(split(labels, seed=seed), split(labels, seed=seed))


def test_differs_across_seeds():
    labels = labels_of([40, 40, 40])
    tests = {tuple(np.sort(split(labels, seed=seed).test)) for seed in range(20)}
    assert len(tests) == 20


def test_sizes_are_the_asked_shares():
    found = split(labels_of([100] * 10), validation_share=0.1, test_share=0.2)
    assert [len(getattr(found, part)) for part in PARTS] == [720, 80, 200]


@settings(max_examples=30)
@given(seeds)
def test_a_first_few_of_a_source_sorted_by_class_is_a_sample_of_all_classes(seed):
    labels = np.repeat(np.arange(4), 200)
    assert set(labels[split(labels, seed=seed).train[:64]]) == set(range(4))


def test_odd_points_do_not_always_go_to_the_first_classes():
    labels = labels_of([11] * 4)  # 44 points, 9 in the test part: one class gets a third one
    odd = {int(np.bincount(labels[split(labels, seed=seed, validation_share=0.0).test]).argmax()) for seed in range(40)}
    assert odd == {0, 1, 2, 3}


def test_no_validation_gives_an_empty_part():
    found = split(labels_of([10, 10]), validation_share=0.0)
    assert found.validation.shape == (0,)
    assert found.validation.dtype == found.train.dtype
    assert len(found.train) == 16


def test_an_own_test_set_is_kept_whole():
    found = split(labels_of([10, 10]), own_test=7)
    assert found.test.tolist() == list(range(7))
    assert len(found.train) + len(found.validation) == 20


def test_limit_leaves_validation_and_test_alone_and_may_exceed_what_there_is():
    labels = labels_of([30, 20])
    whole, few, many = split(labels), split(labels, train_limit=10), split(labels, train_limit=1000)
    assert same(whole, many)
    assert len(few.train) == 10
    assert set(few.train) < set(whole.train)
    assert np.array_equal(few.validation, whole.validation)
    assert np.array_equal(few.test, whole.test)


def test_a_rare_class_is_in_every_part():
    labels = labels_of([1000, 3])
    found = split(labels, validation_share=0.05, test_share=0.05, train_limit=20)
    for part in PARTS:
        assert set(labels[getattr(found, part)]) == {0, 1}


def test_a_class_with_too_few_points_is_named():
    with pytest.raises(InputError, match=r"digits: class 1 has 2 point\(s\).*at least 3"):
        split(labels_of([50, 2, 50]))


def test_a_class_without_points_is_named():
    with pytest.raises(InputError, match=r"class 1 has 0 point"):
        split(np.array([0, 2] * 10), own_test=3, validation_share=0.0)


@pytest.mark.parametrize("shares", [{"test_share": 0.99}, {"validation_share": 0.99, "test_share": 0.01}])
def test_a_split_without_training_points_is_refused(shares):
    message = r"data\.validation_share .* and data\.test_share .* leave none of its 20 points"
    with pytest.raises(InputError, match=message):
        split(labels_of([10, 10]), **shares)
