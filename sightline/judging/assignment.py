"""Who judges what next: drawn from the round's seed, items near completion first, controls among the rest.

Tasks are assigned a few at a time, when an annotator asks: whoever leaves holds up nobody, and those who stay
share the rest. Everything random comes from (round's seed, annotator, number of the task), so that it can be
repeated; an adaptive round also looks at the votes so far.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from sightline.judging.choosing import choose
from sightline.judging.ordering import control_places, repeats_here, shuffled, starting_place
from sightline.judging.store import answering
from sightline.judging.store import tasks as stored
from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import MANY, NewTask, Openings, Slot, Standing, Task

STAMP = "%Y-%m-%dT%H:%M:%SZ"
APART = 10
"""An annotator sees an item again, where that is asked for, after at least so many other tasks."""


@dataclass(frozen=True)
class Assignment:
    """The tasks an annotator has to answer now; `state` is open, rest, paused or finished."""

    tasks: Sequence[Task]
    standing: Standing
    state: str
    rest_until: str | None


def assign(
    connection: Any, round_: Round, annotator_id: int, role: str, at: datetime, *, only_new: bool = False
) -> Assignment:
    """The annotator's open tasks, filled up to the number assigned ahead, within a write transaction.

    `only_new` leaves out those that were assigned before.
    """
    settings = round_.settings
    before = stamp(at - timedelta(hours=float(settings["hold_hours"])))
    asked = round_.id, annotator_id, before, int(settings["per_item"])
    standing, openings = stored.standing_and_openings(connection, *asked)
    if round_.state != "open":
        return Assignment([], standing, "paused", None)
    if openings.excluded is not None:
        return Assignment([], standing, "finished", None)
    if openings.stale:
        stored.lapse(connection, round_.id, before)
        _, openings = stored.standing_and_openings(connection, *asked)
    rest_until, state = None, "open"
    session, in_session = max(standing.session, 1), standing.session_tasks if standing.session else 0
    number, waiting = standing.tasks, standing.open
    added = []
    while waiting < int(settings["ahead"]):
        full = in_session >= int(settings["session_pages"])
        if full and waiting:
            break
        item = _next_item(connection, round_, annotator_id, role, number, openings)
        if item is None:
            state = "finished" if waiting == 0 else state
            break
        if full:
            # After the last task there is nothing to rest for.
            rest_until = _rest(standing, settings, at)
            if rest_until:
                break
            session, in_session = session + 1, 0
            standing = standing._replace(session_finished=0)
        takes = not openings.screened
        added.append(_add(connection, round_, annotator_id, item, session, number, at, takes))
        number, waiting, in_session = number + 1, waiting + 1, in_session + 1
    if rest_until:
        return Assignment([], standing, "rest", rest_until)
    standing = standing._replace(tasks=number, open=waiting, session=session, session_tasks=in_session)
    if state == "open" and not only_new:
        added = stored.open_tasks(connection, round_.id, annotator_id)
    return Assignment(added, standing, state, None)


def most_tasks(round_: Round, counts: Mapping[str, int], role: str) -> int:
    """The most tasks anybody can get in a round, controls and repeats included.

    It depends on nothing that was assigned: a number that fell by one with a task of work and stayed with a
    control would tell which is which.
    """
    if role == "control":
        return counts["control"]
    rate = round_.settings.get("controls") or {}
    of, places = int(rate.get("of") or 0), int(rate.get("pages") or 0)
    repeated = 1 + float(round_.settings.get("repeat") or 0)
    work = counts["work"] * repeated + counts["again"] + counts["repeat"]
    controls = min(counts["control"], work * places / (of - places)) if of > places else 0
    return ceil(work + controls)


def _rest(standing: Standing, settings: Any, at: datetime) -> str | None:
    if standing.last_finished is None:
        return None
    ended = datetime.strptime(standing.last_finished, STAMP).replace(tzinfo=UTC)
    until = ended + timedelta(minutes=float(settings["rest_minutes"]))
    return stamp(until) if until > at else None


def _next_item(
    connection: Any, round_: Round, annotator_id: int, role: str, number: int, openings: Openings
) -> int | None:
    start = starting_place(round_.seed, annotator_id, number, openings.items)

    def due(kind: str, most: int, least: int | None) -> int | None:
        return stored.due(connection, round_.id, annotator_id, kind, start, most, least)

    if role == "control":
        return due("control", MANY, openings.control)
    most = int(round_.settings["per_item"])
    work = due("again", 1, openings.again) or due("repeat", 1, openings.repeat)
    if work is None and (overlap := int(round_.settings.get("overlap") or 0)):
        work = stored.pilot(connection, round_.id, annotator_id, start, overlap)
    if work is None and round_.settings.get("choose") == "adaptive":
        work = choose(connection, round_, annotator_id, number, start, most)
    elif work is None:
        work = stored.nearest(connection, round_.id, annotator_id, start, openings.nearest)
    if work is None:
        work = due("work", most, openings.work)
    if work is None:
        # Controls alone would only show that they are controls.
        return None
    # Everything is looked up whatever comes of it: a control must not take longer to assign than work.
    control, seen = None, []
    rate = round_.settings.get("controls") or {}
    of, places = int(rate.get("of") or 0), int(rate.get("pages") or 0)
    if places:
        control = due("control", MANY, openings.control)
    repeated = float(round_.settings.get("repeat") or 0)
    if repeated and repeats_here(round_.seed, annotator_id, number, repeated):
        seen = stored.to_repeat(connection, round_.id, annotator_id, number - APART)
    block, place = divmod(number, of) if of else (0, 0)
    controlled = places and place in control_places(round_.seed, annotator_id, block, places, of)
    if controlled and control is not None:
        return control
    return seen[0] if seen else work


def _add(
    connection: Any,
    round_: Round,
    annotator_id: int,
    round_item_id: int,
    session: int,
    number: int,
    at: datetime,
    takes: bool = True,
) -> Task:
    """Assign an item; `takes` its place, unless rules exclude whoever gets it."""
    slots, is_new = stored.item_slots(connection, round_, annotator_id, round_item_id)
    order, swapped = shuffled(
        round_.seed, annotator_id, number, len(slots), bool(round_.settings.get("swaps"))
    )
    before = {slot.item_id: slot.before for slot in slots}
    if round_.settings.get("orders"):
        before = dict.fromkeys(before, stored.orders_given(connection, annotator_id, round_item_id))
    shown: list[Slot] = []
    for place, swap in zip(order, swapped, strict=True):
        item, prompt, parts, control, _ = slots[place]
        shown.append(Slot(len(shown), item, prompt, parts, control, swap, before[item]))
        # What stands twice in one task is two repetitions.
        before[item] += 1
    key = secrets.token_hex(16)
    task = NewTask(key, annotator_id, round_item_id, session, number, "open", is_new and takes, shown)
    return stored.add_task(connection, round_.id, task, stamp(at))


def adopt(connection: Any, round_: Round, at: datetime) -> int:
    """Add tasks for judgements that were imported, so that nobody is asked again and all can be revised.

    A task whose questions are all answered is done; one that is partly answered is open, with those answers:
    a table of judgements that was half finished can be continued.
    """
    for key, rows in stored.answered_elsewhere(connection, round_).items():
        task = stored.task_of(connection, key)
        stored.link_judgements(connection, task.id, rows)
        answering.finish(connection, round_, task, stamp(at))
    asked = len(round_.questions)
    waiting = stored.unadopted(connection, round_)
    people = {who for who, _ in waiting}
    standings = {who: stored.standing(connection, round_.id, who) for who in people}
    numbers = {who: standing.tasks for who, standing in standings.items()}
    for (annotator_id, round_item_id), answers in waiting.items():
        slots, is_new = stored.item_slots(connection, round_, annotator_id, round_item_id)
        whole = len(answers) == len(slots) and all(
            len({question for question, _ in rows}) == asked for rows in answers.values()
        )
        made = NewTask(
            secrets.token_hex(16),
            annotator_id,
            round_item_id,
            max(standings[annotator_id].session, 1),
            numbers[annotator_id],
            "done" if whole else "open",
            is_new,
            [Slot(place, *slot[:4], False, 0) for place, slot in enumerate(slots)],
        )
        numbers[annotator_id] += 1
        task = stored.add_task(connection, round_.id, made, stamp(at))
        linked = [(slot, judgement) for slot, rows in answers.items() for _, judgement in rows]
        stored.link_judgements(connection, task.id, linked)
    return len(waiting)


def stamp(at: datetime) -> str:
    """A time as the study keeps it."""
    return at.astimezone(UTC).strftime(STAMP)
