"""What was decided, as an import brings it: roles and exclusions, known answers, rounds and their tasks.

None of these tables says which import a row came from. Rounds and known answers that an import added are
noted in `mention`, so that undoing it removes them.
"""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select, text

from sightline.errors import ConflictError, DataError
from sightline.records import (
    Annotator,
    AnnotatorKey,
    Assignment,
    JudgingRound,
    KnownAnswer,
    Remark,
    RoundSlot,
)
from sightline.study.reading import decoded
from sightline.study.schema import database, tables
from sightline.study.schema.storable import INT64, finite, is_box, refuse_bad_text, refuse_long_text, whole
from sightline.study.writing.entities import Entities
from sightline.study.writing.facts import Facts

ROLES = ("annotator", "control", "adjudicator")
STATES = ("open", "done", "skipped", "lapsed")
BOX = "Each is [left, top, right, bottom], fractions of width and height, left < right and top < bottom."
REMARKS = ("comment", "flag", "regions")
COPY = "Make a copy without it: export the tables, and import those that should stay."
HELD = "Undo the earlier import (sightline undo STUDY N), use --replace, or import into a new study."


class Decisions:
    """Writes the decisions of one import, each checked against what the study holds."""

    def __init__(self, entities: Entities, facts: Facts) -> None:
        self.entities = entities
        self.facts = facts
        self.connection = entities.connection
        self.counts: Counter[str] = Counter()
        self._rounds: dict[str, int | None] = {}
        """Rounds by name; None for one that the study has already, whose own items and tasks stay."""
        self._places: dict[tuple[str, int], int] = {}
        self._slots: dict[int, dict[int, tuple[int, bool]]] = {}
        self._tasks: dict[tuple[str, AnnotatorKey, int], tuple[int, int]] = {}
        """Tasks of new rounds, each with how many slots it has."""

    def annotators(self, records: Sequence[Annotator]) -> None:
        """Add annotators with role and exclusion; of one who is here already, both must be the same."""
        if not records:
            return
        for record in records:
            refuse_bad_text((part, record.at) for part in (*record.key, record.language, record.excluded))
            if record.role not in ROLES:
                raise DataError(f"nobody is {record.role!r}", where=record.at, remedy=f"One of {ROLES}.")
            refuse_long_text(record.language, 16, "language", record.at)
        named = {record.key: record for record in records}
        by, columns = AnnotatorKey._fields, ["role", "excluded"]
        for panel, name, *held in database.look_up(
            self.connection, tables.annotator, by, list(named), columns
        ):
            record = named.pop(AnnotatorKey(panel, name))
            if held != [record.role, record.excluded]:
                raise _otherwise(record, *held)
        rows = [(*key, each.role, each.language, each.excluded) for key, each in named.items()]
        columns = ["panel", "name", "role", "language", "excluded"]
        self.entities.add(tables.annotator, columns, rows)
        self.counts["annotators"] += len(rows)

    def known_answers(self, records: Sequence[KnownAnswer]) -> None:
        """Add answers to control items; one that is here already must be the same."""
        if not records:
            return
        items = self.facts.items([(record.item, record.at) for record in records])
        fresh: dict[tuple[int, int, str], tuple[float, float]] = {}
        at: dict[tuple[int, int, str], str] = {}
        for record, item in zip(records, items, strict=True):
            refuse_long_text(record.kind, 16, "kind of control", record.at)
            key = (item, self.entities.question(record.question), record.kind)
            expected = finite(record.expected, "expected answer", record.at)
            fresh[key] = (expected, finite(record.tolerance, "tolerance", record.at))
            at[key] = record.at
        by, columns = ["item_id", "question_id", "kind"], ["id", "expected", "tolerance"]
        held = database.look_up(self.connection, tables.control, by, list(fresh), columns)
        for *place, _, expected, tolerance in held:
            key = (place[0], place[1], place[2])
            if fresh.pop(key) != (expected, tolerance):
                raise ConflictError(
                    f"a control item has the right answer {expected:g} in this study",
                    where=at[key],
                    remedy=HELD,
                )
        rows = [(*key, *answer) for key, answer in fresh.items()]
        added = database.add(self.connection, tables.control, [*by, "expected", "tolerance"], rows)
        self._note("control", [*added, *self._imported("control", [row[3] for row in held])])
        self.counts["controls"] += len(rows)

    def rounds(self, records: Sequence[JudgingRound]) -> None:
        """Add rounds; one that is here already is left as it is, if it asks the same in the same way."""
        for record in records:
            refuse_bad_text((part, record.at) for part in (record.name, record.mode, record.state))
            refuse_long_text(record.opened, 32, "time", record.at)
            seed = whole(record.seed, "seed", record.at, -INT64 - 1, INT64)
            asked = [self.entities.question(name) for name in record.questions]
            if record.state not in ("open", "paused"):
                raise DataError(f"a round is open or paused, not {record.state!r}", where=record.at)
            query = select(tables.round).where(tables.round.c.name == record.name)
            known = self.connection.execute(query).first()
            if known is not None:
                if (known.mode, decoded(known.questions), known.seed) != (record.mode, asked, seed):
                    raise ConflictError(
                        f"the study has another round {record.name!r}", where=record.at, remedy=HELD
                    )
                self._rounds[record.name] = None
                continue
            key = database.add_one(
                self.connection,
                tables.round,
                name=record.name,
                mode=record.mode,
                questions=database.as_json(asked),
                settings=database.as_json(dict(record.settings), record.at),
                seed=seed,
                state=record.state,
                at=record.opened,
            )
            self._rounds[record.name] = key
            self._note("round", [key])
            self.counts["rounds"] += 1

    def _round(self, name: str, at: str) -> int | None:
        if name not in self._rounds:
            raise DataError(f"no round is called {name!r}", where=at, remedy="Export the rounds as well.")
        return self._rounds[name]

    def slots(self, records: Sequence[RoundSlot]) -> None:
        """Add what the places of new rounds show."""
        records = [record for record in records if self._round(record.round, record.at) is not None]
        if not records:
            return
        items = self.facts.items([(record.item, record.at) for record in records])
        first: dict[tuple[str, int], RoundSlot] = {}
        for each in records:
            first.setdefault((each.round, each.place), each)
        fresh = [each for place, each in first.items() if place not in self._places]
        keys = database.fresh_ids(self.connection, tables.round_item, len(fresh))
        self._places.update({(each.round, each.place): key for each, key in zip(fresh, keys, strict=True)})
        rows = []
        for each, key in zip(fresh, keys, strict=True):
            refuse_long_text(each.kind, 16, "kind", each.at)
            again = None if each.again_of is None else self._place(each.round, each.again_of, each.at)
            wanted = whole(each.wanted, "judgements wanted", each.at)
            place = whole(each.place, "place", each.at)
            rows.append((key, self._rounds[each.round], place, each.kind, again, wanted, 0, 0))
        columns = ["id", "round_id", "ordinal", "kind", "again_of", "wanted", "given", "done"]
        database.insert(self.connection, tables.round_item, columns, rows)
        slots = []
        for each, item in zip(records, items, strict=True):
            place = self._places[each.round, each.place]
            number = whole(each.slot, "slot", each.at)
            shown = self._slots.setdefault(place, {})
            if number in shown:
                raise DataError(f"place {each.place} has slot {number} twice", where=each.at)
            shown[number] = (item, each.control or each.kind == "control")
            slots.append((place, number, item, int(each.control)))
        columns = ["round_item_id", "slot", "item_id", "control"]
        database.insert(self.connection, tables.round_item_slot, columns, slots)

    def _place(self, round_: str, place: int, at: str) -> int:
        if (round_, place) not in self._places:
            raise DataError(f"round {round_!r} has no place {place}", where=at, remedy="Export it again.")
        return self._places[round_, place]

    def assignments(self, records: Sequence[Assignment]) -> None:
        """Add the tasks of new rounds."""
        records = [record for record in records if self._round(record.round, record.at) is not None]
        if not records:
            return
        self.entities.find_annotators(record.annotator for record in records)
        keys = database.fresh_ids(self.connection, tables.task, len(records))
        rows, slots = [], []
        for key, each in zip(keys, records, strict=True):
            if each.state not in STATES:
                raise DataError(f"a task is one of {', '.join(STATES)}, not {each.state!r}", where=each.at)
            for said in (each.assigned, each.finished):
                refuse_long_text(said, 32, "time", each.at)
            place = self._place(each.round, each.place, each.at)
            took = None if each.took_ms is None else whole(each.took_ms, "time taken", each.at)
            rows.append(
                (
                    key, secrets.token_hex(16), self._rounds[each.round],
                    self.entities.annotator_id(each.annotator), place, each.session, each.number, each.state,
                    int(each.counted), each.assigned, each.finished, took,
                )
            )  # fmt: skip
            self._tasks[each.round, each.annotator, each.number] = (key, len(each.slots))
            for number, (slot, swapped, repetition) in enumerate(each.slots):
                if slot not in self._slots[place]:
                    raise DataError(f"place {each.place} has no slot {slot}", where=each.at)
                item, control = self._slots[place][slot]
                slots.append((key, number, item, int(control), int(swapped), repetition))
        columns = ["id", "key", "round_id", "annotator_id", "round_item_id", "session", "ordinal", "state"]
        columns += ["counted", "assigned", "finished", "took_ms"]
        database.insert(self.connection, tables.task, columns, rows)
        columns = ["task_id", "slot", "item_id", "control", "swapped", "repetition"]
        database.insert(self.connection, tables.task_slot, columns, slots)
        self.counts["tasks"] += len(rows)

    def remarks(self, records: Sequence[Remark]) -> None:
        """Add what was noted about the tasks of new rounds."""
        rows = []
        for each in records:
            if self._round(each.round, each.at) is None:
                continue
            task, slots = self._tasks.get((each.round, each.annotator, each.number), (0, 0))
            if each.slot >= slots or each.part > 2:
                raise DataError(
                    f"round {each.round!r} has no task {each.number} of {each.annotator.name!r} like this",
                    where=each.at,
                    remedy="Export it again.",
                )
            if each.kind not in REMARKS:
                raise DataError(
                    f"there is no remark {each.kind!r}", where=each.at, remedy=f"One of {REMARKS}."
                )
            refuse_bad_text([(each.text, each.at)])
            refuse_long_text(each.text, 1000, "text", each.at)
            if not all(map(is_box, each.boxes)):
                raise DataError("a region lies outside the image", where=each.at, remedy=BOX)
            refuse_long_text(each.time, 40, "time", each.at)
            boxes = database.as_json([list(box) for box in each.boxes], each.at)
            place = (task, each.slot, each.part)
            rows.append((secrets.token_hex(16), *place, each.kind, each.text, boxes, each.time))
        columns = ["key", "task_id", "slot", "part", "kind", "text", "boxes", "at"]
        self.entities.add(tables.remark, columns, rows)
        self.counts["remarks"] += len(rows)

    def finish(self) -> None:
        """Count what was given and done in new rounds, and join their tasks to the judgements."""
        for name, key in self._rounds.items():
            if key is None:
                continue
            taken = (
                "SELECT count(*) FROM task p WHERE p.round_item_id = round_item.id AND p.counted = 1 "
                "AND p.state IN"
            )
            self.connection.execute(
                text(
                    f"UPDATE round_item SET given = ({taken} ('open', 'done')), done = ({taken} ('done')) "
                    "WHERE round_id = :r"
                ),
                {"r": key},
            )
            self._link(name, key)

    def _link(self, name: str, key: int) -> None:
        row = self.connection.execute(select(tables.round).where(tables.round.c.id == key)).one()
        orders = bool(decoded(row.settings).get("orders"))
        query = text(
            "SELECT j.id, p.id, s.slot, j.group_name, coalesce(f.ordinal, i.ordinal) FROM task p "
            "JOIN task_slot s ON s.task_id = p.id JOIN round_item i ON i.id = p.round_item_id "
            "LEFT JOIN round_item f ON f.id = i.again_of JOIN judgement j ON j.item_id = s.item_id "
            "AND j.annotator_id = p.annotator_id AND j.repetition = s.repetition "
            "WHERE p.round_id = :r AND j.source_id = :source AND j.task_id IS NULL "
            "AND j.question_id IN :questions ORDER BY j.id, p.id"
        ).bindparams(bindparam("questions", expanding=True))
        values = {"r": key, "source": self.entities.source_id, "questions": decoded(row.questions)}
        found: dict[int, tuple[int, int]] = {}
        for judgement, task, slot, group, place in self.connection.execute(query, values).fetchall():
            if group == (f"{name}-{place}" if orders else ""):
                found.setdefault(judgement, (task, slot))
        database.execute_many(
            self.connection,
            "UPDATE judgement SET task_id = ?, slot = ? WHERE id = ?",
            [(task, slot, judgement) for judgement, (task, slot) in found.items()],
        )

    def _imported(self, kind: str, ids: Sequence[int]) -> list[int]:
        """Those of these that an earlier import added."""
        wanted = [(kind, key) for key in ids]
        by = ["kind", "entity_id"]
        rows = database.look_up(self.connection, tables.mention, by, wanted, ["source_id"])
        return sorted({row[1] for row in rows})

    def _note(self, kind: str, ids: Sequence[int]) -> None:
        rows = [(kind, key, self.entities.source_id) for key in ids]
        columns = ["kind", "entity_id", "source_id"]
        database.upsert(self.connection, tables.mention, columns, rows, replace=False)


