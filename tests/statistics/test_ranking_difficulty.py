"""Post-retrieval predictors of query difficulty: hand arithmetic, numpy and scipy as references."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy

from sightline.statistics.ranking_difficulty import (
    clarity,
    engine_overlap,
    noisy_queries,
    nqc,
    robustness,
    variance,
    wig,
)

runs = st.lists(st.lists(st.floats(-5, 5), max_size=12), min_size=1, max_size=6)


def columns(run: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([each for scores in run for each in scores]), np.cumsum([0, *map(len, run)])


@given(runs, st.integers(1, 15))
def test_variance_is_numpys(run: list[list[float]], k: int) -> None:
    expected = [np.var(scores[:k]) if scores else np.nan for scores in run]
    assert variance(*columns(run), k=k) == pytest.approx(expected, nan_ok=True, abs=1e-12)


def test_nqc_and_wig_by_hand() -> None:
    score, offsets = columns([[5, 3, 1], [2, 2], []])
    # First 2 of query 0: standard deviation 1, / |-0.5|; query 1 does not vary; by 0 there is no value.
    assert nqc(score, offsets, [-0.5, 1, 1], k=2) == pytest.approx([2, 0, np.nan], nan_ok=True)
    assert np.isnan(nqc(score, offsets, [0, 1, 1], k=2)[0])
    # (mean(5, 3) - 1) / sqrt 4 = 1.5; (2 - 1) / sqrt 1 = 1.
    assert wig(score, offsets, 1.0, [4, 1, 1], k=2) == pytest.approx([1.5, 1, np.nan], nan_ok=True)
    assert np.isnan(wig(score, offsets, 1.0, [4, 0, 1], k=2)[1])


def test_clarity_is_a_divergence() -> None:
    counts = np.array([[2, 0, 0], [0, 1, 1], [0, 0, 0]])
    usual = np.array([2, 1, 1]) / 4
    score, offsets = np.array([np.log(3), 0.0, 1.0, 1.0]), np.array([0, 2, 3, 4])
    values = clarity(score, offsets, [0, 1, 2, 0], counts, own=0.5)
    # Query 0 trusts image 0 three times as much: 3/4 (1, 0, 0) + 1/4 (0, 1/2, 1/2), half of it usual words.
    spoken = 0.5 * np.array([0.75, 0.125, 0.125]) + 0.5 * usual
    assert values[0] == pytest.approx(entropy(spoken, usual, base=2))
    # An image without captions says nothing unusual; one that says a single word is the clearest.
    assert values[1] == pytest.approx(0)
    assert values[2] == pytest.approx(entropy(0.5 * np.array([1, 0, 0]) + 0.5 * usual, usual, base=2))
    assert np.isnan(clarity([1.0], [0, 1], [0], np.zeros((1, 2)))).all()


def test_overlaps_by_hand() -> None:
    image, offsets = [1, 2, 3, 7, 8], [0, 3, 5, 5]
    noisy, noisy_offsets = [3, 2, 9, 5], [0, 3, 4, 4]
    # First 3: {1, 2, 3} and {3, 2, 9}: 2 / 4; {7, 8} and {5}: 0 / 3; nothing and nothing: no value.
    expected = [0.5, 0, np.nan]
    assert robustness(image, offsets, noisy, noisy_offsets) == pytest.approx(expected, nan_ok=True)
    # First 1: {1} and {3}.
    assert robustness(image, offsets, noisy, noisy_offsets, k=1)[0] == 0


def test_overlap_of_engines_by_hand() -> None:
    # Query 1: {1, 2, 3} of engine 7, {3, 2, 9} of 8 and nothing of 9; query 2: {5} of engine 7 alone.
    overlaps = engine_overlap([1, 2, 3, 3, 2, 9, 5], [0, 3, 6, 6, 7], [1, 1, 1, 2], [7, 8, 9, 7])
    # 2 / 4 with each other, 0 with nothing: a mean of 0.25 over both others.
    assert overlaps == pytest.approx([0.25, 0.25, np.nan, np.nan], nan_ok=True)
    # An engine's second ranking of the query is no other engine.
    assert np.isnan(engine_overlap([1, 1], [0, 1, 2], [4, 4], [7, 7])).all()


@given(
    st.lists(st.lists(st.integers(0, 9), unique=True, max_size=6), min_size=3, max_size=3),
    st.integers(1, 8),
)
def test_overlap_of_engines_is_the_mean_of_pairs(run: list[list[int]], k: int) -> None:
    overlaps = engine_overlap(
        [each for images in run for each in images], np.cumsum([0, *map(len, run)]), [0, 0, 0], [0, 1, 2], k=k
    )
    for mine, value in enumerate(overlaps):
        if not run[mine]:
            assert np.isnan(value)
            continue
        pairs = [
            robustness(run[mine], [0, len(run[mine])], run[other], [0, len(run[other])], k=k)[0]
            for other in range(3)
            if other != mine
        ]
        assert value == pytest.approx(np.mean(pairs))


def test_noise_moves_a_query_by_its_share_and_keeps_its_length() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 64)) * 3
    moved = noisy_queries(rows, share=0.1, seed=4)
    assert np.linalg.norm(moved, axis=1) == pytest.approx(np.linalg.norm(rows, axis=1))
    cosine = (moved * rows).sum(axis=1) / np.linalg.norm(rows, axis=1) ** 2
    # A nudge of 0.1 turns a vector by at most arcsin 0.1.
    assert (cosine < 1 - 1e-4).all() and (cosine > np.cos(np.arcsin(0.1)) - 1e-9).all()
    assert (noisy_queries(rows, share=0.1, seed=4) == moved).all()
    assert not (noisy_queries(rows, share=0.1, seed=5) == moved).all()
    assert noisy_queries(np.zeros((1, 3))).tolist() == [[0, 0, 0]]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: variance([1.0, 2.0], [0, 1]), "rise from 0 to 2"),
        (lambda: variance([1.0, np.nan], [0, 2]), "without scores"),
        (lambda: variance([1.0], [0, 1], k=0), "counts ranks from 1"),
        (lambda: engine_overlap([1], [0, 1], [1], [1, 2]), "one entry per ranking"),
        (lambda: robustness([1], [0, 1], [1], [0, 0, 1]), "1 queries in one ranking, 2"),
    ],
)
def test_impossible_input_is_refused(call: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_clarity_takes_a_sparse_table_too() -> None:
    from scipy.sparse import csr_matrix

    rng = np.random.default_rng(3)
    counts = rng.poisson(0.3, size=(40, 60)).astype(np.float64)
    image, score = rng.integers(0, 40, 50), -np.sort(-rng.normal(size=50))
    dense = clarity(score, [0, 30, 50], image, counts, k=20)
    assert clarity(score, [0, 30, 50], image, csr_matrix(counts), k=20) == pytest.approx(dense)
    assert (dense > 0).all()
