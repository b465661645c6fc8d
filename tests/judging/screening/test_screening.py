"""Who is left out, and with which numbers."""

from __future__ import annotations

import numpy as np

from sightline import registry
from sightline.records import AnnotatorKey, Controls, Exclusion, Question, Votes


def panel(*columns: list[float]) -> Votes:
    """Votes from one column of values an annotator; NaN is not asked."""
    table = np.array(columns, dtype=np.float64)
    who, item = np.nonzero(~np.isnan(table))
    return Votes(
        item,
        who,
        table[who, item],
        np.ones(len(who), dtype=np.int64),
        np.zeros(len(who), dtype=np.int64),
        np.full(len(who), np.nan),
        np.zeros(len(who), dtype=np.bool_),
        np.zeros(len(who), dtype=np.int64),
        table.shape[1],
        [AnnotatorKey("panel", f"a{number}") for number in range(len(columns))],
        Question("q"),
    )


def excluded(rule: str, votes: Votes, controls: Controls | None = None) -> dict[str, str]:
    found: list[Exclusion] = registry.configure("screening", rule).load()(votes, controls)
    return {each.annotator.name: each.reason for each in found}


RISING = [float(value) for value in range(10)]


def test_who_contradicts_the_others_is_excluded_with_the_number() -> None:
    found = excluded("agreement_with_rest", panel(RISING, RISING, RISING, RISING, RISING[::-1]))
    assert found == {"a4": "correlation with the others -1.00 over 10 items, below 0.2"}


def test_one_spiteful_vote_more_does_not_excuse_the_first() -> None:
    # Two of five reversed: the others' mean still rises for the reversed ones.
    found = excluded("agreement_with_rest", panel(RISING, RISING, RISING, RISING[::-1], RISING[::-1]))
    assert set(found) == {"a3", "a4"}


def test_few_common_items_are_no_ground() -> None:
    assert excluded("agreement_with_rest", panel(RISING[:9], RISING[8::-1])) == {}
    assert set(excluded("agreement_with_rest(least=9)", panel(RISING[:9], RISING[8::-1]))) == {"a0", "a1"}


def test_no_spread_is_left_to_the_rule_for_it() -> None:
    votes = panel(RISING, RISING, [3.0] * 10)
    assert excluded("agreement_with_rest", votes) == {}
    assert excluded("one_value", votes) == {"a2": "gave 3 in all of 10 judgements"}
    assert excluded("one_value(least=11)", votes) == {}


CONTROLS = Controls(
    np.array([0, 1, 2, 3]), np.array([1.0, 0.0, 1.0, 0.0]), np.zeros(4), ["known"] * 4, ["known"] * 4
)


def test_who_fails_the_controls_is_excluded() -> None:
    # Right on all: kappa 1. Right on two of four with even shares: observed 1/2, chance 1/2, kappa 0.
    votes = panel([1, 0, 1, 0, 1], [1, 1, 0, 0, 1], [1, np.nan, np.nan, np.nan, 1])
    assert excluded("control_kappa(least=4)", votes, CONTROLS) == {
        "a1": "kappa with the control answers 0.00 over 4 items, not above 0.4"
    }


def test_controls_without_variety_are_right_if_all_are_right() -> None:
    controls = Controls(np.array([0, 1]), np.array([1.0, 1.0]), np.zeros(2), ["known"] * 2, ["known"] * 2)
    assert excluded("control_kappa(least=2)", panel([1, 1], [1, 0]), controls).keys() == {"a1"}


def test_tolerance_counts_as_right() -> None:
    controls = Controls(CONTROLS.item, CONTROLS.expected, np.full(4, 0.5), CONTROLS.kind, CONTROLS.by)
    votes = panel([0.6, 0.4, 1.4, -0.5])
    assert excluded("control_kappa(least=4)", votes, controls) == {}
    assert "a0" in excluded("control_kappa(least=4)", votes, CONTROLS)


def test_without_controls_nobody_is_excluded() -> None:
    assert excluded("control_kappa", panel(RISING), None) == {}
