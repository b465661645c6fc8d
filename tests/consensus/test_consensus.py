"""Rules that settle votes, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.records import AnnotatorKey, Question, Settled, Votes


def votes(*rows: tuple[int, int, float], items: int, n: list[int] | None = None) -> Votes:
    """Votes from (item, annotator, value)."""
    item, annotator, value = (
        (np.array(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    )
    people = int(max(annotator, default=-1)) + 1
    return Votes(
        np.asarray(item, dtype=np.int64),
        np.asarray(annotator, dtype=np.int64),
        np.asarray(value, dtype=np.float64),
        np.array(n or [1] * len(rows), dtype=np.int64),
        np.zeros(len(rows), dtype=np.int64),
        np.full(len(rows), np.nan),
        np.zeros(len(rows), dtype=np.bool_),
        np.zeros(len(rows), dtype=np.int64),
        items,
        [AnnotatorKey("panel", str(number)) for number in range(people)],
        Question("q"),
    )


def settled(rule: str, cast: Votes) -> Settled:
    return registry.configure("consensus", rule).load()(cast)


def anonymous(*groups: list[float]) -> Votes:
    return votes(
        *((item, -1, value) for item, group in enumerate(groups) for value in group), items=len(groups)
    )


def test_mean_with_its_interval() -> None:
    # 1, 2, 6: mean 3, SD sqrt(7), t(2, .975) = 4.30265; 3 +- 4.30265 sqrt(7/3).
    found = settled("mean", anonymous([1, 2, 6], [4], []))
    assert found.value[:2] == pytest.approx([3, 4])
    assert found.high[0] == pytest.approx(3 + 4.30265 * np.sqrt(7 / 3), abs=1e-4)
    assert np.isnan(found.low[1])
    assert found.reason == [None, None, "nobody judged it"]
    assert list(found.n) == [3, 1, 0]


def test_median_by_hand() -> None:
    found = settled("median", anonymous([5, 1, 2], [1, 2, 4, 100], [7], []))
    assert found.value[:3] == pytest.approx([2, 3, 7])
    assert found.reason == [None, None, None, "nobody judged it"]
    assert list(found.n) == [3, 4, 1, 0]


@given(
    st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), max_size=5), min_size=1, max_size=4)
)
def test_median_of_counted_votes_is_the_median_of_all(groups: list[list[tuple[int, int]]]) -> None:
    rows = [(item, -1, float(value)) for item, group in enumerate(groups) for value, _ in group]
    cast = votes(*rows, items=len(groups), n=[count for group in groups for _, count in group])
    found = settled("median", cast)
    for item, group in enumerate(groups):
        spread = [value for value, count in group for _ in range(count)]
        assert found.value[item] == np.median(spread) if spread else np.isnan(found.value[item])


def test_majority_and_its_ties() -> None:
    cast = anonymous([1, 1, 0], [0, 1], [])
    assert settled("majority", cast).reason == [None, "the votes are tied", "nobody judged it"]
    assert settled("majority(ties=highest)", cast).value[:2] == pytest.approx([1, 1])
    assert settled("majority(ties=lowest)", cast).value[:2] == pytest.approx([1, 0])


def test_hbpp_is_the_mean_within_the_majority_group() -> None:
    # {2, 1} against {0}: 1.5. {0, -1} against {2}: -0.5. Tie {2} against {0}: relevant, 2.
    found = settled("hbpp", anonymous([2, 1, 0], [0, -1, 2], [2, 0]))
    assert found.value == pytest.approx([1.5, -0.5, 2])


def test_hbpp_refuses_other_scales() -> None:
    with pytest.raises(DataError, match="1 are others, such as 5"):
        settled("hbpp", anonymous([2, 5]))


def test_mos_sees_through_bias_and_carelessness() -> None:
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 5, 60)
    bias = np.array([-1, -0.5, 0, 0.5, 1, 0])
    care = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 2.0])
    rows = [
        (item, who, truth[item] + bias[who] + care[who] * rng.normal())
        for item in range(60)
        for who in range(6)
    ]
    cast = votes(*rows, items=60)
    found, plain = settled("mos", cast), settled("mean", cast)
    off = np.abs(found.value - found.value.mean() - truth + truth.mean())
    plain_off = np.abs(plain.value - plain.value.mean() - truth + truth.mean())
    assert off.mean() < plain_off.mean() / 3
    assert (found.low < found.value).all() and (found.value < found.high).all()


def test_mos_stays_on_its_scale() -> None:
    # The harsh viewer is 2 below the other throughout, so that 5 from the first means more than 5 allows.
    rows = [(item, who, value - 2 * who) for item, value in enumerate([2, 3, 4, 5]) for who in (0, 1)]
    cast = votes(*rows, (4, 1, 5.0), items=5)
    beyond = settled("mos", cast)
    assert beyond.value[4] > 5
    ended = settled("mos", replace(cast, question=Question("q", low=0, high=5)))
    assert ended.value[4] == 5 and ended.high.max() <= 5
    assert ended.value[:4] == pytest.approx(beyond.value[:4])


@pytest.mark.parametrize("rule", ["mean(confidence=1.5)", "mos(confidence=0)", "majority(ties=coin)"])
def test_impossible_parameters_are_refused(rule: str) -> None:
    with pytest.raises(UsageError):
        settled(rule, anonymous([1, 2]))
