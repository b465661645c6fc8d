"""Measures of a ranking that need no judgement: hand arithmetic on whole runs as columns."""

from __future__ import annotations

import numpy as np
import pytest

from sightline import registry
from sightline.errors import UsageError
from sightline.extension import NoValue
from sightline.records import Rankings

STATISTICS = ("score_variance", "nqc", "wig", "caption_clarity")
EVERY = (*STATISTICS, "query_robustness", "engine_overlap")


def run(scores: list[list[float]] | None, lengths: list[int] | None = None) -> Rankings:
    told = [len(each) for each in scores] if scores is not None else lengths or []
    places = sum(told)
    flat = None if scores is None else np.array([s for each in scores for s in each], dtype=np.float64)
    nothing = np.zeros(len(told) + 1, dtype=np.int64)
    return Rankings(np.cumsum([0, *told]), np.full(places, np.nan), nothing, np.zeros(0), scores=flat)


def measured(text: str, rankings: Rankings) -> list[float | NoValue]:
    return list(registry.configure("of_ranking", text).load()(rankings))


def test_variance_by_hand() -> None:
    # First 2: mean 4, (1 + 1) / 2; all 3: mean 3, (4 + 0 + 4) / 3.
    assert measured("score_variance@2", run([[5, 3, 1]])) == [1]
    assert measured("score_variance", run([[5, 3, 1], [2]])) == pytest.approx([8 / 3, 0])


def test_commitment_and_gain_against_the_rest_of_the_ranking() -> None:
    rankings = run([[5, 3, 1], [2, 2], [1, -1]])
    # Deviation of 5 and 3 is 1, the whole ranking has a mean of 3; 2 and 2 do not vary; 1 and -1 have mean 0.
    *values, none = measured("nqc@2", rankings)
    assert values == pytest.approx([1 / 3, 0]) and none == NoValue("the collection as a whole scores 0")
    # Mean of the first 2 less the mean of all; nobody says how many words were asked, so it counts as one.
    assert measured("wig@2", rankings) == pytest.approx([4 - 3, 0, 0])


def test_why_there_is_no_value() -> None:
    for name in STATISTICS:
        told = measured(name, run([[], [np.nan, np.nan], [2, np.nan], [0.1, 0.2, 0.3]]))
        reasons = [each.reason for each in told if isinstance(each, NoValue)]
        assert reasons == [
            "nothing was retrieved",
            "its answers have no scores",
            "its answers have no scores",
            "its scores rise along the ranking, as distances do",
        ]
        assert measured(name, run(None, [3])) == [NoValue("its answers have no scores")]
        assert measured(name, run([])) == []
    # Beyond the first k a rising score does no harm.
    assert measured("score_variance@2", run([[3, 1, 2]])) == [1]
    for name in ("query_robustness", "engine_overlap"):
        (only,) = measured(name, run(None, [3]))
        assert isinstance(only, NoValue)


def test_they_promise_no_better_end() -> None:
    """A high variance predicts; it is no merit of an engine."""
    for name in EVERY:
        spec = registry.get("of_ranking", name).spec
        assert spec.direction == "none" and spec.details["rests_on"] in ("run", "runs")
    for name in ("expected_precision", "expected_reciprocal_rank"):
        assert registry.get("of_ranking", name).spec.details["rests_on"] == "everything"


def overlapping() -> Rankings:
    """Prompt 1: engines 7, 8, 9 with {1, 2, 3}, {3, 2, 9} and nothing; prompt 2: engine 7 alone."""
    images = np.array([1, 2, 3, 3, 2, 9, 5])
    offsets = np.array([0, 3, 6, 6, 7])
    nothing = np.zeros(5, dtype=np.int64)
    return Rankings(
        offsets, np.full(7, np.nan), nothing, np.zeros(0),
        images=images, prompts=np.array([1, 1, 1, 2]), systems=np.array([7, 8, 9, 7]),
    )  # fmt: skip


def test_overlap_with_the_other_engines() -> None:
    # {1, 2, 3} and {3, 2, 9}: 2 / 4; with nothing: 0. The mean over both others is 0.25.
    *values, nothing, alone = measured("engine_overlap", overlapping())
    assert values == [0.25, 0.25]
    assert nothing == NoValue("nothing was retrieved")
    assert alone == NoValue("no other engine answered this prompt")
    # First 2: {1, 2} and {3, 2} share 1 of 3.
    assert measured("engine_overlap@2", overlapping())[0] == pytest.approx(1 / 6)


def test_bad_parameters_are_refused() -> None:
    for text in (*(f"{name}@0" for name in EVERY), "expected_precision@0", "expected_reciprocal_rank@0"):
        with pytest.raises(UsageError, match="counts no place"):
            measured(text, run([[1]]))
    for text, what in (
        ("nqc(against=collektion)", "against 'collektion'"),
        ("wig(against=all)", "against 'all'"),
        ("caption_clarity(own=2)", "own=2"),
        ("query_robustness(noise=loud)", "noise 'loud'"),
        ("query_robustness(share=0)", "share=0"),
        ("query_robustness(draws=0)", "draws=0"),
    ):
        with pytest.raises(UsageError, match=what):
            measured(text, run([[1]]))


def test_nothing_is_predicted_of_what_nothing_is_known_of() -> None:
    told = measured("expected_precision", run([[2, 1], []]))
    assert told == [NoValue("the relevance of its images cannot be predicted"), 0.0]
