"""Items near completion come first, a pilot set goes to everybody, and who is missing is known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sightline.judging import assignment
from sightline.judging.store import answering, overseeing, round_numbers, rounds, tokens
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.rounds import NewItem, NewSlot, Round
from sightline.records import Prompt, PromptKey, Question
from sightline.study.schema import database
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

ITEMS = 40
ASKED = Question("fits", "nominal", 0, 1, 1, {"1": "yes", "0": "no"})
SETTINGS: dict[str, Any] = {
    "per_item": 2, "session_pages": 500, "rest_minutes": 5, "ahead": 3, "hold_hours": 1, "repeat": 0,
}  # fmt: skip


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        prompts = [Prompt(PromptKey("s", str(n)), f"p {n}") for n in range(ITEMS)]
        load(made, prompts, importer="t", path="t", digest="t")
        yield made


def opened(study: Study, **more: Any) -> Round:
    items = [NewItem("work", [NewSlot((n + 1, 0, 0, 0, 0))]) for n in range(ITEMS)]
    return rounds.open_round(study, "r", "yes_no", [ASKED], {**SETTINGS, **more}, 7, items)


def person(study: Study, name: str) -> int:
    with database.writing(study.engine) as connection:
        return tokens.annotator(connection, name)


def judge(study: Study, round_: Round, who: int, most: int, skipped: str | None = None) -> list[int]:
    """Judge so many tasks; gives the items in order."""
    seen: list[int] = []
    while len(seen) < most:
        with database.writing(study.engine) as connection:
            assigned = assignment.assign(connection, round_, who, "annotator", datetime.now(UTC))
            if not assigned.tasks:
                break
            task = assigned.tasks[0]
            value = None if skipped else 1.0
            answer = SubmittedAnswer(f"{who}-{task.key}", task.key, 0, "fits", value, skipped, 9)
            answering.record_answers(connection, round_, who, [answer], "2026-01-01T00:00:00Z")
        seen.append(task.round_item_id)
    return seen


def test_the_second_person_gets_what_the_first_has_judged(study: Study) -> None:
    round_ = opened(study)
    ann, bob = person(study, "ann"), person(study, "bob")
    first = judge(study, round_, ann, 12)
    assigned = {*first, *(task.round_item_id for task in open_tasks(study, round_, ann))}
    second = judge(study, round_, bob, 10)
    # All of them, in another order: agreement rests on ten items after 22 answers, not on three.
    assert set(second) <= assigned and second != sorted(second)
    # Before, each of them would have had 12 and 10 items of 40, and three in common.
    assert len(set(second) & assigned) == 10
    # In the end everything is judged twice, never three times.
    judge(study, round_, ann, 99)
    judge(study, round_, bob, 99)
    with database.reading(study.engine) as connection:
        done = database.fetch(connection, "SELECT done, given FROM round_item")
    assert set(done) == {(2, 2)}


def open_tasks(study: Study, round_: Round, who: int) -> list[Any]:
    from sightline.judging.store.tasks import open_tasks as stored

    with database.reading(study.engine) as connection:
        return stored(connection, round_.id, who)


def test_the_same_seed_gives_the_same_order(study: Study) -> None:
    round_ = opened(study)
    first = judge(study, round_, person(study, "ann"), 8)
    with create_study(study.home.parent / "other") as other:
        prompts = [Prompt(PromptKey("s", str(n)), f"p {n}") for n in range(ITEMS)]
        load(other, prompts, importer="t", path="t", digest="t")
        assert judge(other, opened(other), person(other, "ann"), 8) == first


def test_a_pilot_set_goes_to_everybody_first(study: Study) -> None:
    round_ = opened(study, overlap=5, per_item=1)
    people = [person(study, name) for name in ("ann", "bob", "eve")]
    orders = [judge(study, round_, who, 5) for who in people]
    assert all(sorted(order) == [1, 2, 3, 4, 5] for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    rest = [item for who in people for item in judge(study, round_, who, 99)]
    # What is not of the set is judged once.
    assert Counter(rest) == Counter(range(6, ITEMS + 1))


def test_how_many_more_people_are_needed(study: Study) -> None:
    round_ = opened(study, per_item=3)
    assert round_numbers.people_missing(study, round_.id) == 3
    ids = {}
    for name in ("ann", "bob"):
        ids[name] = person(study, name)
        tokens.issue_token(study, "annotator", 1, ids[name], round_.id)
    assert round_numbers.people_missing(study, round_.id) == 1
    # A control annotator judges no work.
    with database.writing(study.engine) as connection:
        expert = tokens.annotator(connection, "expert", "control")
    tokens.issue_token(study, "control", 1, expert, round_.id)
    assert round_numbers.people_missing(study, round_.id) == 1
    judge(study, round_, ids["ann"], 2, skipped="no idea")
    # What ann has skipped, bob alone can still judge.
    assert round_numbers.people_missing(study, round_.id) == 2
    with database.writing(study.engine) as connection:
        overseeing.leave_out(connection, ids["bob"], "away")
    assert round_numbers.people_missing(study, round_.id) == 3


def test_nobody_rests_after_the_last_task(study: Study) -> None:
    round_ = opened(study, per_item=1, session_pages=ITEMS // 2)
    ann = person(study, "ann")
    judge(study, round_, ann, ITEMS // 2)
    with database.writing(study.engine) as connection:
        resting = assignment.assign(connection, round_, ann, "annotator", datetime(2026, 1, 1, tzinfo=UTC))
        assert resting.state == "rest" and resting.rest_until == "2026-01-01T00:05:00Z"
    judge(study, round_, ann, ITEMS // 2)
    with database.writing(study.engine) as connection:
        last = assignment.assign(connection, round_, ann, "annotator", datetime(2026, 1, 1, tzinfo=UTC))
    assert (last.state, last.rest_until) == ("finished", None)
