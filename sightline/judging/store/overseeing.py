"""What the owner of a study changes in a round: people and their links, decisions, work judged again."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, text

from sightline.errors import ConflictError, DataError, UsageError, near
from sightline.judging.store.answering import off_scale
from sightline.judging.store.places import take_out
from sightline.judging.store.tokens import PANEL, annotator
from sightline.records import AnnotatorKey, Judgement, Question
from sightline.study.reading import questions as known_questions
from sightline.study.schema import database, tables
from sightline.study.schema.storable import now
from sightline.study.study import Study
from sightline.study.writing.entities import Entities
from sightline.study.writing.facts import Facts

OWNER = "owner"
"""Who acts in the log, and the panel of those who decide what others disagree on."""
CORRECTION = "correction"
"""The session of a judgement by which the owner corrects a verdict."""


class Person(NamedTuple):
    """An annotator of the study; `left_out` is the owner's reason to exclude them."""

    id: int
    panel: str
    name: str
    role: str
    language: str | None
    left_out: str | None


def people(study: Study, within: Connection | None = None) -> list[Person]:
    """Every annotator, in the order that judgements number them."""
    query = text("SELECT id, panel, name, role, language, excluded FROM annotator ORDER BY id")
    if within is not None:
        return [Person(*row) for row in within.execute(query).fetchall()]
    with database.reading(study.engine) as connection:
        return [Person(*row) for row in connection.execute(query).fetchall()]


def find_person(known: Sequence[Person], name: str) -> Person:
    """One annotator by name, or by panel/name where two panels have that name."""
    said = name.strip()
    fits = [each for each in known if said in (each.name, f"{each.panel}/{each.name}")]
    own = [each for each in fits if each.panel == PANEL]
    if len(fits) == 1 or len(own) == 1:
        return (own or fits)[0]
    if fits:
        names = " or ".join(f"{each.panel}/{each.name}" for each in fits)
        raise UsageError(f"{len(fits)} annotators are called {said!r}", remedy=f"Say which: {names}.")
    known_names = [each.name for each in known if each.panel != OWNER]
    raise UsageError(f"nobody is called {said!r} in this study", remedy=near(said, known_names))


def note(connection: Connection, what: str, details: Mapping[str, Any]) -> None:
    """Append what the owner did to the study's log, within the transaction that does it."""
    (key,) = database.fresh_ids(connection, tables.event, 1)
    row = (key, now(), OWNER, what, database.as_json(dict(details)))
    database.insert(connection, tables.event, ["id", "at", "actor", "what", "json"], [row])


def leave_out(connection: Connection, annotator_id: int, reason: str | None) -> None:
    """Say why an annotator's judgements do not count; None counts them again. Nothing is deleted.

    Their places become free: somebody else judges what they judged.
    """
    query = text("UPDATE annotator SET excluded = :reason WHERE id = :a")
    connection.execute(query, {"reason": reason, "a": annotator_id})
    take_out(connection, annotator_id, reason is not None)


def links(study: Study, round_id: int) -> dict[int, str | None]:
    """Everybody who was ever given a link to a round, and when the last valid one expires, if any."""
    with database.reading(study.engine) as connection:
        rows = connection.execute(
            text(
                "SELECT annotator_id, max(good) FROM (SELECT annotator_id, "
                "CASE WHEN revoked IS NULL AND expires > :now THEN expires END AS good "
                "FROM token WHERE round_id = :r AND annotator_id IS NOT NULL) t GROUP BY annotator_id"
            ),
            {"r": round_id, "now": now()},
        ).fetchall()
    return {int(who): expires for who, expires in rows}


# -- decisions --------------------------------------------------------------------------------------------


class Decision(NamedTuple):
    """A decision as it was kept; `revision` counts from 0, `fresh` is false where it was so already."""

    judgement_id: int
    revision: int
    fresh: bool


