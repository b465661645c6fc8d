"""Answers as they come in from a browser: each kept exactly once, a changed mind as a new record."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, text

from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import Page, given_answers, page_by_key, questions_due, set_page_state
from sightline.records import Question
from sightline.study.schema import database, tables


class Told(NamedTuple):
    """One answer as the browser sent it; `value` is as it was shown, with A and B perhaps swapped."""

    key: str
    page: str
    slot: int
    question: str
    value: float | None
    skipped: str | None
    took_ms: int | None


class Kept(NamedTuple):
    """What became of an answer: stored, known (it was there already) or refused, and why."""

    key: str
    status: str
    reason: str | None = None


def record(
    connection: Connection, round_: Round, annotator_id: int, answers: Sequence[Told], at: str
) -> list[Kept]:
    """Keep answers in the order given, within the caller's transaction; what is refused changes nothing."""
    keys = {told.key: _own_key(annotator_id, told.key) for told in answers}
    known = _known(connection, list(keys.values()))
    pages: dict[str, Page | None] = {}
    receipts, rows = [], []
    fresh: dict[tuple[int, int, int], int] = {}
    for told in answers:
        key = keys[told.key]
        if key in known:
            receipts.append(Kept(told.key, "known"))
            continue
        if told.page not in pages:
            pages[told.page] = page_by_key(connection, round_.id, annotator_id, told.page)
        page = pages[told.page]
        reason, row = _row(round_, page, told)
        if row is None or page is None:
            receipts.append(Kept(told.key, "refused", reason))
            continue
        known.add(key)
        place = (row.question_id, row.item_id, row.repetition)
        if place not in fresh:
            fresh[place] = _next_revision(connection, annotator_id, row)
        rows.append((key, row, fresh[place], page, told))
        fresh[place] += 1
        receipts.append(Kept(told.key, "stored"))
    _insert(connection, round_, annotator_id, rows, at)
    for page in {page.id: page for _, _, _, page, _ in rows}.values():
        finish(connection, round_, page, at)
    return receipts


class _Row(NamedTuple):
    question_id: int
    item_id: int
    repetition: int
    control: bool
    value: float | None
    skipped: str | None


def _own_key(annotator_id: int, key: str) -> str:
    # One annotator's keys can never stand for another's answers.
    return hashlib.sha256(f"{annotator_id}:{key}".encode()).hexdigest()[:32]


def _known(connection: Connection, keys: Sequence[str]) -> set[str]:
    query = text("SELECT key FROM judgement WHERE key IN :keys").bindparams(bindparam("keys", expanding=True))
    return {row[0] for row in connection.execute(query, {"keys": list(keys)}).fetchall()}


def _row(round_: Round, page: Page | None, told: Told) -> tuple[str, _Row | None]:
    if page is None:
        return "there is no such page", None
    slot = next((each for each in page.slots if each.slot == told.slot), None)
    if slot is None:
        return "there is no such image on this page", None
    asked = round_.question(told.question)
    if asked is None:
        return "this is not asked here", None
    key, question = asked
    if (told.value is None) == (told.skipped is None):
        return "an answer has either a value or a reason for skipping", None
    if told.skipped is not None and ("\x00" in told.skipped or not told.skipped.strip()):
        return "the reason for skipping is empty or not text", None
    value = told.value
    if value is not None:
        wrong = off_scale(question, value)
        if wrong:
            return wrong, None
        if slot.swapped and question.low is not None and question.high is not None:
            value = question.low + question.high - value
    return "", _Row(key, slot.item_id, slot.repetition, slot.control, value, told.skipped)


def off_scale(question: Question, value: float) -> str:
    """Why a value is no answer to a question; empty where it is one."""
    low, high = question.low, question.high
    if (low is not None and value < low) or (high is not None and value > high):
        return f"{value:g} is off the scale"
    labels = [float(each) for each in question.labels]
    if labels and question.scale != "interval" and value not in labels:
        return f"{value:g} is none of the answers"
    if question.step and low is not None and (question.scale == "interval" or not labels):
        steps = (value - low) / question.step
        if abs(steps - round(steps)) > 1e-6:
            return f"{value:g} lies between the steps of {question.step:g}"
    return ""


def _next_revision(connection: Connection, annotator_id: int, row: _Row) -> int:
    found = connection.execute(
        text(
            "SELECT coalesce(max(revision), -1) FROM judgement WHERE annotator_id = :a AND question_id = :q "
            "AND item_id = :s AND repetition = :o"
        ),
        {"a": annotator_id, "q": row.question_id, "s": row.item_id, "o": row.repetition},
    ).scalar_one()
    return int(found) + 1


def _insert(
    connection: Connection,
    round_: Round,
    annotator_id: int,
    rows: Sequence[tuple[str, _Row, int, Page, Told]],
    at: str,
) -> None:
    ids = database.fresh_ids(connection, tables.judgement, len(rows))
    columns = ["id", "key", "question_id", "item_id", "annotator_id", "task_id", "slot", "repetition"]
    columns += ["revision", "value", "skipped", "n", "session", "control", "took_ms", "at"]
    made = [
        (
            i, key, row.question_id, row.item_id, annotator_id, page.id, told.slot, row.repetition,
            revision, row.value, row.skipped, 1, f"{round_.name}-{page.session}", int(row.control),
            told.took_ms, at,
        )
        for i, (key, row, revision, page, told) in zip(ids, rows, strict=True)
    ]  # fmt: skip
    database.insert(connection, tables.judgement, columns, made)


def finish(connection: Connection, round_: Round, page: Page, at: str) -> None:
    """Once everything on a page is answered it is done, or skipped if nothing on it has a value."""
    given = given_answers(connection, [page])
    if {(each.slot, each.question_id) for each in given} < questions_due(page, round_):
        return
    state = "done" if any(each.value is not None for each in given) else "skipped"
    took = max((each.took_ms for each in given if each.took_ms is not None), default=None)
    set_page_state(connection, page, state, took, at)
