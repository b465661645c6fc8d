"""Rules that look at how people vote: in step with their session, in time, to the end."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from sightline.records import AnnotatorKey, Votes

Tabled = Callable[..., Votes]
Excluded = Callable[..., dict[str, str]]

RISING = np.arange(20.0)


def test_a_viewer_out_of_step_in_half_of_the_sessions_is_out(tabled: Tabled, excluded: Excluded) -> None:
    # Two sessions of 20 items. Viewer 5 reverses the second; 6 reverses both.
    table = np.array([[*RISING, *RISING]] * 7)
    table[5, 20:] = RISING[::-1]
    table[6] = [*RISING[::-1], *RISING[::-1]]
    sessions = np.broadcast_to(np.arange(40) // 20, table.shape)
    votes = tabled(table, session=sessions)
    assert excluded("session_correlation", votes) == {
        "a5": "correlation with the others below 0.2 in 1 of 2 sessions, lowest -1.00",
        "a6": "correlation with the others below 0.2 in 2 of 2 sessions, lowest -1.00",
    }
    assert set(excluded("session_correlation(share=0.6)", votes)) == {"a6"}
    assert excluded("session_correlation(least=21)", votes) == {}
    # As one session, viewer 5 correlates at .0 and viewer 6 at -1.
    assert set(excluded("session_correlation", table)) == {"a5", "a6"}


def test_a_session_without_spread_is_no_ground(excluded: Excluded) -> None:
    assert excluded("session_correlation", [RISING, RISING, np.full(20, 3.0)]) == {}


def test_who_contradicts_the_others_is_out(excluded: Excluded) -> None:
    up, down = RISING[:10], RISING[9::-1]
    assert excluded("agreement_with_rest", [up, up, up, up, down]) == {
        "a4": "correlation with the others -1.00 [-1.00, -1.00] over 10 items, surely below 0.5"
    }
    # Two of five reversed: the others' mean still rises for the reversed ones.
    assert set(excluded("agreement_with_rest", [up, up, up, down, down])) == {"a3", "a4"}
    few = [up[:9], down[1:]]
    assert excluded("agreement_with_rest", few) == {}
    assert set(excluded("agreement_with_rest(least=9)", few)) == {"a0", "a1"}
    # No spread is left to the rule for it.
    flat = [up, up, [3.0] * 10]
    assert excluded("agreement_with_rest", flat) == {}
    assert excluded("one_value", flat) == {"a2": "gave 3 in all of 10 judgements"}
    assert excluded("one_value(least=11)", flat) == {}


@pytest.mark.parametrize("items", [10, 30, 100])
@pytest.mark.parametrize("item_sd", [0.3, 0.6, 1.0])
def test_honest_people_stay_however_little_items_differ(
    items: int, item_sd: float, tabled: Tabled, excluded: Excluded
) -> None:
    """Three people with noise of SD .7 on five points, items near the upper end: up to 62 % were lost."""
    rng = np.random.default_rng(items)
    lost = 0
    for _ in range(60):
        level = rng.normal(4, item_sd, items)
        table = np.clip(np.round(level + rng.normal(0, 0.7, (3, items))), 1, 5)
        lost += len(excluded("agreement_with_rest", tabled(table)))
        lost += len(excluded("agreement_with_rest(below=0.3)", tabled(table)))
    assert lost <= 0.05 * 2 * 60 * 3


def test_who_is_too_fast_is_out(tabled: Tabled, excluded: Excluded) -> None:
    table = np.zeros((5, 10))
    times = np.array([[4000.0] * 10, [3000.0] * 10, [5000.0] * 10, [900.0] * 10, [100.0] * 9 + [np.nan]])
    votes = tabled(table, took_ms=times)
    # Medians of those with ten times: 4000, 3000, 5000, 900; their median 3500, a quarter of it 875.
    assert excluded("speed", votes) == {}
    assert excluded("speed(share=0.3)", votes) == {
        "a3": "median 900 ms over 10 judgements, below 0.3 of the panel's median 3500 ms"
    }
    assert excluded("speed(least_ms=1000)", votes) == {
        "a3": "median 900 ms over 10 judgements, below 1000 ms"
    }
    # The fifth has nine times only; counted, the pace is 3000 and a quarter of it 750.
    assert set(excluded("speed(least=9)", votes)) == {"a4"}
    pair = tabled(table[:2], took_ms=[[4000.0] * 10, [10.0] * 10])
    assert excluded("speed", pair) == {}, "two people have no usual pace"
    assert set(excluded("speed(least_ms=400)", pair)) == {"a1"}
    assert excluded("speed(least_ms=400)", table) == {}, "no times, no ground"


def test_who_did_not_finish_is_out(tabled: Tabled, excluded: Excluded) -> None:
    table = np.ones((3, 20))
    table[1, 0] = np.nan
    table[2, 5:] = np.nan
    votes = table
    assert excluded("unfinished", votes) == {
        "a1": "judged 19 of 20 items, fewer than 100%",
        "a2": "judged 5 of 20 items, fewer than 100%",
    }
    assert set(excluded("unfinished(share=0.95)", votes)) == {"a2"}
    assert excluded("unfinished(least=21)", votes) == {}
    # Control items are put to people at random, and are not part of what there is to finish.
    control = np.broadcast_to(np.arange(20) == 0, table.shape)
    assert set(excluded("unfinished", tabled(table, control=control))) == {"a2"}
    # An item judged twice is one item.
    folded = tabled(table[[0, 2]], repetition=np.broadcast_to(np.arange(20) // 10, (2, 20)))
    folded.item[:] %= 10
    assert excluded("unfinished", folded)["a1"] == "judged 5 of 10 items, fewer than 100%"


def test_each_panel_is_measured_by_its_own(tabled: Tabled, excluded: Excluded) -> None:
    table = np.full((4, 30), np.nan)
    table[:2, :10] = 1.0
    table[2:, 10:] = 1.0
    table[3, 25:] = np.nan
    votes = tabled(table)
    votes.annotators[:] = [AnnotatorKey(f"test{number // 2}", f"a{number}") for number in range(4)]
    assert excluded("unfinished", votes) == {"a3": "judged 15 of 20 items, fewer than 100%"}


@pytest.mark.parametrize(
    ("rule", "found", "kept"),
    [
        ("session_correlation", 0.99, 0.99),
        ("agreement_with_rest", 0.95, 0.99),
        ("speed", 0.99, 0.99),
        ("unfinished(share=0.9)", 0.99, 0.99),
        ("one_value", 0.99, 0.99),
    ],
)
def test_planted_spammers_are_found_and_honest_people_kept(
    rule: str, found: float, kept: float, tabled: Tabled, excluded: Excluded
) -> None:
    """Ten panels of 20 honest people (r of about .8 with the others, 3 s an item, log-normal) and 4 spammers.

    60 items in two sessions. Spammers vote at random (for one_value: always the same), take .3 s, and stop
    after half; honest people skip one item in 50. `found` and `kept` are the least shares.
    """
    caught = stayed = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        table = np.round(rng.normal(3, 1, 60) + rng.normal(0, 0.7, (24, 60)), 1)
        table[20:] = 3.0 if rule == "one_value" else rng.uniform(1, 5, (4, 60))
        took = np.exp(rng.normal(np.log(3000), 0.6, table.shape))
        took[20:] = np.exp(rng.normal(np.log(300), 0.6, (4, 60)))
        table[:20][rng.random((20, 60)) < 0.02] = np.nan
        if rule.startswith("unfinished"):
            table[20:, 30:] = np.nan
        votes = tabled(table, took_ms=took, session=np.broadcast_to(np.arange(60) // 30, table.shape))
        who = excluded(rule, votes)
        caught += sum(int(name[1:]) >= 20 for name in who)
        stayed += 20 - sum(int(name[1:]) < 20 for name in who)
    assert caught >= found * 40, f"{caught} of 40 spammers found"
    assert stayed >= kept * 200, f"{stayed} of 200 honest people kept"