def decide(
    connection: Connection, question: tuple[int, Question], item_id: int, by: str, value: float
) -> Decision:
    """Append an adjudicator's judgement of a dispute; what nobody has judged is none."""
    key, asked = question
    votes = text("SELECT count(*) FROM judgement WHERE question_id = :q AND item_id = :s")
    if not connection.execute(votes, {"q": key, "s": item_id}).scalar_one():
        raise UsageError(
            f"nobody has judged {asked.name!r} of number {item_id}",
            remedy="Decide on what the list of disputes shows.",
        )
    return append_decision(connection, question, item_id, by, value, "adjudication")


def append_decision(
    connection: Connection, question: tuple[int, Question], item_id: int, by: str, value: float, session: str
) -> Decision:
    """Append an adjudicator's judgement; a later one revises it, the same one again changes nothing."""
    key, asked = question
    wrong = off_scale(asked, value)
    if wrong:
        labels = ", ".join(f"{each} ({said})" for each, said in asked.labels.items())
        remedy = f"The answers are {labels}." if labels else f"From {asked.low:g} to {asked.high:g}."
        raise UsageError(f"{wrong} of {asked.name!r}", remedy=remedy)
    place = {"q": key, "s": item_id}
    who = annotator(connection, by, "adjudicator", panel=OWNER)
    last = connection.execute(
        text(
            "SELECT id, revision, value FROM judgement WHERE annotator_id = :a AND question_id = :q "
            "AND item_id = :s AND repetition = 0 ORDER BY revision DESC LIMIT 1"
        ),
        {"a": who, **place},
    ).first()
    if last is not None and last[2] == value:
        return Decision(int(last[0]), int(last[1]), False)
    revision = 0 if last is None else int(last[1]) + 1
    (fresh,) = database.fresh_ids(connection, tables.judgement, 1)
    row = {"id": fresh, "key": secrets.token_hex(16), "question_id": key, "item_id": item_id}
    row |= {"annotator_id": who, "repetition": 0, "revision": revision, "value": value, "n": 1}
    row |= {"session": session, "control": 0, "at": now()}
    database.insert(connection, tables.judgement, list(row), [tuple(row.values())])
    return Decision(int(fresh), revision, True)


def judged_items(
    connection: Connection, question_id: int, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], int]:
    """The item under which an image was judged as the answer to a prompt, by prompt and image, if it was."""
    query = text(
        "SELECT s.prompt_id, s.image_id, min(s.id) FROM item s JOIN judgement j ON j.item_id = s.id "
        "WHERE j.question_id = :q AND s.image_id = :i AND s.prompt_id = :p AND s.image_b = 0 "
        "AND s.image_c = 0 AND s.system_b = 0 GROUP BY s.prompt_id, s.image_id"
    )
    found = {}
    for prompt, image in pairs:
        for row in connection.execute(query, {"q": question_id, "p": prompt, "i": image}):
            found[int(row[0]), int(row[1])] = int(row[2])
    return found


def decisions(study: Study, questions: Sequence[int]) -> dict[tuple[int, int], float]:
    """The latest decision by (question, item)."""
    query = text(
        "SELECT j.question_id, j.item_id, j.value FROM judgement j WHERE j.annotator_id IN "
        "(SELECT id FROM annotator WHERE role = 'adjudicator') AND j.question_id IN :questions "
        "AND j.value IS NOT NULL ORDER BY j.id"
    ).bindparams(bindparam("questions", expanding=True))
    with database.reading(study.engine) as connection:
        rows = connection.execute(query, {"questions": list(questions)}).fetchall()
    return {(int(question), int(item)): float(value) for question, item, value in rows}


# -- work judged again ------------------------------------------------------------------------------------


def doable(connection: Connection, round_id: int, kind: str) -> tuple[list[int], list[int]]:
    """What can be judged again: work with a finished task, by place, and what was drawn before."""
    finished = connection.execute(
        text("SELECT id FROM round_item WHERE round_id = :r AND kind = 'work' AND done > 0 ORDER BY ordinal"),
        {"r": round_id},
    ).fetchall()
    drawn = connection.execute(
        text("SELECT again_of FROM round_item WHERE round_id = :r AND kind = :kind"),
        {"r": round_id, "kind": kind},
    ).fetchall()
    return [int(row[0]) for row in finished], [int(row[0]) for row in drawn]