def _otherwise(record: Annotator, role: str, excluded: str | None) -> ConflictError:
    if role != record.role:
        what = f"{record.key.name!r} is {record.role} there and {role} in this study"
    elif record.excluded is None:
        what = f"{record.key.name!r} counts there and is excluded in this study ({excluded})"
    else:
        here = f"excluded for another reason ({excluded})" if excluded is not None else "not"
        what = f"{record.key.name!r} is excluded there ({record.excluded}) and {here} in this study"
    return ConflictError(what, where=record.at, remedy=HELD)


# -- undoing ----------------------------------------------------------------------------------------------

_ROUNDS = "SELECT entity_id FROM mention WHERE kind = 'round' AND source_id = :source"
_TASKS = f"SELECT id FROM task WHERE round_id IN ({_ROUNDS})"
_PLACES = f"SELECT id FROM round_item WHERE round_id IN ({_ROUNDS})"


def undo_decisions(connection: Connection, values: Mapping[str, Any]) -> dict[str, int]:
    """Remove the rounds and known answers that only this import brought; gives how many went.

    A round in which people have gone on judging is a conflict.
    """
    query = (
        "SELECT r.name, count(*) FROM judgement j JOIN task p ON p.id = j.task_id "
        f"JOIN round r ON r.id = p.round_id WHERE p.round_id IN ({_ROUNDS}) "
        "AND (j.source_id IS NULL OR j.source_id <> :source) GROUP BY r.name ORDER BY r.name"
    )
    for name, n in connection.execute(text(query), values).fetchall():
        raise ConflictError(
            f"{n:,} judgements were given in round {name!r}, which this import brought",
            remedy=COPY,
        )
    query = (
        "SELECT r.name, count(*) FROM remark m JOIN task p ON p.id = m.task_id "
        f"JOIN round r ON r.id = p.round_id WHERE p.round_id IN ({_ROUNDS}) "
        "AND m.source_id IS NULL GROUP BY r.name ORDER BY r.name"
    )
    for name, n in connection.execute(text(query), values).fetchall():
        raise ConflictError(
            f"{n:,} remarks were made in round {name!r}, which this import brought", remedy=COPY
        )
    for statement in (
        f"DELETE FROM remark WHERE task_id IN ({_TASKS})",
        f"UPDATE judgement SET task_id = NULL, slot = NULL WHERE task_id IN ({_TASKS})",
        f"DELETE FROM task_slot WHERE task_id IN ({_TASKS})",
        f"DELETE FROM task WHERE round_id IN ({_ROUNDS})",
        f"DELETE FROM round_item_slot WHERE round_item_id IN ({_PLACES})",
        f"DELETE FROM round_item WHERE round_id IN ({_ROUNDS})",
        f"DELETE FROM token WHERE round_id IN ({_ROUNDS})",
    ):
        connection.execute(text(statement), values)
    rounds = connection.execute(text(f"DELETE FROM round WHERE id IN ({_ROUNDS})"), values).rowcount
    # A round that is still here may have opened on answers that it found in the study.
    controls = connection.execute(
        text(
            "DELETE FROM control WHERE id IN (SELECT entity_id FROM mention WHERE kind = 'control' AND "
            "source_id = :source) AND id NOT IN (SELECT entity_id FROM mention WHERE kind = 'control' AND "
            "source_id <> :source) AND item_id NOT IN (SELECT item_id FROM round_item_slot WHERE control = 1)"
        ),
        values,
    ).rowcount
    return {"round": rounds, "control": controls}
