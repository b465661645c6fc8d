"""Answers as they come in from a browser: each stored exactly once, a changed mind as a revision."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import (
    Given,
    Task,
    given_answers,
    order_group,
    questions_due,
    set_task_state,
    task_by_key,
)
from sightline.records import BOTH_BAD, Question
from sightline.study.schema import database, tables

MOST_REVISIONS = 100
"""How often one answer may be changed: more is a script, and every revision is kept for good."""


class SubmittedAnswer(NamedTuple):
    """One answer as the browser sent it; `value` is as it was shown, with A and B perhaps swapped."""

    key: str
    task: str
    slot: int
    question: str
    value: float | None
    skipped: str | None
    took_ms: int | None


@dataclass(frozen=True)
class Receipt:
    """What became of an answer: stored, known (a resend of what is there already) or refused, and why."""

    key: str
    status: str
    reason: str | None = None


def record_answers(
    connection: Connection, round_: Round, annotator_id: int, answers: Sequence[SubmittedAnswer], at: str
) -> list[Receipt]:
    """Store answers in the order given, within the caller's transaction; what is refused changes nothing."""
    keys = {answer.key: _own_key(annotator_id, answer.key) for answer in answers}
    known = _known(connection, list(keys.values()))
    tasks: dict[str, Task | None] = {}
    groups: dict[int, str] = {}
    receipts: list[Receipt] = []
    rows: list[_New] = []
    fresh: dict[tuple[int, int, int, str], int] = {}
    for answer in answers:
        key = keys[answer.key]
        if key in known:
            receipts.append(Receipt(answer.key, "known"))
            continue
        if answer.task not in tasks:
            tasks[answer.task] = task_by_key(connection, round_.id, annotator_id, answer.task)
        task = tasks[answer.task]
        row = _row(round_, task, answer)
        if isinstance(row, str) or task is None:
            receipts.append(Receipt(answer.key, "refused", str(row)))
            continue
        if task.state == "skipped" and _is_verdict(row) and _is_filled(connection, task):
            receipts.append(
                Receipt(answer.key, "refused", "you skipped this, and others have judged it since")
            )
            continue
        if round_.settings.get("orders"):
            if task.id not in groups:
                groups[task.id] = order_group(connection, round_, task.round_item_id)
            row = row._replace(group=groups[task.id])
        place = (row.question_id, row.item_id, row.repetition, row.group)
        if place not in fresh:
            fresh[place] = _next_revision(connection, annotator_id, row)
        if fresh[place] > MOST_REVISIONS:
            receipts.append(
                Receipt(answer.key, "refused", f"this was changed {MOST_REVISIONS} times already")
            )
            continue
        known.add(key)
        rows.append((key, row, fresh[place], task, answer))
        fresh[place] += 1
        receipts.append(Receipt(answer.key, "stored"))
    _insert(connection, round_, annotator_id, rows, at)
    for task in {task.id: task for _, _, _, task, _ in rows}.values():
        finish(connection, round_, task, at, _whole(round_, task, rows))
    return receipts


class _Row(NamedTuple):
    question_id: int
    item_id: int
    repetition: int
    control: bool
    value: float | None
    skipped: str | None
    group: str = ""


_New = tuple[str, _Row, int, Task, SubmittedAnswer]
"""An answer to be stored: its key, what is stored, its revision, its task, and as it was sent."""


def _own_key(annotator_id: int, key: str) -> str:
    # One annotator's keys can never stand for another's answers.
    return hashlib.sha256(f"{annotator_id}:{key}".encode()).hexdigest()[:32]


def _known(connection: Connection, keys: Sequence[str]) -> set[str]:
    query = "SELECT key FROM judgement WHERE key IN :keys"
    return {row[0] for row in database.fetch(connection, query, {"keys": list(keys)})}


def _row(round_: Round, task: Task | None, answer: SubmittedAnswer) -> _Row | str:
    """What an answer is stored as, or why it is refused."""
    if task is None:
        return "there is no such task"
    slot = next((each for each in task.slots if each.slot == answer.slot), None)
    if slot is None:
        return "there is no such image in this task"
    asked = round_.question(answer.question)
    if asked is None:
        return "this is not asked here"
    key, question = asked
    if (answer.value is None) == (answer.skipped is None):
        return "an answer has either a value or a reason for skipping"
    if answer.skipped is not None and ("\x00" in answer.skipped or not answer.skipped.strip()):
        return "the reason for skipping is empty or not text"
    if answer.skipped == BOTH_BAD and not round_.settings.get("both_bad"):
        return "this answer is not offered here"
    value = answer.value
    if value is not None:
        if wrong := off_scale(question, value):
            return wrong
        if round_.settings.get("orders") and value > len(task.slots):
            return f"there are only {len(task.slots)} places"
        if slot.swapped and question.low is not None and question.high is not None:
            value = question.low + question.high - value
    return _Row(key, slot.item_id, slot.repetition, slot.control, value, answer.skipped)


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


def _is_verdict(row: _Row | Given) -> bool:
    return row.value is not None or row.skipped == BOTH_BAD


def _is_filled(connection: Connection, task: Task) -> bool:
    """Whether as many others have an item as should; controls are no exception, or this would tell them."""
    query = "SELECT given >= wanted FROM round_item WHERE id = :i"
    ((filled,),) = database.fetch(connection, query, {"i": task.round_item_id})
    return task.counted and bool(filled)


def _next_revision(connection: Connection, annotator_id: int, row: _Row) -> int:
    ((last,),) = database.fetch(
        connection,
        "SELECT coalesce(max(revision), -1) FROM judgement WHERE annotator_id = :a AND question_id = :q "
        "AND item_id = :s AND repetition = :o AND group_name = :g",
        {"a": annotator_id, "q": row.question_id, "s": row.item_id, "o": row.repetition, "g": row.group},
    )
    return int(last) + 1


def _insert(
    connection: Connection,
    round_: Round,
    annotator_id: int,
    rows: Sequence[_New],
    at: str,
) -> None:
    columns = ["key", "question_id", "item_id", "annotator_id", "task_id", "slot", "repetition"]
    columns += ["revision", "group_name", "value", "skipped", "n", "session", "control", "took_ms", "at"]
    made = [
        (
            key, row.question_id, row.item_id, annotator_id, task.id, answer.slot, row.repetition,
            revision, row.group, row.value, row.skipped, 1, f"{round_.name}-{task.session}", int(row.control),
            answer.took_ms, at,
        )
        for key, row, revision, task, answer in rows
    ]  # fmt: skip
    database.insert(connection, tables.judgement, columns, made)


def _whole(round_: Round, task: Task, rows: Sequence[_New]) -> list[Given] | None:
    """All answers of a task, if they are among these new ones; None where the study has to be asked."""
    given = [
        Given(task.id, answer.slot, row.question_id, row.value, row.skipped, answer.took_ms)
        for _, row, revision, of, answer in rows
        if of is task and revision == 0
    ]
    due = {(each.slot, each.question_id) for each in given} == questions_due(task, round_)
    return given if due and all(row[2] == 0 for row in rows if row[3] is task) else None


def finish(
    connection: Connection, round_: Round, task: Task, at: str, given: Sequence[Given] | None = None
) -> None:
    """Once everything in a task is answered it is done, or skipped if no answer is a verdict."""
    if given is None:
        given = given_answers(connection, [task])
    if {(each.slot, each.question_id) for each in given} < questions_due(task, round_):
        return
    state = "done" if any(map(_is_verdict, given)) else "skipped"
    took = max((each.took_ms for each in given if each.took_ms is not None), default=None)
    set_task_state(connection, task, state, took, at)
