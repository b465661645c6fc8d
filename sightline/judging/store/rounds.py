"""Rounds of judging in the study: what is asked, of which items, and which answers are known beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, text

from sightline.errors import ConflictError, UsageError, near
from sightline.records import NOTHING, Question
from sightline.study.reading import questions as known_questions
from sightline.study.schema import database, tables
from sightline.study.schema.storable import now
from sightline.study.study import Study
from sightline.study.writing.entities import Entities
from sightline.study.writing.items import item_ids

LIVE = {"title", "instructions", "examples", "per_item", "session_pages", "rest_minutes", "ahead"}
LIVE |= {"hold_hours", "repeat", "languages", "price", "fee", "skip_reasons", "choose", "overlap"}
LIVE |= {"comment", "flag", "regions"}
"""Settings that may change while people are judging; the others say which items there are."""


class NewSlot(NamedTuple):
    """One thing to judge: prompt, system and up to three images by id, 0 where there is none.

    `control` is empty, or the kind of control as records.Controls names it; `expected` holds the right
    answers by question, where they are known beforehand.
    """

    ids: tuple[int, int, int, int, int]
    control: str = ""
    expected: Mapping[str, float] = NOTHING
    tolerance: float = 0.0


class NewItem(NamedTuple):
    """What one task shows: work, or a control as a whole."""

    kind: str
    slots: Sequence[NewSlot]


@dataclass(frozen=True)
class Round:
    """A round as the study keeps it; `questions` in the order they are asked, each with its id.

    `sharing` are all rounds, itself included, that ask one of its questions.
    """

    id: int
    name: str
    mode: str
    questions: Sequence[tuple[int, Question]]
    settings: Mapping[str, Any]
    seed: int
    state: str
    at: str
    sharing: Sequence[int] = ()

    def question(self, name: str) -> tuple[int, Question] | None:
        """One of its questions by name."""
        return next((each for each in self.questions if each[1].name == name), None)


def open_round(
    study: Study,
    name: str,
    mode: str,
    questions: Sequence[Question],
    settings: Mapping[str, Any],
    seed: int,
    items: Sequence[NewItem],
) -> Round:
    """Store a round with its items; one that is there already resumes, with the settings that may change.

    Items are in random order: `ordinal` counts them as given.
    """
    with database.writing(study.engine) as connection:
        return open_within(study, connection, name, mode, questions, settings, seed, items)


def open_within(
    study: Study,
    connection: Connection,
    name: str,
    mode: str,
    questions: Sequence[Question],
    settings: Mapping[str, Any],
    seed: int,
    items: Sequence[NewItem],
) -> Round:
    """The same within an open transaction."""
    known = _find(study, connection, name)
    if known is not None:
        return _resume(study, connection, known, mode, settings)
    entities = Entities(study, connection, None)
    asked = [entities.question(each.name, each) for each in questions]
    (key,) = database.fresh_ids(connection, tables.round, 1)
    given = database.as_json(dict(settings))
    columns = ["id", "name", "mode", "questions", "settings", "seed", "state", "at"]
    row = (key, name, mode, database.as_json(asked), given, seed, "open", now())
    database.insert(connection, tables.round, columns, [row])
    by_name = {each.name: number for each, number in zip(questions, asked, strict=True)}
    add_items(connection, key, items, int(settings.get("per_item", 3)), by_name)
    opened = _find(study, connection, name)
    assert opened is not None
    return opened


def _resume(
    study: Study, connection: Connection, known: Round, mode: str, settings: Mapping[str, Any]
) -> Round:
    fixed = {name: value for name, value in known.settings.items() if name not in LIVE}
    changed = [
        name
        for name in dict.fromkeys([*fixed, *(each for each in settings if each not in LIVE)])
        if fixed.get(name) != json.loads(json.dumps(settings.get(name)))
    ]
    if known.mode != mode or changed:
        what = "mode" if known.mode != mode else ", ".join(changed)
        raise ConflictError(
            f"the round {known.name!r} is under way with another {what}",
            where=study.name,
            remedy="Its items are fixed. Put that back in study.toml, or give the new round another name.",
        )
    given = database.as_json(dict(settings))
    connection.execute(
        text("UPDATE round SET settings = :given WHERE id = :key"), {"given": given, "key": known.id}
    )
    wanted = text("UPDATE round_item SET wanted = :n WHERE round_id = :key AND kind = 'work'")
    connection.execute(wanted, {"n": int(settings.get("per_item", 3)), "key": known.id})
    return replace(known, settings=json.loads(json.dumps(dict(settings))))


def add_items(
    connection: Connection,
    round_id: int,
    items: Sequence[NewItem],
    wanted: int,
    questions: Mapping[str, int],
) -> None:
    """Append items to a round, with the answers to its controls."""
    slots = [slot for item in items for slot in item.slots]
    subjects = item_ids(connection, [(*slot.ids, 0) for slot in slots])
    last = text("SELECT coalesce(max(ordinal), -1) FROM round_item WHERE round_id = :key")
    first = int(connection.execute(last, {"key": round_id}).scalar_one()) + 1
    keys = database.fresh_ids(connection, tables.round_item, len(items))
    rows, slot_rows, place = [], [], 0
    controls: dict[tuple[int, int, str], tuple[float, float]] = {}
    for ordinal, (key, item) in enumerate(zip(keys, items, strict=True), first):
        rows.append((key, round_id, ordinal, item.kind, None, wanted, 0, 0))
        for number, slot in enumerate(item.slots):
            subject = subjects[place]
            place += 1
            slot_rows.append((key, number, subject, int(bool(slot.control))))
            for name, expected in slot.expected.items():
                controls[subject, questions[name], slot.control] = (expected, slot.tolerance)
    columns = ["id", "round_id", "ordinal", "kind", "again_of", "wanted", "given", "done"]
    database.insert(connection, tables.round_item, columns, rows)
    database.insert(
        connection, tables.round_item_slot, ["round_item_id", "slot", "item_id", "control"], slot_rows
    )
    _keep_controls(connection, controls)


def _keep_controls(connection: Connection, given: Mapping[tuple[int, int, str], tuple[float, float]]) -> None:
    names = [("item_id", "BIGINT"), ("question_id", "BIGINT"), ("kind", "TEXT")]
    database.matching(connection, names, list(given))
    known = database.fetch(
        connection,
        "SELECT c.item_id, c.question_id, c.kind, c.expected FROM wanted w JOIN control c ON "
        "c.item_id = w.item_id AND c.question_id = w.question_id AND c.kind = w.kind",
    )
    held = {(row[0], row[1], row[2]): row[3] for row in known}
    for key, expected in held.items():
        if given[key][0] != expected:
            raise ConflictError(
                f"a control item has the right answer {expected:g} in this study, but {given[key][0]:g} now",
                remedy="Put the first answer back into the file of controls, or take the item out.",
            )
    fresh = [(key, answer) for key, answer in given.items() if key not in held]
    ids = database.fresh_ids(connection, tables.control, len(fresh))
    columns = ["id", "item_id", "question_id", "kind", "expected", "tolerance"]
    rows = [(i, *key, *answer) for i, (key, answer) in zip(ids, fresh, strict=True)]
    database.insert(connection, tables.control, columns, rows)


def count_items(connection: Connection, round_id: int) -> dict[str, int]:
    """How many items of each kind a round has."""
    rows = connection.execute(
        text("SELECT kind, count(*) FROM round_item WHERE round_id = :r GROUP BY kind"), {"r": round_id}
    ).fetchall()
    return {"work": 0, "control": 0, "again": 0, "repeat": 0, **{row[0]: int(row[1]) for row in rows}}


def rounds_of(study: Study) -> list[Round]:
    """Every round, the oldest first."""
    with database.reading(study.engine) as connection:
        rows = connection.execute(text("SELECT name FROM round ORDER BY id")).fetchall()
        found = [_find(study, connection, row[0]) for row in rows]
    return [each for each in found if each is not None]


def progress(study: Study) -> list[tuple[str, str, int, int]]:
    """Every round: name, state, pages of work done and wanted."""
    with database.reading(study.engine) as connection:
        rows = connection.execute(
            text(
                "SELECT r.name, r.state, coalesce(sum(i.done), 0), coalesce(sum(i.wanted), 0) FROM round r "
                "LEFT JOIN round_item i ON i.round_id = r.id AND i.kind = 'work' "
                "GROUP BY r.id, r.name, r.state "
                "ORDER BY r.id"
            )
        ).fetchall()
    return [(row[0], row[1], int(row[2]), int(row[3])) for row in rows]


def get_round(study: Study, name: str) -> Round:
    """One round by name, or an error that suggests near names."""
    with database.reading(study.engine) as connection:
        found = _find(study, connection, name)
        if found is None:
            known = [row[0] for row in connection.execute(text("SELECT name FROM round")).fetchall()]
            raise UsageError(f"no round is called {name!r} in this study", remedy=near(name, known))
    return found


def set_state(study: Study, name: str, state: str) -> None:
    """Pause a round (paused) or let it go on (open)."""
    key = get_round(study, name).id
    with database.writing(study.engine) as connection:
        connection.execute(text("UPDATE round SET state = :s WHERE id = :key"), {"s": state, "key": key})


def _find(study: Study, connection: Connection, name: str) -> Round | None:
    row = connection.execute(
        text("SELECT id, name, mode, questions, settings, seed, state, at FROM round WHERE name = :name"),
        {"name": name},
    ).first()
    if row is None:
        return None
    asked = {key: each for key, each in known_questions(study, connection)}
    ids = _json(row[3])
    settings = _json(row[4])
    every = database.fetch(connection, "SELECT id, questions FROM round ORDER BY id")
    sharing = [key for key, questions in every if not set(ids).isdisjoint(_json(questions))]
    found = [(i, asked[i]) for i in ids]
    return Round(row[0], row[1], row[2], found, settings, row[5], row[6], row[7], sharing)


def _json(given: Any) -> Any:
    return json.loads(given) if isinstance(given, str) else given
