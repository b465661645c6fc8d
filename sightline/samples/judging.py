"""Simulated annotators in a real round: tasks are assigned, answered and stored as people's are."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from sightline.judging.assignment import assign, stamp
from sightline.judging.store import answering, rounds, tokens
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import Slot, Task
from sightline.records import Question
from sightline.samples.annotators import Annotator, judge, seconds
from sightline.samples.chance import chance
from sightline.study.schema import database
from sightline.study.study import Study

SKIP = "the image does not load"


def judge_round(
    study: Study,
    name: str,
    people: Sequence[Annotator],
    right: Mapping[int, float],
    tasks: int,
    began: datetime,
    *,
    role: str = "annotator",
    skips: float = 0.0,
    seed: int = 0,
) -> int:
    """Let people do so many tasks each, side by side from a time on; gives how many were finished.

    `right` holds the true value of images by id, in 0 to 1; of a pair it is how much better A is. `skips` is
    the chance of a task being skipped.
    """
    round_ = rounds.get_round(study, name)
    clocks = {person.name: began for person in people}
    done = 0
    for _ in range(tasks):
        for person in people:
            with database.writing(study.engine, durable=False) as connection:
                key = tokens.annotator(connection, person.name, role)
                assigned = assign(connection, round_, key, role, clocks[person.name])
                if not assigned.tasks:
                    continue
                task = assigned.tasks[0]
                took = seconds(person, f"{task.round_item_id}", seed)
                clocks[person.name] += timedelta(seconds=took)
                at = stamp(clocks[person.name])
                skipped = chance("skip", person.name, task.round_item_id, seed).random() < skips
                answers = _answers(round_, task, person, right, took, skipped, seed)
                answering.record_answers(connection, round_, key, answers, at)
                done += 1
    return done


def _answers(
    round_: Round,
    task: Task,
    person: Annotator,
    right: Mapping[int, float],
    took: float,
    skipped: bool,
    seed: int,
) -> list[SubmittedAnswer]:
    due = [(slot, question) for slot in task.slots for _, question in round_.questions]
    answers = []
    for number, (slot, question) in enumerate(due, 1):
        value = None if skipped else _value(person, question, slot, right, seed)
        spent = round(1000 * took * number / len(due))
        reason = SKIP if skipped else None
        key = secrets.token_hex(16)
        answers.append(SubmittedAnswer(key, task.key, slot.slot, question.name, value, reason, spent))
    return answers


def _value(person: Annotator, question: Question, slot: Slot, right: Mapping[int, float], seed: int) -> float:
    """What is chosen on the page; with A and B swapped the answer is the other way round."""
    low, high = question.low or 0.0, 1.0 if question.high is None else question.high
    truth = right.get(slot.parts[-1], 0.5)
    if len(slot.parts) > 1:
        truth = (right.get(slot.parts[-2], 0.5) - truth + 1) / 2
        # Of two images the top of the scale is a vote for the second, of a triplet for A.
        truth = 1 - truth if len(slot.parts) == 2 else truth
    item = f"{question.name}:{slot.item_id}"
    given = judge(person, truth, low, high, _step(question), item, seed, slot.repetition)
    return low + high - given if slot.swapped else given


def _step(question: Question) -> float:
    if question.step:
        return question.step
    labels = sorted(float(label) for label in question.labels)
    return min((b - a for a, b in pairwise(labels)), default=1.0)
