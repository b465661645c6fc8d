"""Measures of a ranking, against hand arithmetic and trec_eval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import registry
from sightline.errors import UsageError
from sightline.records import Rankings


def run(*queries: tuple[list[float], list[float]]) -> Rankings:
    """Rankings from (gains in rank order, all known gains) of each query; NaN is unjudged."""
    gains = [gains for gains, _ in queries]
    ideal = [sorted(known, reverse=True) for _, known in queries]
    return Rankings(
        np.cumsum([0, *map(len, gains)]),
        np.array([gain for each in gains for gain in each], dtype=np.float64),
        np.cumsum([0, *map(len, ideal)]),
        np.array([gain for each in ideal for gain in each], dtype=np.float64),
    )


def measured(text: str, rankings: Rankings) -> list[float]:
    return [float(value) for value in registry.configure("of_ranking", text).load()(rankings)]


# ConQA's check: relevant at ranks 2, 4 and 6 of three relevant images.
CHECK = ([0, 1, 0, 1, 0, 1.0], [1, 1, 1, 0, 0, 0.0])


def test_published_check() -> None:
    assert measured("ndcg", run(CHECK)) == pytest.approx([0.6653], abs=5e-5)
    assert measured("precision@3", run(CHECK)) == pytest.approx([1 / 3])
    assert measured("reciprocal_rank", run(CHECK)) == [0.5]
    assert measured("hit_rate@1", run(CHECK)) == [0]
    assert measured("hit_rate@2", run(CHECK)) == [1]


def test_without_a_relevant_image_there_is_no_value_and_without_a_hit_it_is_zero() -> None:
    rankings = run(([0, 0], [0, 0]), ([np.nan, 0], [1, 0]), ([], [1]))
    for text in ("precision", "hit_rate", "reciprocal_rank", "ndcg"):
        found = measured(text, rankings)
        assert np.isnan(found[0])
        assert found[1:] == [0, 0]


def test_level_says_what_is_relevant() -> None:
    rankings = run(([1, 2, 0], [2, 1, 0]))
    assert measured("reciprocal_rank", rankings) == [1]
    assert measured("reciprocal_rank(level=2)", rankings) == [0.5]
    assert measured("precision(k=2, level=2)", rankings) == [0.5]


def test_graded_gains_by_hand() -> None:
    # Ranked 1, 2 where 2, 1 would be best: (1 + 2 / log2 3) / (2 + 1 / log2 3); 2^gain - 1 turns 2 into 3.
    rankings = run(([1, 2], [2, 1]))
    discount = 1 / np.log2(3)
    assert measured("ndcg", rankings) == pytest.approx([(1 + 2 * discount) / (2 + discount)])
    assert measured("ndcg(gains=exponential)", rankings) == pytest.approx(
        [(1 + 3 * discount) / (3 + discount)]
    )


@pytest.mark.parametrize("text", ["precision@0", "hit_rate(k=-1)", "ndcg@0", "ndcg(gains=square)"])
def test_impossible_parameters_are_refused(text: str) -> None:
    with pytest.raises(UsageError):
        measured(text, run(CHECK))


GRADES = st.lists(st.sampled_from([0.0, 1.0, 2.0, float("nan")]), min_size=1, max_size=12)


@given(st.lists(st.tuples(GRADES, st.lists(st.sampled_from([1.0, 2.0]), max_size=3)), min_size=1, max_size=5))
def test_as_trec_eval(queries: list[tuple[list[float], list[float]]]) -> None:
    import pytrec_eval

    judged = {
        f"q{q}": {f"d{rank}": int(gain) for rank, gain in enumerate(gains) if gain == gain}
        | {f"missed{n}": int(gain) for n, gain in enumerate(missed)}
        for q, (gains, missed) in enumerate(queries)
    }
    ranked = {
        f"q{q}": {f"d{rank}": float(-rank) for rank in range(len(gains))}
        for q, (gains, _) in enumerate(queries)
    }
    names = {"precision@5": "P_5", "hit_rate@5": "success_5", "reciprocal_rank": "recip_rank", "ndcg": "ndcg",
             "ndcg@5": "ndcg_cut_5"}  # fmt: skip
    expected = pytrec_eval.RelevanceEvaluator(
        judged, {"P", "success", "recip_rank", "ndcg", "ndcg_cut"}
    ).evaluate(ranked)
    rankings = run(
        *(([*gains], [gain for gain in [*gains, *missed] if gain == gain]) for gains, missed in queries)
    )
    for ours, theirs in names.items():
        for q, value in enumerate(measured(ours, rankings)):
            if any(judged[f"q{q}"].values()):
                assert value == pytest.approx(expected[f"q{q}"][theirs])
            else:
                assert np.isnan(value)