def add_again(connection: Connection, round_id: int, kind: str, items: Sequence[int]) -> None:
    """Append items that show the same as these, each wanted once."""
    last = text("SELECT coalesce(max(ordinal), -1) FROM round_item WHERE round_id = :r")
    first = int(connection.execute(last, {"r": round_id}).scalar_one()) + 1
    keys = database.fresh_ids(connection, tables.round_item, len(items))
    rows = [
        (key, round_id, ordinal, kind, item, 1, 0, 0)
        for ordinal, (key, item) in enumerate(zip(keys, items, strict=True), first)
    ]
    columns = ["id", "round_id", "ordinal", "kind", "again_of", "wanted", "given", "done"]
    database.insert(connection, tables.round_item, columns, rows)
    of = dict(zip(items, keys, strict=True))
    database.matching(connection, [("id", "BIGINT")], [(item,) for item in items])
    slots = database.fetch(
        connection,
        "SELECT s.round_item_id, s.slot, s.item_id, s.control FROM wanted w "
        "JOIN round_item_slot s ON s.round_item_id = w.id",
    )
    copied = [(of[item], *rest) for item, *rest in slots]
    database.insert(
        connection, tables.round_item_slot, ["round_item_id", "slot", "item_id", "control"], copied
    )


# -- judgements as a table --------------------------------------------------------------------------------


def known_rows(study: Study, judgements: Sequence[Judgement]) -> list[bool]:
    """Which of these judgements the study holds already; one that it holds otherwise is an error.

    Judgements made in tasks have keys of their own, so they are known by who judged what on which repetition.
    """
    held: list[bool] = []
    with _undone(study) as connection:
        asked = {each.name: (key, each) for key, each in known_questions(study, connection)}
        who = {AnnotatorKey(each.panel, each.name): each.id for each in people(study, connection)}
        for record in judgements:
            _refuse(record, asked)
        facts = Facts(Entities(study, connection, None))
        items = facts.items([(record.item, record.at) for record in judgements])
        database.matching(connection, [("id", "BIGINT")], [(key,) for key in sorted(set(items))])
        rows = database.fetch(
            connection,
            "SELECT j.annotator_id, j.question_id, j.item_id, j.repetition, j.revision, j.group_name, "
            "j.value, j.skipped FROM wanted w JOIN judgement j ON j.item_id = w.id "
            "WHERE j.annotator_id IS NOT NULL",
        )
        known = {row[:6]: row[6:] for row in rows}
        for record, item in zip(judgements, items, strict=True):
            assert record.annotator is not None
            key, _ = asked[record.question]
            place = (who.get(record.annotator), key, item, record.repetition, record.revision, record.group)
            here = known.get(place)
            if here is not None and here != (record.value, record.skipped):
                raise _otherwise(record, here)
            held.append(here is not None)
    return held


def _refuse(record: Judgement, asked: Mapping[str, tuple[int, Question]]) -> None:
    if record.annotator is None:
        raise DataError("it names nobody who judged", where=record.at, remedy="Fill in `annotator`.")
    if record.question not in asked:
        raise DataError(
            f"no question is called {record.question!r} in this study",
            where=record.at,
            remedy=near(record.question, asked),
        )
    wrong = "" if record.value is None else off_scale(asked[record.question][1], record.value)
    if wrong:
        raise DataError(f"{wrong} of {record.question!r}", where=record.at, remedy="Correct the row.")


def _otherwise(record: Judgement, here: tuple[Any, ...]) -> ConflictError:
    def said(value: float | None, skipped: str | None) -> str:
        return f"skipped ({skipped})" if value is None else f"{value:g}"

    assert record.annotator is not None
    return ConflictError(
        f"{record.annotator.name} answered {record.question!r} with {said(*here)} in this study, "
        f"and with {said(record.value, record.skipped)} here",
        where=record.at,
        remedy="Remove the row, or mark a changed mind by a higher number in `revision`.",
    )


class _Done(Exception):
    """Ends a transaction that must leave nothing behind."""


@contextmanager
def _undone(study: Study) -> Iterator[Connection]:
    """A transaction that may write to find out, and is rolled back."""
    try:
        with database.writing(study.engine) as connection:
            yield connection
            raise _Done
    except _Done:
        return
