"""Orders of several images, and pairs of which both are bad, on both databases and without a server."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from sightline import registry
from sightline.judging import assignment
from sightline.judging.store import answering, rounds, tokens
from sightline.judging.store import tasks as pages
from sightline.judging.store.answering import SubmittedAnswer as Sent
from sightline.judging.store.rounds import NewItem, NewSlot, Round
from sightline.judging.truth import truth
from sightline.records import BOTH_BAD, Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study import reading, rollup
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.writing.loading import Loaded

Put = Callable[..., Loaded]
SETTINGS: dict[str, Any] = {
    "per_item": 2, "session_pages": 50, "rest_minutes": 5, "ahead": 3, "hold_hours": 1, "repeat": 0,
    "controls": {"pages": 0, "of": 5},
}  # fmt: skip
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SYSTEMS = "abcde"


@pytest.fixture
def filled(study: Study, put: Put) -> Study:
    """One prompt, answered by five systems: image n is that of the n-th."""
    key = PromptKey("s", "1")
    records: list[Record] = [Prompt(key, "a dog")]
    for system in SYSTEMS:
        image = ImageKey("c", f"{system}.png")
        records += [Image(image), Answer(key, system, 0, image)]
    put(study, records)
    return study


def opened(study: Study, mode: str, items: list[NewItem], **settings: Any) -> Round:
    asked = registry.configure("annotation_mode", mode).load()().questions
    return rounds.open_round(study, "r", mode, asked, {**SETTINGS, **settings}, 7, items)


@pytest.fixture
def orders(filled: Study) -> Round:
    """Two orders that have the images of a and b in common."""
    items = [
        NewItem("work", [NewSlot((1, 0, image, 0, 0)) for image in images])
        for images in ((1, 2, 3, 4), (1, 2, 5))
    ]
    return opened(filled, "order", items, orders=True)


def work(study: Study, round_: Round, name: str = "ann") -> tuple[int, list[pages.Task]]:
    with database.writing(study.engine) as connection:
        who = tokens.annotator(connection, name)
        return who, list(assignment.assign(connection, round_, who, "annotator", NOON).tasks)


def place(
    study: Study, round_: Round, who: int, task: pages.Task, key: str = "k", **places: float
) -> list[str]:
    """Give systems their places in a task; what became of it."""
    sent = [
        Sent(f"{key}{slot.slot}", task.key, slot.slot, "order", places[SYSTEMS[slot.parts[0] - 1]], None, 900)
        for slot in task.slots
        if SYSTEMS[slot.parts[0] - 1] in places
    ]
    with database.writing(study.engine) as connection:
        found = answering.record_answers(connection, round_, who, sent, "2026-05-01T12:00:00Z")
    return [each.reason or each.status for each in found]


def found(study: Study) -> dict[int, dict[str, float]]:
    """The orders of a study: system and rank."""
    rows = rollup.order_votes(study, "order").iter_rows(named=True)
    made: dict[int, dict[str, float]] = {}
    for row in rows:
        made.setdefault(row["group"], {})[row["system"]] = row["rank"]
    return made


def test_an_order_is_stored_as_one_group_with_ties(filled: Study, orders: Round) -> None:
    who, tasks = work(filled, orders)
    four, three = sorted(tasks, key=lambda task: -len(task.slots))
    assert {slot.repetition for task in tasks for slot in task.slots} == {0}, "an order is asked for once"
    assert place(filled, orders, who, four, a=2, b=1, c=4, d=2) == ["stored"] * 4
    assert place(filled, orders, who, three, "l", a=1, b=2, e=3) == ["stored"] * 3
    assert list(found(filled).values()) == [{"b": 1, "a": 2, "d": 2, "c": 4}, {"a": 1, "b": 2, "e": 3}]
    truth(filled, "order")
    assert len(found(filled)) == 2, "and after the truth was settled"
    assert reading.about_systems(filled) == [], "a place depends on what else was there: it is no grade"


def test_a_changed_place_is_a_revision_of_that_order_alone(filled: Study, orders: Round) -> None:
    who, tasks = work(filled, orders)
    four, three = sorted(tasks, key=lambda task: -len(task.slots))
    place(filled, orders, who, four, a=1, b=2, c=3, d=4)
    place(filled, orders, who, three, "l", a=1, b=2, e=3)
    place(filled, orders, who, four, "m", a=4, d=1)
    assert list(found(filled).values()) == [{"d": 1, "b": 2, "c": 3, "a": 4}, {"a": 1, "b": 2, "e": 3}]
    with database.reading(filled.engine) as connection:
        revised = database.fetch(connection, "SELECT count(*) FROM judgement WHERE revision = 1")
    assert revised == [(2,)]


def test_people_have_orders_of_their_own(filled: Study, orders: Round) -> None:
    for name, best in (("ann", "a"), ("bob", "b")):
        who, tasks = work(filled, orders, name)
        for number, task in enumerate(tasks):
            systems = [SYSTEMS[slot.parts[0] - 1] for slot in task.slots]
            places = {each: 1.0 if each == best else 2.0 for each in systems}
            place(filled, orders, who, task, f"k{number}-", **places)
    firsts = [[system for system, rank in each.items() if rank == 1] for each in found(filled).values()]
    assert sorted(firsts) == [["a"], ["a"], ["b"], ["b"]]


def test_an_order_has_as_many_places_as_images(filled: Study, orders: Round) -> None:
    who, tasks = work(filled, orders)
    three = min(tasks, key=lambda task: len(task.slots))
    assert place(filled, orders, who, three, e=4) == ["there are only 3 places"]
    assert place(filled, orders, who, three, e=0) == ["0 is off the scale"]
    assert place(filled, orders, who, three, e=1.5) == ["1.5 lies between the steps of 1"]
    assert place(filled, orders, who, three, e=3) == ["stored"]
    assert found(filled) == {}, "one image alone is no order"


def test_an_order_given_again_is_a_repetition_of_the_same(filled: Study) -> None:
    items = [NewItem("work", [NewSlot((1, 0, image, 0, 0)) for image in (1, 2, 3)])]
    round_ = opened(filled, "order", items, orders=True)
    who, (task,) = work(filled, round_)
    place(filled, round_, who, task, a=1, b=2, c=3)
    with database.writing(filled.engine) as connection:
        assignment._add(connection, round_, who, task.round_item_id, 1, 1, NOON)
        (again,) = pages.open_tasks(connection, round_.id, who)
    assert {slot.repetition for slot in again.slots} == {1}
    place(filled, round_, who, again, "l", a=3, b=2, c=1)
    assert list(found(filled).values()) == [{"a": 1, "b": 2, "c": 3}], "the first counts"


def test_single_images_judged_elsewhere_are_no_answer_to_an_order(filled: Study, orders: Round) -> None:
    who, tasks = work(filled, orders)
    place(filled, orders, who, tasks[0], a=1, b=2)
    with database.writing(filled.engine) as connection:
        assert assignment.adopt(connection, orders, NOON) == 0


def test_both_bad_finishes_a_task_and_is_refused_where_it_is_not_offered(filled: Study) -> None:
    items = [NewItem("work", [NewSlot((1, 0, 1, 2, 0))])]
    round_ = opened(filled, "preference(both_bad=True)", items, swaps=True, both_bad=True)
    who, (task,) = work(filled, round_)

    def tell(round_: Round, key: str, why: str) -> str:
        with database.writing(filled.engine) as connection:
            sent = [Sent(key, task.key, 0, "preference", None, why, None)]
            (receipt,) = answering.record_answers(connection, round_, who, sent, "2026-05-01T12:00:00Z")
        return receipt.reason or receipt.status

    plain = rounds.Round(**{**vars(round_), "settings": SETTINGS})
    assert tell(plain, "j", BOTH_BAD) == "this answer is not offered here"
    assert tell(round_, "k", BOTH_BAD) == "stored"
    with database.reading(filled.engine) as connection:
        states = database.fetch(connection, "SELECT t.state, i.done FROM task t, round_item i")
    assert states == [("done", 1)], "nobody else is asked instead"
    votes = rollup.pair_votes(filled, "preference")
    assert votes.select("system", "system_b", "outcome").rows() == [("a", "b", None)]
