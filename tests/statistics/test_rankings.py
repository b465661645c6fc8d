"""Measures of rankings by hand and by their bounds; tests/statistics/test_runs.py has trec_eval's."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.rankings import count_relevant, find_hits, ndcg_graded

MEASURES = {
    "P_10": lambda hits: hits.precision(10),
    "recall_10": lambda hits: hits.recall(10),
    "success_5": lambda hits: hits.hit_rate(5),
    "recip_rank": lambda hits: hits.reciprocal_rank(),
    "Rprec": lambda hits: hits.r_precision(),
    "map": lambda hits: hits.average_precision(),
    "map_cut_10": lambda hits: hits.average_precision(10),
    "ndcg": lambda hits: hits.ndcg(),
    "ndcg_cut_10": lambda hits: hits.ndcg(10),
}


def test_hand_check_of_the_conqa_paper():
    # Relevant at ranks 2, 4, 6 of R = 3: (1/log2 3 + 1/log2 5 + 1/log2 7) / (1 + 1/log2 3 + 1/2) = .6653.
    hits = find_hits([0, 1, 0, 1, np.nan, 1], [0, 6], [3])
    assert hits.ndcg() == pytest.approx([0.6653], abs=5e-5)
    assert hits.r_precision() == pytest.approx([1 / 3])
    assert hits.reciprocal_rank() == [0.5]
    assert hits.average_precision() == pytest.approx([(1 / 2 + 2 / 4 + 3 / 6) / 3])
    assert (hits.hit_rate(1), hits.hit_rate(2), hits.precision(10)) == ([0], [1], [0.3])
    assert hits.recall(4) == pytest.approx([2 / 3])


def test_exponential_gain_by_hand():
    # Ranked 1, 3 with gains 2^g - 1 = 1, 7: 1 + 7/log2 3; ideal 7 + 1/log2 3.
    found = ndcg_graded([1, 3], [0, 2], [3, 1], [0, 2], gains="exponential")
    assert found == pytest.approx([(1 + 7 / np.log2(3)) / (7 + 1 / np.log2(3))])


def test_queries_without_answers_or_without_relevant_images():
    # Query 0 ranks nothing, query 1 has no relevant image, query 2 misses its one, query 3 is perfect.
    run = ([0, np.nan, 0, 1], [0, 0, 2, 3, 4], [2, 0, 1, 1])
    for name, measure in MEASURES.items():
        perfect = 0.1 if name == "P_10" else 1.0
        assert measure(find_hits(*run)) == pytest.approx([0, np.nan, 0, perfect], nan_ok=True), name
    graded = ndcg_graded(run[0], run[1], [1, 1, 0, 1, 1], [0, 2, 3, 4, 5])
    assert graded == pytest.approx([0, np.nan, 0, 1], nan_ok=True)
    assert find_hits([], [0], []).precision(3).size == 0


def test_min_rel_decides_what_is_relevant():
    run = ([1, 2, 1], [0, 3], [1])
    assert find_hits(*run, min_rel=2).reciprocal_rank() == [0.5]
    assert count_relevant([1, 2, 1, np.nan, 3], [0, 3, 3, 5], min_rel=2).tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: find_hits([1, 1, 1], [0, 1, 3], [1, 1]), "query 1 ranks 2 relevant answers of 1 known"),
        (lambda: find_hits([1, 1, 1], [0, 2], [3]), "offsets must rise from 0 to 3"),
        (lambda: find_hits([1], [0, 1], [1]).recall(0), "k is 0"),
        (lambda: find_hits([1], [0, 1, 1], [1]), "2 queries"),
        (lambda: ndcg_graded([1], [0, 1], [1, 1], [0, 1, 2]), "1 queries in the run, 2 in the truth"),
        (lambda: ndcg_graded([1], [0, 1], [1], [0, 1], gains="cubic"), "cubic"),
    ],
)
def test_impossible_input_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@given(st.lists(st.lists(st.booleans(), max_size=15), min_size=1, max_size=6), st.integers(0, 3))
def test_bounds_and_moving_a_relevant_answer_up(rankings, unseen):
    gain = np.array([hit for ranking in rankings for hit in ranking], dtype=float)
    offsets = np.concatenate([[0], np.cumsum([len(ranking) for ranking in rankings])]).astype(int)
    relevant = np.array([sum(ranking) + unseen for ranking in rankings])
    ideal = np.array([hit for ranking in rankings for hit in sorted(ranking, reverse=True)], dtype=float)
    for measure in MEASURES.values():
        found, best = (measure(find_hits(each, offsets, relevant)) for each in (gain, ideal))
        known = relevant > 0
        assert np.array_equal(np.isnan(found), ~known)
        assert np.all(found[known] >= 0) and np.all(found[known] <= best[known] + 1e-12)
        assert np.all(best[known] <= 1 + 1e-12)
    # Binary nDCG is graded nDCG of gains 0 and 1.
    truth = [1.0 for count in relevant for _ in range(count)]
    for k in (None, 3):
        graded = ndcg_graded(gain, offsets, truth, [0, *np.cumsum(relevant)], k=k)
        assert find_hits(gain, offsets, relevant).ndcg(k) == pytest.approx(graded, nan_ok=True)
