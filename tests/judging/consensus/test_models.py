"""Rules that model who voted: labels, preferences and normalised scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from sightline.errors import DataError
from sightline.records import Question, Settled, Votes
from sightline.statistics.preferences import bradley_terry

Cast = Callable[..., Votes]
Settle = Callable[[str, Votes], Settled]

YES_NO = Question("match", "nominal", 0, 1)


def liar(votes: Cast) -> Votes:
    """Items 0 to 19, odd ones true; three truthful annotators and two who always say 1."""
    rows = [(item, who, float(item % 2 if who < 3 else 1)) for item in range(20) for who in range(5)]
    return votes([*rows, *((20, who, float(who > 1)) for who in range(5))], items=22, question=YES_NO)


def test_dawid_skene_hears_who_tells_something(settle: Settle, votes: Cast) -> None:
    # On item 20 the two who always say 1 and one truthful annotator say 1, two truthful ones 0.
    cast = liar(votes)
    assert settle("majority", cast).value[20] == 1
    found = settle("dawid_skene", cast)
    assert found.value[:21].tolist() == [item % 2 for item in range(20)] + [0]
    assert found.reason == [None] * 21 + ["nobody judged it"]
    assert np.isnan(found.low).all(), "labels without order have no interval"
    assert list(found.n) == [5] * 21 + [0]


def test_dawid_skene_as_a_probability(settle: Settle, votes: Cast) -> None:
    found = settle("dawid_skene(probability=True)", liar(votes))
    assert np.all(found.value[1:20:2] > 0.9) and np.all(found.value[0:20:2] < 0.1)
    assert 0 < found.value[20] < 0.5 and np.isnan(found.value[21])
    three = votes([(0, 0, 0.0), (0, 1, 1.0), (0, 2, 2.0)], question=Question("q", "nominal"))
    with pytest.raises(DataError, match="3 were given"):
        settle("dawid_skene(probability=True)", three)
    same = votes([(0, 0, 1.0), (0, 1, 1.0)], question=YES_NO)
    assert settle("dawid_skene(probability=True)", same).value[0] > 0.5


def test_dawid_skene_of_grades_has_an_interval(settle: Settle, votes: Cast) -> None:
    rng = np.random.default_rng(0)
    rows = [
        (item, who, float(np.clip(item % 3 + rng.choice([-1, 0, 0, 0, 1]), 0, 2)))
        for item in range(60)
        for who in range(4)
    ]
    cast = votes(rows, question=Question("q", "ordinal", 0, 2, 1))
    found = settle("dawid_skene", cast)
    assert np.mean(found.value == np.arange(60) % 3) > 0.75
    assert np.all(found.low <= found.value) and np.all(found.value <= found.high)
    # An item on which all four agree is surer than one on which they do not.
    given = np.array([row[2] for row in rows]).reshape(60, 4)
    assert np.mean((found.high - found.low)[np.ptp(given, axis=1) == 0]) < np.mean(found.high - found.low)
    wide = settle("dawid_skene(confidence=0.999)", cast)
    assert np.all(wide.low <= found.low) and np.all(wide.high >= found.high)


def test_a_slider_is_no_set_of_labels(settle: Settle, votes: Cast) -> None:
    with pytest.raises(DataError, match="101 different values"):
        settle("dawid_skene", votes([(item, 0, item / 20) for item in range(101)]))


def test_equally_probable_labels_settle_nothing(settle: Settle, votes: Cast) -> None:
    cast = votes([(0, 0, 0.0), (0, 1, 1.0)], question=YES_NO)
    assert settle("dawid_skene", cast).reason == ["two labels are equally probable"]


def preferences(votes: Cast, pairs: list[tuple[int, int]], rows: list[tuple[int, float, int]]) -> Votes:
    counts = [count for *_, count in rows]
    cast = votes([(item, -1, value) for item, value, _ in rows], items=len(pairs), n=counts)
    return replace(cast, pairs=np.array(pairs), question=Question("better", "ordinal", 0, 1))


def test_preferences_borrow_from_other_pairs(settle: Settle, votes: Cast) -> None:
    # Images 70 > 80 > 90 by 8 to 2 each; 70 against 90 was judged once, for 90; ids are opaque.
    cast = preferences(
        votes,
        [(70, 80), (80, 90), (70, 90), (70, 70), (90, 5)],
        [(0, 1.0, 8), (0, 0.0, 2), (1, 1.0, 8), (1, 0.0, 2), (2, 0.0, 1), (3, 1.0, 2)],
    )
    given = settle("bradley_terry(prior=1.2825)", cast)
    direct = bradley_terry([0, 1, 1, 2, 2], [1, 0, 2, 1, 0], [8, 2, 8, 2, 1], prior=1.2825)
    assert given.value[:3] == pytest.approx(direct.preference([0, 1, 0], [1, 2, 2])[0])
    found = settle("bradley_terry", cast)
    assert np.all(found.value[:3] > 0.5) and np.all(found.value[:3] < given.value[:3]), "a smaller spread"
    assert given.value[2] > 0.7 and found.value[2] > 0.65, "what both did against 80 outweighs one vote"
    assert found.reason == [None, None, None, "A and B are the same", "nobody judged it"]
    assert list(found.n) == [10, 10, 1, 2, 0]
    assert np.all(found.low[:3] < found.value[:3]) and np.all(found.value[:3] < found.high[:3])


def test_a_tie_is_half_a_preference(settle: Settle, votes: Cast) -> None:
    tied = preferences(votes, [(1, 2)], [(0, 0.5, 4)])
    split = preferences(votes, [(1, 2)], [(0, 1.0, 2), (0, 0.0, 2)])
    assert settle("bradley_terry", tied).value == pytest.approx([0.5], abs=0.01)
    assert settle("bradley_terry", tied).high == pytest.approx(settle("bradley_terry", split).high)


def test_pairs_of_different_prompts_are_judged_apart(settle: Settle, votes: Cast) -> None:
    both = preferences(votes, [(1, 2), (8, 9)], [(0, 1.0, 3), (1, 0.0, 3)])
    one = preferences(votes, [(1, 2)], [(0, 1.0, 3)])
    found = settle("bradley_terry(prior=1.2825)", both)
    assert found.value[0] == pytest.approx(settle("bradley_terry(prior=1.2825)", one).value[0])
    assert found.value[1] == pytest.approx(1 - found.value[0])
    pooled = settle("bradley_terry", both)
    assert pooled.value[1] == pytest.approx(1 - pooled.value[0], abs=0.02)
    assert pooled.value[0] > settle("bradley_terry", one).value[0], "two clear pairs: strengths differ more"


def test_preferences_need_pairs_and_ends(settle: Settle, votes: Cast) -> None:
    cast = preferences(votes, [(1, 2)], [(0, 1.0, 3)])
    with pytest.raises(DataError, match="not pairs"):
        settle("bradley_terry", replace(cast, pairs=None))
    with pytest.raises(DataError, match="no two ends"):
        settle("bradley_terry", replace(cast, question=Question("q")))
    with pytest.raises(DataError, match="1 votes lie off"):
        settle("bradley_terry", replace(cast, value=np.array([7.0])))


def test_normalised_scores_say_what_could_not_be_used(settle: Settle, votes: Cast) -> None:
    # Viewer 2 always says 4, so items 3 (judged by nobody else) has no score and n counts the others only.
    rows = [(0, 0, 1.0), (1, 0, 3.0), (2, 0, 5.0), (0, 1, 2.0), (1, 1, 3.0), (0, 2, 4.0), (3, 2, 4.0)]
    found = settle("mos_normalised", votes(rows, items=5, question=Question("q", "interval", 1, 5)))
    assert list(found.n) == [2, 2, 1, 0, 0]
    assert found.reason[3] == "whoever judged it gave one value throughout, or nothing else in that session"
    assert found.reason[4] == "nobody judged it" and found.reason[:3] == [None] * 3
    assert np.all(found.value[:3] >= 1) and np.all(found.value[:3] <= 5)


def test_normalised_scores_take_sessions_apart(settle: Settle, votes: Cast) -> None:
    # One viewer, two sessions two points apart: taken off, items 0 and 2 are alike, as are 1 and 3.
    cast = votes([(0, 0, 1.0), (1, 0, 2.0), (2, 0, 3.0), (3, 0, 4.0)], session=[0, 0, 1, 1])
    found = settle("mos_normalised", cast)
    assert found.value[:2] == pytest.approx(found.value[2:]) and found.value[1] > found.value[0]
    with pytest.raises(DataError, match="no end"):
        settle("mos_normalised(rescale=ends)", cast)
    # -+ .5 over SD sqrt(4 x .25 / 3) = .577 is -+ .866; 0 to 6 is 3 + z.
    ends = replace(cast, question=Question("q", "interval", 0, 6))
    assert settle("mos_normalised(rescale=ends)", ends).value == pytest.approx(
        [3 - 0.75**0.5, 3 + 0.75**0.5] * 2
    )
