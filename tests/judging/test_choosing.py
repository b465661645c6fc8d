"""Adaptive choice on both databases: what is open comes first, nothing is left out, all can be repeated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sightline import registry
from sightline.judging import assignment, choosing
from sightline.judging.choosing import belief_of, last_checkpoint, sets_of
from sightline.judging.store import rounds, tokens
from sightline.judging.store.comparisons import Vote
from sightline.judging.store.rounds import NewItem, NewSlot, Round
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Record,
)
from sightline.statistics.next_comparison import belief_from_votes
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.writing.loading import Loaded
from sightline.study.writing.undoing import undo_within

Put = Callable[..., Loaded]
SYSTEMS = "abcd"
PROMPTS = 30
SETTINGS: dict[str, Any] = {
    "per_item": 1, "session_pages": 500, "rest_minutes": 0, "ahead": 40, "hold_hours": 1, "repeat": 0,
    "controls": {"pages": 0, "of": 5}, "choose": "adaptive",
}  # fmt: skip
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def filled(study: Study, put: Put) -> Study:
    """Thirty prompts, each answered by four systems; image 4 p + s + 1 is that of system s."""
    records: list[Record] = []
    for number in range(PROMPTS):
        key = PromptKey("s", str(number))
        records.append(Prompt(key, f"text {number}"))
        for system in SYSTEMS:
            image = ImageKey("c", f"{number}{system}")
            records += [Image(image), Answer(key, system, 0, image)]
    put(study, records, batch=500)
    return study


def voted(question: str, **outcomes: int) -> list[Record]:
    """Ten votes of ten people between two systems, so many of them for the first: `ab=9`."""
    asked = registry.configure("annotation_mode", question).load()().questions[0]
    return [
        asked,
        *(
            Judgement(
                question,
                Item(PromptKey("s", "0"), pair[0], system_b=pair[1]),
                0.0 if number < wins else 1.0,
                AnnotatorKey("crowd", str(number)),
            )
            for pair, wins in outcomes.items()
            for number in range(10)
        ),
    ]


def pairs_round(study: Study, **settings: Any) -> Round:
    """All pairs of every prompt."""
    asked = registry.configure("annotation_mode", "preference").load()().questions
    items = [
        NewItem("work", [NewSlot((p + 1, 0, 4 * p + a + 1, 4 * p + b + 1, 0))])
        for p in range(PROMPTS)
        for a, b in combinations(range(4), 2)
    ]
    order = np.random.default_rng(0).permutation(len(items))
    return rounds.open_round(
        study, "r", "preference", asked, {**SETTINGS, **settings}, 3, [items[int(n)] for n in order]
    )


def compared(study: Study, round_: Round, name: str = "ann") -> list[str]:
    """The systems that somebody's open tasks compare, in order."""
    with database.writing(study.engine) as connection:
        who = tokens.annotator(connection, name)
        tasks = assignment.assign(connection, round_, who, "annotator", NOON).tasks
    return [
        "".join(sorted(SYSTEMS[(image - 1) % 4] for slot in task.slots for image in slot.parts))
        for task in tasks
    ]


CLEAR = {"ab": 10, "ac": 10, "ad": 10, "bc": 10, "bd": 10, "cd": 5}
"""c and d are even; everything else is clear."""


def test_the_close_pair_is_compared_first(filled: Study, put: Put) -> None:
    put(filled, voted("preference", **CLEAR), digest="votes", batch=500)
    found = Counter(compared(filled, pairs_round(filled)))
    # All of the thirty pairs of c and d are among forty tasks; at random there would be 40 / 6.
    assert found["cd"] >= 25 and found.most_common(1)[0][0] == "cd"


def test_random_stays_as_it_was(filled: Study, put: Put) -> None:
    put(filled, voted("preference", **CLEAR), digest="votes", batch=500)
    assert Counter(compared(filled, pairs_round(filled, choose="random")))["cd"] < 15


def test_without_votes_every_pair_comes(filled: Study) -> None:
    assert set(compared(filled, pairs_round(filled))) == {a + b for a, b in combinations(SYSTEMS, 2)}


def test_nothing_is_left_out_and_nothing_comes_twice(filled: Study, put: Put) -> None:
    put(filled, voted("preference", **CLEAR), digest="votes", batch=500)
    found = Counter(compared(filled, pairs_round(filled, ahead=1000)))
    assert found == {a + b: PROMPTS for a, b in combinations(SYSTEMS, 2)}


