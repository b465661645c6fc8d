"""BT.500: a table worked by hand, the verdicts of another implementation, and planted spammers."""

from __future__ import annotations

from collections.abc import Callable
from statistics import mean, stdev

import numpy as np
import pytest

from sightline.records import Votes

Tabled = Callable[..., Votes]
Excluded = Callable[..., dict[str, str]]


def test_a_table_by_hand(excluded: Excluded) -> None:
    # Ten viewers vote 2 2 2 3 3 3 3 4 4 and x. With x = 6: sum 32, mean 3.2, squared deviations
    # 3 (1.44) + 4 (.04) + 2 (.64) + 7.84 = 13.6, s = sqrt(13.6 / 9) = 1.2293. Fourth powers
    # 3 (2.0736) + 4 (.0016) + 2 (.4096) + 61.4656 = 68.512; kurtosis 10 (68.512) / 13.6^2 = 3.704, within
    # 2 to 4; 6 - 3.2 = 2.8 is more than 2 s = 2.459: far above. x = 0 mirrors it (votes 6 - v): far below.
    high = [2.0, 2, 2, 3, 3, 3, 3, 4, 4, 6]
    low = [6 - vote for vote in high]
    plain = [2.0, 2, 2, 3, 3, 3, 3, 4, 4, 3]
    table = np.array([high, low] * 2 + [plain] * 16).T
    # The last viewer: P = 2 and Q = 2 of 20 presentations, share .2, asymmetry 0. Nobody else is ever far.
    assert excluded("bt500", table) == {
        "a9": "2 judgements far above and 2 far below the mean of 20 presentations: 20.0% above 0.05, "
        "asymmetry 0.00 below 0.3"
    }
    assert excluded("bt500(least=21)", table) == {}
    assert excluded("bt500(outlying=0.2)", table) == {}
    # Always too high is a habit, not carelessness: P = 4, Q = 0.
    lenient = np.array([high] * 4 + [plain] * 16).T
    assert excluded("bt500", lenient) == {}


def test_few_viewers_or_equal_votes_are_no_ground(excluded: Excluded) -> None:
    table = np.tile([0.1 + 0.2, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3], (40, 1)).T
    assert excluded("bt500", table) == {}
    far = np.where(np.arange(40) % 2 == 0, 1.0, 5.0)
    assert excluded("bt500", np.vstack([np.full((4, 40), 3.0), far])) == {}


def invented() -> np.ndarray:
    """24 viewers x 40 items; 3 and 17 go astray on every third item, 5 is lenient throughout."""
    viewer, item = np.indices((24, 40))
    base = 1 + (item * 7) % 13 / 3
    noise = ((viewer * 31 + item * 17 + viewer * item * 7) % 23 + (viewer * 5 + item * 29) % 19 - 20) / 15
    astray = ((viewer == 3) | (viewer == 17)) & (item % 3 == 0)
    votes = np.where(astray, base + np.where(item % 2 == 0, 1.9, -1.9), base + noise)
    return np.round(votes + np.where(viewer == 5, 1.3, 0.0), 1)


def test_sureal_rejects_the_same_viewers(excluded: Excluded) -> None:
    """sureal 0.9.0, BT500Model, rejects viewers 3 and 17 of this table.

    It divides by n for the standard deviation, the recommendation by n - 1, so that its counts of far votes
    are a little higher (11 each, here 9); those of the recommendation are counted one by one below.
    """
    table = invented()
    found = excluded("bt500", table)
    assert set(found) == {"a3", "a17"}
    for viewer in (3, 17):
        p, q = literally(table, viewer)
        assert found[f"a{viewer}"].startswith(f"{p} judgements far above and {q} far below the mean of 40 ")
    assert literally(table, 5)[0] > 4 and literally(table, 5)[1] == 0


def literally(table: np.ndarray, viewer: int) -> tuple[int, int]:
    p = q = 0
    for column in table.T.tolist():
        middle, spread = mean(column), stdev(column)
        second = sum((vote - middle) ** 2 for vote in column) / len(column)
        fourth = sum((vote - middle) ** 4 for vote in column) / len(column)
        far = spread * (2 if 2 <= fourth / second**2 <= 4 else 20**0.5)
        p += column[viewer] >= middle + far
        q += column[viewer] <= middle - far
    return p, q


def test_occasions_are_presentations_and_gaps_do_not_matter(tabled: Tabled, excluded: Excluded) -> None:
    table = invented()
    # The second half of the items as second repetitions of the first half: the same 40 presentations.
    folded = tabled(table, repetition=np.broadcast_to(np.arange(40) // 20, table.shape))
    folded.item[:] %= 20
    assert excluded("bt500", folded) == excluded("bt500", table)
    gaps = table.copy()
    gaps[0, ::2] = np.nan
    assert set(excluded("bt500", gaps)) == {"a3", "a17"}


@pytest.mark.parametrize("seed", range(3))
def test_planted_spammers_are_found_and_honest_people_kept(seed: int, excluded: Excluded) -> None:
    """24 viewers, 100 items on a scale to 5; honest ones within .5 (SD), three at random 1 to 5.

    At random on this scale is often beyond 2 s though seldom beyond sqrt(20) s, which applies where the
    spammers themselves fatten the tails: on average two of three are found, and nobody honest is lost.
    """
    caught = stayed = 0
    for repeat in range(10):
        rng = np.random.default_rng(100 * seed + repeat)
        good = rng.uniform(2.5, 3.5, 100)
        table = good + rng.normal(0, 0.5, (24, 100))
        table[21:] = rng.uniform(1, 5, (3, 100))
        who = excluded("bt500", table)
        caught += sum(int(name[1:]) >= 21 for name in who)
        stayed += 21 - sum(int(name[1:]) < 21 for name in who)
    assert caught >= 20 and stayed >= 208, f"{caught} of 30 found, {stayed} of 210 kept"
