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
    named = ("precision", "hit_rate", "reciprocal_rank", "ndcg", "recall", "r_precision", "average_precision")
    for text in (*named, "ndcg(gains=binary)"):
        found = measured(text, rankings)
        assert np.isnan(found[0])
        assert found[1:] == [0, 0]


def test_level_says_what_is_relevant() -> None:
    rankings = run(([1, 2, 0], [2, 1, 0]))
    assert measured("reciprocal_rank", rankings) == [1]
    assert measured("reciprocal_rank(min_rel=2)", rankings) == [0.5]
    assert measured("precision(k=2, min_rel=2)", rankings) == [0.5]


def test_graded_gains_by_hand() -> None:
    # Ranked 1, 2 where 2, 1 would be best: (1 + 2 / log2 3) / (2 + 1 / log2 3); 2^gain - 1 turns 2 into 3.
    rankings = run(([1, 2], [2, 1]))
    discount = 1 / np.log2(3)
    assert measured("ndcg", rankings) == pytest.approx([(1 + 2 * discount) / (2 + discount)])
    assert measured("ndcg(gains=exponential)", rankings) == pytest.approx(
        [(1 + 3 * discount) / (3 + discount)]
    )


@pytest.mark.parametrize(
    "text", ["precision@0", "hit_rate(k=-1)", "ndcg@0", "recall@0", "average_precision@0", "judged@0"]
)
def test_places_count_from_one(text: str) -> None:
    with pytest.raises(UsageError, match="counts no place"):
        measured(text, run(CHECK))
    with pytest.raises(UsageError, match="square"):
        measured("ndcg(gains=square)", run(CHECK))


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
    names = {
        "precision@5": "P_5", "hit_rate@5": "success_5", "recall_at@5": "success_5", "recall@5": "recall_5",
        "reciprocal_rank": "recip_rank", "r_precision": "Rprec", "average_precision": "map",
        "average_precision@5": "map_cut_5", "ndcg": "ndcg", "ndcg@5": "ndcg_cut_5",
    }  # fmt: skip
    told = {"P", "success", "recip_rank", "ndcg", "ndcg_cut", "recall", "Rprec", "map", "map_cut"}
    expected = pytrec_eval.RelevanceEvaluator(judged, told).evaluate(ranked)
    rankings = run(
        *(([*gains], [gain for gain in [*gains, *missed] if gain == gain]) for gains, missed in queries)
    )
    for ours, theirs in names.items():
        for q, value in enumerate(measured(ours, rankings)):
            if any(judged[f"q{q}"].values()):
                assert value == pytest.approx(expected[f"q{q}"][theirs], abs=1e-9)
            else:
                assert np.isnan(value)


def test_the_other_measures_by_hand() -> None:
    # Relevant at 2, 4 and 6 of R = 3: one of the first three; two of three by place 4; (1/2 + 2/4 + 3/6) / 3.
    rankings = run(CHECK)
    assert measured("r_precision", rankings) == pytest.approx([1 / 3])
    assert measured("recall@4", rankings) == pytest.approx([2 / 3])
    assert measured("average_precision", rankings) == pytest.approx([0.5])
    assert measured("average_precision@4", rankings) == pytest.approx([(1 / 2 + 2 / 4) / 3])
    assert measured("ndcg(gains=binary)", rankings) == pytest.approx([0.6653], abs=5e-5)


def test_binary_gains_look_at_the_level_and_at_nothing_else() -> None:
    graded = run(([1, 2, 0], [2, 1, 0]))
    # Both are relevant and first; from 2 on only the second is: 1 / log2 3 of the ideal 1.
    assert measured("ndcg(gains=binary)", graded) == [1]
    assert measured("ndcg(gains=binary, min_rel=2)", graded) == pytest.approx([1 / np.log2(3)])
    assert measured("ndcg(min_rel=2)", graded) == measured("ndcg", graded)


def test_recall_of_papers_is_the_hit_rate_and_says_so() -> None:
    two_relevant = run(([0, 1, 0, 0], [1, 1, 0]))
    assert measured("recall_at@2", two_relevant) == measured("hit_rate@2", two_relevant) == [1]
    assert measured("recall@2", two_relevant) == [0.5]
    assert "hit_rate" in registry.get("of_ranking", "recall").spec.meaning
    assert "Recall@k" in registry.get("of_ranking", "recall_at").spec.meaning
    with pytest.raises(UsageError, match="Recall") as caught:
        registry.find_measure("Recall@10")
    assert "recall" in caught.value.remedy


def test_judged_counts_images_and_is_no_quality() -> None:
    nan = float("nan")
    # Two of the first four were judged; of a ranking of one, all; of none, nothing can be said.
    rankings = run(([0, nan, 1, nan, 1], [1, 1, 0]), ([0], [0]), ([], [1]), ([nan], []))
    assert measured("judged@4", rankings)[:2] == [0.5, 1]
    assert np.isnan(measured("judged@4", rankings)[2])
    assert measured("judged@4", rankings)[3] == 0, "nobody judged anything for the last query"
    assert measured("judged(k=None)", rankings)[0] == pytest.approx(3 / 5)
    assert registry.get("of_ranking", "judged").spec.direction == "none"