def test_another_server_chooses_the_same(filled: Study, put: Put) -> None:
    put(filled, voted("preference", **CLEAR), digest="votes", batch=500)
    round_ = pairs_round(filled, ahead=20)
    first = compared(filled, round_)
    with database.writing(filled.engine) as connection:
        connection.exec_driver_sql("DELETE FROM task_slot")
        connection.exec_driver_sql("DELETE FROM task")
        connection.exec_driver_sql("UPDATE round_item SET given = 0")
    choosing._known.clear()
    assert compared(filled, round_) == first
    assert compared(filled, round_, "bob") != first


def test_a_belief_is_fitted_once_between_checkpoints(
    filled: Study, put: Put, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted = []
    monkeypatch.setattr(
        choosing, "belief_of", lambda *given: fitted.append(len(given[0])) or belief_of(*given)
    )
    put(filled, voted("preference", ab=10, ac=10, ad=10), digest="1")
    round_ = pairs_round(filled)
    compared(filled, round_)
    compared(filled, round_, "bob")
    # Of thirty votes the first twenty count, until there are forty.
    assert fitted == [20]
    put(filled, voted("preference", bc=10), digest="2")
    compared(filled, round_, "eve")
    assert fitted == [20, 40]
    with database.writing(filled.engine) as connection:
        undo_within(connection, 3)
    compared(filled, round_, "sue")
    assert fitted == [20, 40, 20], "nothing of an import that was undone is remembered"


def test_excluded_annotators_do_not_count(filled: Study, put: Put, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[set[object]] = []
    monkeypatch.setattr(
        choosing,
        "belief_of",
        lambda *given: seen.append({v.annotator_id for v in given[0]}) or belief_of(*given),
    )
    put(filled, voted("preference", **CLEAR), digest="votes", batch=500)
    with database.writing(filled.engine) as connection:
        connection.exec_driver_sql("UPDATE annotator SET excluded = 'too fast' WHERE name = '3'")
    compared(filled, pairs_round(filled))
    assert [len(each) for each in seen] == [9]


def test_orders_of_close_systems_come_first(filled: Study, put: Put) -> None:
    asked = registry.configure("annotation_mode", "order").load()().questions
    ranks = [
        Judgement(
            "order", Item(PromptKey("s", "0"), system), rank, AnnotatorKey("crowd", str(n)), group=f"g{n}"
        )
        for n in range(20)
        for system, rank in zip(SYSTEMS, (1, 2, 3, 3) if n % 2 else (1, 2, 4, 3), strict=True)
    ]
    put(filled, [*asked, *ranks], digest="orders", batch=500)
    items = [
        NewItem("work", [NewSlot((p + 1, 0, 4 * p + n + 1, 0, 0)) for n in three])
        for p in range(PROMPTS)
        for three in combinations(range(4), 3)
    ]
    order = np.random.default_rng(0).permutation(len(items))
    settings = {**SETTINGS, "orders": True, "ahead": 30}
    round_ = rounds.open_round(filled, "r", "order", asked, settings, 3, [items[int(n)] for n in order])
    found = Counter(compared(filled, round_))
    # a is clearly first and b second; what is open is the order of c and d.
    assert found["acd"] + found["bcd"] > 22


def test_checkpoints_come_every_twenty_and_later_every_twentieth() -> None:
    assert [last_checkpoint(votes, 20) for votes in (0, 19, 20, 39, 40, 419, 420, 421)] == [
        *(0, 0, 20, 20, 40, 400, 420, 420)
    ]
    # From 420 on a twentieth is 21.
    assert [last_checkpoint(votes, 20) for votes in (440, 441, 10**6)][:2] == [420, 441]


def test_votes_become_beliefs_of_the_systems_that_are_compared() -> None:
    votes = [
        Vote(0, 1, 1, "", 0, 0.0, 1, 1, 7, 9),
        Vote(1, 2, 1, "", 0, None, 1, 1, 9, 7),
        Vote(2, None, 2, "", 0, 1.0, 3, 1, 7, 8),
        Vote(3, 1, 3, "", 0, 1.0, 1, 1, 7, 5),
        Vote(4, 1, 4, "", 0, 1.0, 1, 1, 7, 7),
    ]
    # 7 before 9 once, a tie that was called both bad, 8 before 7 three times; 5 is not in this round.
    expected = belief_from_votes([0, 2, 0, 0, 0], [2, 0, 1, 1, 1], [1, 0.5, 0, 0, 0], 3)
    assert belief_of(votes, [7, 8, 9], False).strength == pytest.approx(expected.strength)
    assert belief_of([], [7, 8, 9], True).strength.tolist() == [0, 0, 0]


def test_items_that_compare_the_same_systems_are_one_set() -> None:
    found = sets_of({11: (1, 2), 12: (2, 5), 13: (1, 2)})
    assert found.systems == [1, 2, 5] and list(found.items) == [[11, 13], [12]]
    assert found.members.tolist() == [[1, 1, 0], [0, 1, 1]]
