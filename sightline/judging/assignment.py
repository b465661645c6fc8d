"""Who judges what next: drawn from the round's seed, balanced over items, controls among the rest.

Pages are handed out a few at a time, when an annotator asks: whoever leaves holds up nobody, and those who
stay share the rest. Everything random comes from (round's seed, annotator, number of the page), so that it
can be told again.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Any

from sightline.judging.ordering import control_places, repeats_here, shuffled, starting_place
from sightline.judging.store import answering
from sightline.judging.store import tasks as pages
from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import NewPage, Page, Standing

MANY = 2**31 - 1
APART = 10
"""An annotator sees an item again, where that is asked for, after at least so many other pages."""


@dataclass(frozen=True)
class Handed:
    """The pages an annotator has to answer now; `state` is open, rest, paused or finished."""

    pages: Sequence[Page]
    standing: Standing
    state: str
    rest_until: str | None


def hand_out(connection: Any, round_: Round, annotator_id: int, role: str, at: datetime) -> Handed:
    """The annotator's open pages, filled up to the number handed out ahead, within a write transaction."""
    settings = round_.settings
    standing = pages.standing(connection, round_.id, annotator_id)
    if round_.state != "open":
        return Handed([], standing, "paused", None)
    if pages.is_left_out(connection, annotator_id):
        return Handed([], standing, "finished", None)
    pages.lapse(connection, round_.id, stamp(at - timedelta(hours=float(settings["hold_hours"]))))
    rest_until, state = None, "open"
    session, in_session = max(standing.session, 1), standing.session_pages if standing.session else 0
    number, waiting = standing.pages, standing.open
    while waiting < int(settings["ahead"]):
        if in_session >= int(settings["session_pages"]):
            rest_until = _rest(standing, settings, at) if waiting == 0 else None
            if waiting or rest_until:
                break
            session, in_session = session + 1, 0
            standing = standing._replace(session_finished=0)
        item = _next_item(connection, round_, annotator_id, role, number)
        if item is None:
            state = "finished" if waiting == 0 else state
            break
        _add(connection, round_, annotator_id, item, session, number, at)
        number, waiting, in_session = number + 1, waiting + 1, in_session + 1
    if rest_until:
        return Handed([], standing, "rest", rest_until)
    standing = standing._replace(pages=number, open=waiting, session=session, session_pages=in_session)
    shown = pages.open_pages(connection, round_.id, annotator_id) if state == "open" else []
    return Handed(shown, standing, state, None)


def most_pages(round_: Round, counts: Mapping[str, int], role: str) -> int:
    """The most pages anybody can get in a round, controls and repeats included.

    It depends on nothing that was handed out: a number that fell by one with a page of work and stayed with a
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
    ended = datetime.strptime(standing.last_finished, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    until = ended + timedelta(minutes=float(settings["rest_minutes"]))
    return stamp(until) if until > at else None


def _next_item(connection: Any, round_: Round, annotator_id: int, role: str, number: int) -> int | None:
    start = starting_place(round_.seed, annotator_id, number, pages.size(connection, round_.id))
    if role == "control":
        return pages.due(connection, round_.id, annotator_id, "control", start, MANY)
    work = None
    for kind, most in (("again", 1), ("repeat", 1), ("work", int(round_.settings["per_item"]))):
        work = pages.due(connection, round_.id, annotator_id, kind, start, most)
        if work is not None:
            break
    if work is None:
        # Controls alone would only show that they are controls.
        return None
    rate = round_.settings.get("controls") or {}
    of, places = int(rate.get("of") or 0), int(rate.get("pages") or 0)
    block, place = divmod(number, of) if of else (0, 0)
    if places and place in control_places(round_.seed, annotator_id, block, places, of):
        control = pages.due(connection, round_.id, annotator_id, "control", start, MANY)
        if control is not None:
            return control
    if repeats_here(round_.seed, annotator_id, number, float(round_.settings.get("repeat") or 0)):
        seen = pages.to_repeat(connection, round_.id, annotator_id, number - APART)
        if seen:
            return seen[0]
    return work


def _add(
    connection: Any,
    round_: Round,
    annotator_id: int,
    round_item_id: int,
    session: int,
    number: int,
    at: datetime,
) -> None:
    slots = pages.item_slots(connection, round_item_id)
    order, swapped = shuffled(
        round_.seed, annotator_id, number, len(slots), bool(round_.settings.get("swaps"))
    )
    before = pages.repetitions(connection, round_, annotator_id, [subject for subject, _ in slots])
    shown = []
    for place, swap in zip(order, swapped, strict=True):
        subject, control = slots[place]
        shown.append((subject, control, swap, before.get(subject, 0)))
        # What stands twice on one page is two repetitions.
        before[subject] = before.get(subject, 0) + 1
    page = NewPage(secrets.token_hex(16), round_item_id, session, number, shown)
    pages.add_page(connection, round_.id, annotator_id, page, stamp(at))


def adopt(connection: Any, round_: Round, at: datetime) -> int:
    """Pages for judgements that came in by import, so that nobody is asked again and all can be revised.

    A page whose questions are all answered is done; one that is partly answered is open, with those answers
    on it: a table of judgements that was half finished goes on where it ended.
    """
    for key, rows in pages.answered_elsewhere(connection, round_).items():
        page = pages.page_anyhow(connection, key)
        pages.link_judgements(connection, page.id, rows)
        answering.finish(connection, round_, page, stamp(at))
    asked = len(round_.questions)
    waiting = pages.unadopted(connection, round_)
    people = {who for who, _ in waiting}
    standings = {who: pages.standing(connection, round_.id, who) for who in people}
    numbers = {who: standing.pages for who, standing in standings.items()}
    for (annotator_id, round_item_id), told in waiting.items():
        slots = pages.item_slots(connection, round_item_id)
        whole = len(told) == len(slots) and all(
            len({question for question, _ in rows}) == asked for rows in told.values()
        )
        made = NewPage(
            secrets.token_hex(16),
            round_item_id,
            max(standings[annotator_id].session, 1),
            numbers[annotator_id],
            [(subject, control, False, 0) for subject, control in slots],
            "done" if whole else "open",
        )
        numbers[annotator_id] += 1
        task_id = pages.add_page(connection, round_.id, annotator_id, made, stamp(at))
        linked = [(slot, judgement) for slot, rows in told.items() for _, judgement in rows]
        pages.link_judgements(connection, task_id, linked)
    return len(waiting)


def stamp(at: datetime) -> str:
    """A time as the study keeps it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
