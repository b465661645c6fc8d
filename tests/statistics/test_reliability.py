"""Intraclass correlation: the published table, pingouin's figures, and how often its limits cover."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.reliability import FORMS, icc, icc_one_way

# Shrout and Fleiss (1979), table 2: six targets, four judges.
PUBLISHED = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
DRAWN = [
    [2.0, 2.7, 3.8, 2.1, 2.7], [1.5, 2.0, 2.1, 3.3, 2.3], [2.7, 2.5, 2.8, 0.9, 2.3],
    [1.8, 1.9, 1.1, 1.9, 1.4], [1.7, 3.1, 2.1, 2.7, 3.3], [1.3, 1.6, 2.3, 2.2, 1.1],
    [2.9, 3.8, 2.1, 3.9, 3.2], [3.6, 5.6, 5.2, 3.6, 4.5],
]  # fmt: skip
# pingouin 0.6.1, intraclass_corr, limits not rounded; in the order of FORMS.
BY_PINGOUIN = [
    (
        PUBLISHED,
        [
            (0.1657417684054755, -0.13293232487475096, 0.7225600623281211),
            (0.28976377952755916, 0.01878651337471204, 0.7610843696489529),
            (0.7148407148407154, 0.34246476503392614, 0.9458582599553597),
            (0.44279713367926876, -0.8844421552381196, 0.9124154203407755),
            (0.6200505475989893, 0.07113681530250346, 0.9272320401677219),
            (0.9093155423770697, 0.6756747138163055, 0.9858916781690623),
        ],
    ),
    (
        DRAWN,
        [
            (0.6165306311737702, 0.3178046226112577, 0.8845555585668605),
            (0.6170933244576939, 0.31958252223578304, 0.8846066933404476),
            (0.6216543238672811, 0.31624568630374744, 0.8872366977302932),
            (0.889366470430827, 0.6996346321330492, 0.9745617478665025),
            (0.8896005006780016, 0.7013525471720176, 0.9745741613951224),
            (0.8914863192400323, 0.6981194160791051, 0.9752111186495387),
        ],
    ),
]


def test_the_published_table():
    found = [round(one.value, 2) for one in icc(PUBLISHED).values()]
    assert found == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]


@pytest.mark.parametrize(("table", "figures"), BY_PINGOUIN)
def test_values_and_limits_are_those_of_pingouin(table, figures):
    found = icc(table)
    assert tuple(found) == FORMS
    for one, figure in zip(found.values(), figures, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx(figure, abs=1e-10)
        assert one.n == len(table)


def test_unequal_votes_by_hand():
    # Items (1, 3), (5, 7, 6), and one with a single vote, which is left out. Means 2 and 6, all 22/5 = 4.4.
    # Between: 2 (2.4^2) + 3 (1.6^2) = 19.2, 1 degree of freedom; within: 2 + 2 = 4, 5 - 2 = 3 of them: 4/3.
    # k = (5 - 13/5) / 1 = 2.4. (19.2 - 4/3) / (19.2 + 1.4 x 4/3) = .84810.
    found = icc_one_way([0, 0, 1, 1, 1, 2], [1, 3, 5, 7, 6, 9])
    assert found["ICC(1,1)"].value == pytest.approx((19.2 - 4 / 3) / (19.2 + 1.4 * 4 / 3), abs=1e-12)
    assert found["ICC(1,k)"].value == pytest.approx(1 - (4 / 3) / 19.2, abs=1e-12)
    assert found["ICC(1,1)"].n == 2
    # Counted votes are as good as single ones.
    counted = icc_one_way([0, 0, 1, 1], [1, 3, 5, 6], n=[2, 1, 1, 2])
    single = icc_one_way([0, 0, 0, 1, 1, 1], [1, 1, 3, 5, 6, 6])
    assert counted["ICC(1,1)"].value == pytest.approx(single["ICC(1,1)"].value, abs=1e-12)
    assert counted["ICC(1,1)"].low == pytest.approx(single["ICC(1,1)"].low, abs=1e-12)


def test_a_missing_vote_leaves_the_one_way_forms():
    table = np.array(PUBLISHED, dtype=float)
    table[0, 0] = np.nan
    found = icc(table)
    assert found["ICC(2,1)"].reason == "1 of 24 votes are missing, and this form needs all"
    assert found["ICC(2,1)"].value is None and found["ICC(3,k)"].value is None
    row, column = np.nonzero(~np.isnan(table))
    assert found["ICC(1,1)"] == icc_one_way(row, table[row, column])["ICC(1,1)"]
    # Nobody is missing where a whole row or column is empty: that item or annotator was not there.
    empty = np.full((7, 5), np.nan)
    empty[:6, :4] = PUBLISHED
    assert icc(empty) == icc(PUBLISHED)


def test_undefined_reliability_says_why():
    assert {one.reason for one in icc([[3, 3], [3, 3]]).values()} == {"all votes are equal"}
    assert icc_one_way([], [])["ICC(1,1)"].reason == "no item has two votes"
    assert icc_one_way([0, 0], [1, 2])["ICC(1,k)"].reason == "only one item has two votes"
    assert icc([[1], [2]])["ICC(3,1)"].value is None
    # (1, 2) and (2, 1): means do not differ at all, so that a mean of votes tells nothing.
    even = icc([[1, 2], [2, 1]])
    assert even["ICC(1,1)"].value == -1 and "do not differ" in even["ICC(1,k)"].reason
    assert "do not differ" in even["ICC(2,1)"].reason
    # A constant bias: consistent to the last, with nothing left to estimate an error from.
    shifted = icc([[1, 5], [2, 6], [4, 8]])
    assert shifted["ICC(3,1)"].value == pytest.approx(1) and shifted["ICC(3,1)"].low is None
    assert shifted["ICC(2,1)"].value < 0.3
    with pytest.raises(ValueError, match="items x annotators"):
        icc([1, 2, 3])


@given(st.integers(0, 10_000), st.floats(-50, 50), st.floats(0.01, 100))
def test_reliability_ignores_the_unit_of_the_scale(seed, shift, factor):
    rng = np.random.default_rng(seed)
    table = rng.normal(0, 1, (6, 1)) + rng.normal(0, 1, (6, 3))
    first, second = icc(table), icc(table * factor + shift)
    for form in FORMS:
        assert second[form].value == pytest.approx(first[form].value, rel=1e-6, abs=1e-6)
        # Stepped up to k annotators, a limit below -1 / (k - 1) has no value (as with seed 700).
        lows = [each[form].low for each in (first, second)]
        assert lows == [None, None] or lows[1] == pytest.approx(lows[0], rel=1e-6, abs=1e-6)
        if form.endswith(",1)"):
            assert first[form].low <= first[form].value <= first[form].high <= 1
    # Bias of annotators does not count in the third form, and only there.
    biased = icc(table + np.array([0, 3, -2]))
    assert biased["ICC(3,1)"].value == pytest.approx(first["ICC(3,1)"].value, abs=1e-9)


def test_limits_cover_the_truth_as_often_as_they_say():
    """25 items (variance 1), 5 annotators (.25), noise 1: ICC(2,1) = 1/2.25, ICC(3,1) = 1/2.

    One-way with 1 to 8 votes an item and noise 1.5: ICC(1,1) = 1/3.25. 500 repeats give .95 +- .0195 (two
    standard errors); the one-way limits are approximate for unequal votes.
    """
    repeats, hits = 500, dict.fromkeys(("ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "equal", "unequal"), 0)
    absolute = 1 / 2.25
    truth = {"ICC(2,1)": absolute, "ICC(3,1)": 0.5, "ICC(2,k)": 5 * absolute / (1 + 4 * absolute)}
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        good = rng.normal(0, 1, 25)
        found = icc(good[:, None] + rng.normal(0, 0.5, 5) + rng.normal(0, 1, (25, 5)))
        for form, value in truth.items():
            hits[form] += found[form].low <= value <= found[form].high
        for name, votes in (("equal", np.full(25, 4)), ("unequal", rng.integers(1, 9, 25))):
            item = np.repeat(np.arange(25), votes)
            one = icc_one_way(item, good[item] + rng.normal(0, 1.5, item.size))["ICC(1,1)"]
            hits[name] += one.low <= 1 / 3.25 <= one.high
    assert all(0.925 <= hit / repeats <= 0.975 for hit in hits.values()), hits
