"""Rules that say relevant or not, and shares of votes, by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.stats import binomtest

from sightline.errors import DataError, UsageError
from sightline.records import Question, Settled, Votes

Cast = Callable[..., Votes]
Settle = Callable[[str, Votes], Settled]

# PQPP: the value of an image by how many of three votes are for 2, 1, 0 and -1, worked out by hand: the mean
# of the votes within {2, 1} or {0, -1}, whichever has two or three of them.
HBPP = {
    (3, 0, 0, 0): 2, (2, 0, 1, 0): 2, (2, 0, 0, 1): 2,
    (2, 1, 0, 0): 5 / 3, (1, 2, 0, 0): 4 / 3,
    (1, 1, 1, 0): 3 / 2, (1, 1, 0, 1): 3 / 2,
    (0, 3, 0, 0): 1, (0, 2, 1, 0): 1, (0, 2, 0, 1): 1,
    (0, 0, 3, 0): 0, (1, 0, 2, 0): 0, (0, 1, 2, 0): 0,
    (0, 0, 2, 1): -1 / 3, (0, 0, 1, 2): -2 / 3,
    (1, 0, 1, 1): -1 / 2, (0, 1, 1, 1): -1 / 2,
    (0, 0, 0, 3): -1, (1, 0, 0, 2): -1, (0, 1, 0, 2): -1,
}  # fmt: skip


def test_hbpp_of_every_three_votes(settle: Settle, anonymous: Cast) -> None:
    triples = list(product((2, 1, 0, -1), repeat=3))
    found = settle("hbpp", anonymous(*map(list, triples)))
    counts = [tuple(triple.count(grade) for grade in (2, 1, 0, -1)) for triple in triples]
    assert found.value == pytest.approx([HBPP[count] for count in counts])
    assert len(triples) == 64 and set(counts) == set(HBPP)
    assert len(set(HBPP.values())) == 10
    # A tie goes to relevant.
    assert settle("hbpp", anonymous([2, 0])).value == pytest.approx([2])


def test_hbpp_says_how_little_three_votes_tell(settle: Settle, anonymous: Cast) -> None:
    # 2, 2, 2: P(not relevant wins) = P(Beta(4, 1) < 1/2) = 1/16 > .025, so the interval reaches below 0. With
    # thirty such votes it is 2^-31, and the lower limit is 1 + the .025 quantile of Beta(30.5, 0.5).
    few, many = (settle("hbpp", anonymous([2] * count)) for count in (3, 30))
    assert -1 < few.low[0] < 0 and few.high[0] == 2
    assert 1.9 < many.low[0] < 2 and many.high[0] == 2
    draws = np.random.default_rng(0).beta(30.5, 0.5, 100_000)
    assert many.low[0] == pytest.approx(1 + np.quantile(draws, 0.025), abs=2e-3)


def test_unanimous_and_its_softer_reading(settle: Settle, anonymous: Cast) -> None:
    # ConQA codes relevant 1, unsure 0.5, irrelevant 0.
    groups = [[1, 1, 1], [1], [1, 1, 1, 0.5], [1, 1, 1, 0], [1, 1, 0.5], [0.5, 0.5], [0], []]
    cast = anonymous(*groups, low=0, high=1)
    strict, soft = settle("unanimous", cast), settle("unanimous(least=3, allowing=0.5)", cast)
    assert strict.value == pytest.approx([1, 1, 0, 0, 0, 0, 0, np.nan], nan_ok=True)
    assert soft.value == pytest.approx([1, 0, 1, 0, 0, 0, 0, np.nan], nan_ok=True)
    assert strict.reason == [None] * 7 + ["nobody judged it"]
    assert list(strict.n) == [3, 1, 4, 4, 3, 2, 1, 0]
    assert np.isnan(strict.low).all() and np.isnan(strict.high).all()


def test_either_is_relevant_if_anybody_says_so(settle: Settle, anonymous: Cast) -> None:
    cast = anonymous([0, 1], [1, 1], [0, 0], [np.nan], low=0, high=1)
    found = settle("any_relevant", cast)
    assert found.value == pytest.approx([1, 1, 0, np.nan], nan_ok=True)
    assert found.reason[3] == "nobody judged it" and list(found.n) == [2, 2, 2, 0]
    graded = anonymous([0, 1], [-1, 0], low=-1, high=2)
    assert settle("any_relevant", graded).value == pytest.approx([0, 0])
    assert settle("any_relevant(top=1)", graded).value == pytest.approx([1, 0])


def test_share_with_wilsons_interval(settle: Settle, anonymous: Cast) -> None:
    groups = [[1, 1, 1, 0, 0], [0, 0, 0], [1] * 5, []]
    found = settle("proportion", anonymous(*groups, low=0, high=1))
    assert found.value[:3] == pytest.approx([0.6, 0, 1])
    for group, low, high in zip(groups[:3], found.low, found.high, strict=False):
        limits = binomtest(int(sum(group)), len(group)).proportion_ci(0.95, method="wilson")
        assert (low, high) == pytest.approx((limits.low, limits.high))
    assert found.reason == [None, None, None, "nobody judged it"]


def test_the_top_of_labels_without_order_is_the_label_itself(settle: Settle, anonymous: Cast) -> None:
    cast = replace(anonymous([0, 1, 1, 2]), question=Question("q", "nominal", 0, 2))
    assert settle("proportion", cast).value == pytest.approx([0.25])
    assert settle("proportion(top=1)", cast).value == pytest.approx([0.5])
    with pytest.raises(UsageError, match="have none"):
        settle("unanimous(allowing=1)", cast)


def test_counted_votes_are_that_many(settle: Settle, votes: Cast) -> None:
    rows = [(0, -1, 1.0), (0, -1, 0.5), (1, -1, 1.0)]
    cast = votes(rows, n=[3, 1, 4], question=Question("q", "ordinal", 0, 1))
    assert settle("proportion", cast).value == pytest.approx([0.75, 1])
    assert settle("unanimous", cast).value == pytest.approx([0, 1])
    assert settle("unanimous(least=3, allowing=0.5)", cast).value == pytest.approx([1, 1])
    assert list(settle("any_relevant", cast).n) == [4, 4]


@pytest.mark.parametrize("rule", ["proportion", "any_relevant", "unanimous"])
def test_a_scale_without_end_has_no_top(settle: Settle, anonymous: Cast, rule: str) -> None:
    with pytest.raises(DataError, match="no upper end"):
        settle(rule, anonymous([1, 2]))
    assert settle(f"{rule}(top=2)", anonymous([2, 2])).value == pytest.approx([1])
