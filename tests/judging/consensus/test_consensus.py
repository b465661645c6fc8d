"""Rules that settle votes, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError, UsageError
from sightline.records import Question, Settled, Votes

Cast = Callable[..., Votes]
Settle = Callable[[str, Votes], Settled]


def test_mean_with_its_interval(settle: Settle, anonymous: Cast) -> None:
    # 1, 2, 6: mean 3, variance 7, four more degrees of freedom from all items: t(6, .975) = 2.446912.
    found = settle("mean", anonymous([1, 2, 6], [4], []))
    assert found.value[:2] == pytest.approx([3, 4])
    assert found.high[0] == pytest.approx(3 + 2.446912 * np.sqrt(7 / 3), abs=1e-4)
    assert np.isnan(found.low[1])
    assert found.reason == [None, None, "nobody judged it"]
    assert list(found.n) == [3, 1, 0]


def test_median_by_hand(settle: Settle, anonymous: Cast) -> None:
    found = settle("median", anonymous([5, 1, 2], [1, 2, 4, 100], [7], []))
    assert found.value[:3] == pytest.approx([2, 3, 7])
    assert found.reason == [None, None, None, "nobody judged it"]
    assert list(found.n) == [3, 4, 1, 0]


@given(
    st.lists(st.lists(st.tuples(st.integers(-3, 3), st.integers(1, 4)), max_size=5), min_size=1, max_size=4)
)
def test_median_of_counted_votes_is_the_median_of_all(
    settle: Settle, votes: Cast, groups: list[list[tuple[int, int]]]
) -> None:
    rows = [(item, -1, float(value)) for item, group in enumerate(groups) for value, _ in group]
    cast = votes(rows, items=len(groups), n=[count for group in groups for _, count in group])
    found = settle("median", cast)
    for item, group in enumerate(groups):
        spread = [value for value, count in group for _ in range(count)]
        assert found.value[item] == np.median(spread) if spread else np.isnan(found.value[item])


def test_the_interval_of_a_median_needs_six_votes(settle: Settle, anonymous: Cast) -> None:
    # Of n coins P(0 heads) = 1/64 for six: the two outermost votes enclose the median with 62/64. Of eight
    # P(at most 1 head) = 9/256 > .025, so the outermost again; of nine 10/512 < .025: the second ones.
    found = settle("median", anonymous([1, 2, 3, 4, 5], [1, 2, 3, 4, 5, 6], [*range(8)], [*range(9)]))
    assert found.low == pytest.approx([np.nan, 1, 0, 1], nan_ok=True)
    assert found.high == pytest.approx([np.nan, 6, 7, 7], nan_ok=True)


def test_median_merges_the_top_as_w1kp_does(settle: Settle, anonymous: Cast) -> None:
    cast = anonymous([5, 5, 1], [5, 4, 4], [3, 5, 2], [1, 5], low=1, high=5)
    assert settle("median", cast).value == pytest.approx([5, 4, 3, 3])
    assert settle("median(top=4)", cast).value == pytest.approx([4, 4, 3, 2.5])


def test_majority_and_its_ties(settle: Settle, anonymous: Cast) -> None:
    cast = anonymous([1, 1, 0], [0, 1], [])
    assert settle("majority", cast).reason == [None, "the votes are tied", "nobody judged it"]
    assert settle("majority(ties=highest)", cast).value[:2] == pytest.approx([1, 1])
    assert settle("majority(ties=lowest)", cast).value[:2] == pytest.approx([1, 0])


def test_hbpp_refuses_other_scales(settle: Settle, anonymous: Cast) -> None:
    with pytest.raises(DataError, match="1 are others, such as 5"):
        settle("hbpp", anonymous([2, 5]))


def test_mos_sees_through_bias_and_carelessness(settle: Settle, votes: Cast) -> None:
    rng = np.random.default_rng(3)
    truth = rng.uniform(1, 5, 60)
    bias = np.array([-1, -0.5, 0, 0.5, 1, 0])
    care = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 2.0])
    rows = [
        (item, who, truth[item] + bias[who] + care[who] * rng.normal())
        for item in range(60)
        for who in range(6)
    ]
    cast = votes(rows, items=60)
    found, plain = settle("mos_mle", cast), settle("mean", cast)
    off = np.abs(found.value - found.value.mean() - truth + truth.mean())
    plain_off = np.abs(plain.value - plain.value.mean() - truth + truth.mean())
    assert off.mean() < plain_off.mean() / 3
    assert (found.low < found.value).all() and (found.value < found.high).all()


def test_mos_stays_on_its_scale(settle: Settle, votes: Cast) -> None:
    # The harsh viewer is 2 below the other throughout, so that 5 from the first means more than 5 allows.
    rows = [(item, who, value - 2 * who) for item, value in enumerate([2, 3, 4, 5]) for who in (0, 1)]
    cast = votes([*rows, (4, 1, 5.0)], items=5)
    beyond = settle("mos_mle", cast)
    assert beyond.value[4] > 5
    ended = settle("mos_mle", replace(cast, question=Question("q", low=0, high=5)))
    assert ended.value[4] == 5 and ended.high.max() <= 5
    assert ended.value[:4] == pytest.approx(beyond.value[:4])


@pytest.mark.parametrize(
    "rule",
    [
        "mean(confidence=1.5)", "mos_mle(confidence=0)", "hbpp(confidence=1)", "proportion(confidence=2)",
        "majority(ties=coin)", "median(top=0)", "proportion(top=7)", "any_relevant(top=0)",
        "unanimous(least=0)", "mos_normalised(rescale=both)", "dawid_skene(smoothing=-1)",
        "bradley_terry(prior=0)",
    ],
)  # fmt: skip
def test_impossible_parameters_are_refused(settle: Settle, anonymous: Cast, rule: str) -> None:
    with pytest.raises(UsageError):
        settle(rule, anonymous([1, 2], low=1, high=5))
