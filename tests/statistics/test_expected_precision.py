"""Expected precision and reciprocal rank: exact where relevance is certain, else the mean of all outcomes."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.expected_precision import expected_precision, expected_reciprocal_rank
from sightline.statistics.rankings import count_relevant, find_hits

certain = st.lists(st.lists(st.sampled_from([0.0, 1.0]), max_size=12), min_size=1, max_size=6)
probable = st.lists(st.floats(0, 1), max_size=6)


def columns(run: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([each for row in run for each in row], dtype=np.float64), np.cumsum([0, *map(len, run)])


@given(certain, st.integers(1, 14))
def test_certain_relevance_gives_the_measures_themselves(run: list[list[float]], k: int) -> None:
    p, offsets = columns(run)
    # One relevant image more than was ranked, so that every query has one and the measures a value.
    ideal = [sorted([*row, 1.0], reverse=True) for row in run]
    known, ideal_offsets = columns(ideal)
    hits = find_hits(p, offsets, count_relevant(known, ideal_offsets, min_rel=1.0), min_rel=1.0)
    assert expected_precision(p, offsets, k=k) == pytest.approx(hits.precision(k))
    assert expected_reciprocal_rank(p, offsets) == pytest.approx(hits.reciprocal_rank())


@given(probable, st.integers(1, 8))
def test_the_mean_over_all_that_can_be(p: list[float], k: int) -> None:
    """Every pattern of relevance, weighed by how probable it is."""
    precision = rank = 0.0
    for pattern in product([0, 1], repeat=len(p)):
        weight = float(np.prod([q if hit else 1 - q for q, hit in zip(p, pattern, strict=True)]))
        precision += weight * sum(pattern[:k]) / k
        rank += weight * next((1 / (n + 1) for n, hit in enumerate(pattern) if hit), 0.0)
    offsets = [0, len(p)]
    assert expected_precision(p, offsets, k=k) == pytest.approx([precision], abs=1e-9)
    assert expected_reciprocal_rank(p, offsets) == pytest.approx([rank], abs=1e-9)


def test_by_hand() -> None:
    p, offsets = [0.5, 0.5, 1.0, 0.2], [0, 3, 3, 4]
    # (0.5 + 0.5) / 2; nothing was ranked; one place of two holds 0.2.
    assert expected_precision(p, offsets, k=2) == pytest.approx([0.5, 0, 0.1])
    # 0.5 + 0.5 x 0.5 / 2 + 0.5 x 0.5 x 1 / 3.
    assert expected_reciprocal_rank(p, offsets) == pytest.approx([0.5 + 0.125 + 0.25 / 3, 0, 0.2])
    assert expected_reciprocal_rank(p, offsets, k=2) == pytest.approx([0.625, 0, 0.2])


@pytest.mark.parametrize(
    ("measure", "p", "offsets", "k", "message"),
    [
        (expected_precision, [1.5], [0, 1], 10, "from 0 to 1"),
        (expected_reciprocal_rank, [np.nan], [0, 1], 10, "from 0 to 1"),
        (expected_reciprocal_rank, [0.5], [0, 1], 0, "counts ranks from 1"),
        (expected_precision, [0.5, 0.5], [0, 1], 10, "rise from 0 to 2"),
    ],
)
def test_impossible_input_is_refused(measure, p, offsets, k, message) -> None:
    with pytest.raises(ValueError, match=message):
        measure(p, offsets, k=k)
