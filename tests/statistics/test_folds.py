import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sightline.statistics.folds import grouped_k_fold, k_fold


@given(st.integers(2, 200), st.integers(2, 10), st.integers(0, 1000))
def test_k_fold_is_balanced_and_repeatable(n, k, seed):
    assume(k <= n)
    folds = k_fold(n, k, seed=seed)
    sizes = np.bincount(folds, minlength=k)
    assert sizes.sum() == n and sizes.size == k and np.ptp(sizes) <= 1
    assert np.array_equal(folds, k_fold(n, k, seed=seed))


@given(st.lists(st.integers(0, 15), min_size=2, max_size=80), st.integers(2, 6), st.integers(0, 1000))
def test_groups_stay_together_whatever_the_order_of_rows(groups, k, seed):
    labels = np.array(groups)
    sizes = np.unique(labels, return_counts=True)[1]
    assume(k <= sizes.size)
    folds = grouped_k_fold(labels, k, seed=seed)
    for group in set(groups):
        assert len(set(folds[labels == group])) == 1
    loads = np.bincount(folds, minlength=k)
    assert loads.size == k and loads.min() > 0
    # Filling the emptiest fold first: no two folds differ by more than the largest group.
    assert np.ptp(loads) <= sizes.max()
    order = np.random.default_rng(seed).permutation(labels.size)
    assert np.array_equal(grouped_k_fold(labels[order], k, seed=seed), folds[order])


def test_large_groups_go_first():
    # Sizes 3, 1, 1, 1 in two folds: 3 against 1 + 1 + 1. Smallest first would end at 4 and 2.
    for seed in range(5):
        assert np.bincount(grouped_k_fold(list("aaabcd"), 2, seed=seed)).tolist() == [3, 3]


def test_the_seed_decides():
    assert not np.array_equal(k_fold(50, 5, seed=1), k_fold(50, 5, seed=2))
    names = np.array([f"prompt {i}" for i in range(50)])
    assert not np.array_equal(grouped_k_fold(names, 5, seed=1), grouped_k_fold(names, 5, seed=2))


def test_impossible_folds_are_refused():
    for k, said in ((5, "5 folds of 3 rows"), (1, "at least 2")):
        with pytest.raises(ValueError, match=said):
            k_fold(3, k)
    with pytest.raises(ValueError, match="3 folds of 2 groups"):
        grouped_k_fold(["a", "b", "a"], 3)
