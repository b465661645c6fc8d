"""Who judges what next: drawn from the round's seed, balanced over items, controls among the rest.

Pages are handed out a few at a time, when an annotator asks: whoever leaves holds up nobody, and those who
stay share the rest. Everything random comes from (round's seed, annotator, number of the page), so that it
can be told again.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sightline.judging.ordering import control_places, repeats_here, shuffled, starting_place
from sightline.store import pages
from sightline.store.pages import NewPage, Page, Standing
from sightline.store.rounds import Round

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
    if round_.state != "open":
        return look(connection, round_, annotator_id, "paused")
    pages.lapse(connection, round_.id, stamp(at - timedelta(hours=float(settings["hold_hours"]))))
    standing = pages.standing(connection, round_.id, annotator_id)
    rest_until, state = None, "open"
    session, in_session = max(standing.session, 1), standing.session_pages if standing.session else 0
    number, waiting = standing.pages, standing.open
    while waiting < int(settings["ahead"]):
        if in_session >= int(settings["session_pages"]):
            rest_until = _rest(standing, settings, at) if waiting == 0 else None
            if waiting or rest_until:
                break
            session, in_session = session + 1, 0
        item = _next_item(connection, round_, annotator_id, role, number)
        if item is None:
            state = "finished" if waiting == 0 else state
            break
        _add(connection, round_, annotator_id, item, session, number, at)
        number, waiting, in_session = number + 1, waiting + 1, in_session + 1
    return look(connection, round_, annotator_id, "rest" if rest_until else state, rest_until)


def look(
    connection: Any, round_: Round, annotator_id: int, state: str = "open", rest_until: str | None = None
) -> Handed:
    """How an annotator stands, without handing out anything."""
    standing = pages.standing(connection, round_.id, annotator_id)
    shown = pages.open_pages(connection, round_.id, annotator_id) if state == "open" else []
    return Handed(shown, standing, state, rest_until)


def left(connection: Any, round_: Round, annotator_id: int, role: str) -> int:
    """How many pages an annotator could still get, the open ones among them."""
    kinds = ("control",) if role == "control" else ("work", "again", "repeat")
    return pages.waiting(connection, round_.id, annotator_id) + sum(
        pages.left(connection, round_.id, annotator_id, kind) for kind in kinds
    )


def _rest(standing: Standing, settings: Any, at: datetime) -> str | None:
    if standing.last_finished is None:
        return None
    ended = datetime.strptime(standing.last_finished, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
    until = ended + timedelta(minutes=float(settings["rest_minutes"]))
    return stamp(until) if until > at else None


def _next_item(connection: Any, round_: Round, annotator_id: int, role: str, number: int) -> int | None:
    start = starting_place(round_.seed, annotator_id, number, pages.size(connection, round_.id))
    if role == "control":
        return pages.due(connection, round_.id, annotator_id, "control", start)
    work = None
    for kind in ("again", "repeat", "work"):
        work = pages.due(connection, round_.id, annotator_id, kind, start)
        if work is not None:
            break
    if work is None:
        # Controls alone would only show that they are controls.
        return None
    rate = round_.settings.get("controls") or {}
    of, places = int(rate.get("of") or 0), int(rate.get("pages") or 0)
    block, place = divmod(number, of) if of else (0, 0)
    if places and place in control_places(round_.seed, annotator_id, block, places, of):
        control = pages.due(connection, round_.id, annotator_id, "control", start)
        if control is not None:
            return control
    if repeats_here(round_.seed, annotator_id, number, float(round_.settings.get("repeat") or 0)):
        seen = pages.to_repeat(connection, round_.id, annotator_id, number - APART)
        if seen:
            return seen[0]
    return work


def _add(
    connection: Any, round_: Round, annotator_id: int, item_id: int, session: int, number: int, at: datetime
) -> None:
    slots = pages.item_slots(connection, item_id)
    order, swapped = shuffled(
        round_.seed, annotator_id, number, len(slots), bool(round_.settings.get("swaps"))
    )
    before = pages.occasions(connection, annotator_id, [subject for subject, _ in slots])
    shown = [
        (slots[place][0], slots[place][1], swap, before.get(slots[place][0], 0))
        for place, swap in zip(order, swapped, strict=True)
    ]
    page = NewPage(secrets.token_hex(16), item_id, session, number, shown)
    pages.add_page(connection, round_.id, annotator_id, page, stamp(at))


def adopt(connection: Any, round_: Round, at: datetime) -> int:
    """Pages for judgements that came in by import, so that nobody is asked again and all can be revised.

    A page whose questions are all answered is done; one that is partly answered is open, with those answers
    on it: a table of judgements that was half finished goes on where it ended.
    """
    asked = len(round_.questions)
    waiting = pages.unadopted(connection, round_)
    people = {who for who, _ in waiting}
    standings = {who: pages.standing(connection, round_.id, who) for who in people}
    numbers = {who: standing.pages for who, standing in standings.items()}
    for (annotator_id, item_id), told in waiting.items():
        slots = pages.item_slots(connection, item_id)
        whole = len(told) == len(slots) and all(
            len({question for question, _ in rows}) == asked for rows in told.values()
        )
        page = NewPage(
            secrets.token_hex(16),
            item_id,
            max(standings[annotator_id].session, 1),
            numbers[annotator_id],
            [(subject, control, False, 0) for subject, control in slots],
            "done" if whole else "open",
        )
        numbers[annotator_id] += 1
        page_id = pages.add_page(connection, round_.id, annotator_id, page, stamp(at))
        linked = [(slot, judgement) for slot, rows in told.items() for _, judgement in rows]
        pages.link_judgements(connection, page_id, linked)
    return len(waiting)


def stamp(at: datetime) -> str:
    """A time as the study keeps it."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
