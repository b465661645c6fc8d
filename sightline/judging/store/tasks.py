"""Tasks: items as one annotator gets them, in an order and with answers of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, text

from sightline.judging.store.rounds import Round
from sightline.study.schema import database, tables

MANY = 2**31 - 1
FEW = 20
"""Items of a level that are looked at for one that an annotator has not had."""


class Standing(NamedTuple):
    """How far an annotator is in a round."""

    tasks: int
    finished: int
    open: int
    session: int
    session_tasks: int
    session_finished: int
    last_finished: str | None
    took_ms: int


@dataclass(frozen=True)
class Slot:
    """One item of a task: what is judged, in which places, on which repetition. `parts` are image ids."""

    slot: int
    item_id: int
    prompt_id: int
    parts: tuple[int, ...]
    control: bool
    swapped: bool
    repetition: int

    @property
    def shown(self) -> tuple[int, ...]:
        """Its images in the order they are shown: with A and B in each other's place, if so drawn."""
        return (*self.parts[:-2], *self.parts[:-3:-1]) if self.swapped else self.parts


@dataclass(frozen=True)
class Task:
    """A task without its answers; nothing of it but the state ever changes."""

    id: int
    key: str
    annotator_id: int
    round_item_id: int
    session: int
    ordinal: int
    state: str
    counted: bool
    slots: Sequence[Slot]


class Given(NamedTuple):
    """The latest answer to one question about one slot."""

    task_id: int
    slot: int
    question_id: int
    value: float | None
    skipped: str | None
    took_ms: int | None


STANDING = (
    "SELECT session, state, count(*), max(finished), coalesce(sum(took_ms), 0) FROM task "
    "WHERE annotator_id = :a AND round_id = :r GROUP BY session, state"
)


def standing(connection: Connection, round_id: int, annotator_id: int) -> Standing:
    """Count an annotator's tasks."""
    return _standing(database.fetch(connection, STANDING, {"a": annotator_id, "r": round_id}))


def _standing(rows: Sequence[tuple[Any, ...]]) -> Standing:
    session = max((row[0] for row in rows), default=0)
    over = ("done", "skipped")
    current = [row for row in rows if row[0] == session]
    return Standing(
        tasks=sum(row[2] for row in rows),
        finished=sum(row[2] for row in rows if row[1] in over),
        open=sum(row[2] for row in rows if row[1] == "open"),
        session=int(session),
        session_tasks=sum(row[2] for row in current),
        session_finished=sum(row[2] for row in current if row[1] in over),
        last_finished=max((row[3] for row in current if row[3]), default=None),
        took_ms=int(sum(row[4] for row in rows)),
    )


def lapse(connection: Connection, round_id: int, before: str) -> int:
    """Free items whose tasks were assigned before a time and never answered."""
    rows = database.fetch(
        connection,
        "SELECT id, round_item_id, counted FROM task "
        "WHERE round_id = :r AND state = 'open' AND assigned < :before",
        {"r": round_id, "before": before},
    )
    for task_id, round_item_id, counted in rows:
        database.execute(connection, "UPDATE task SET state = 'lapsed' WHERE id = :p", {"p": task_id})
        if counted:
            _count(connection, round_item_id, given=-1)
    return len(rows)


class Openings(NamedTuple):
    """What there is to assign: of each kind, how often its least often given items were; None without any.

    `excluded` is the owner's reason, `screened` whether rules exclude them from the round, `stale` how many
    tasks were open for too long, `items` counts all kinds; `nearest` is how often the open items of work were
    given that were given most often.
    """

    excluded: str | None
    screened: int
    stale: int
    items: int
    again: int | None
    repeat: int | None
    work: int | None
    control: int | None
    nearest: int | None


def _least(kind: str, most: object) -> str:
    return (
        f"(SELECT min(given) FROM round_item WHERE round_id = :r AND kind = '{kind}' AND given < {most}) "
        f"AS {kind}_given"
    )


OPENINGS = (
    "SELECT (SELECT excluded FROM annotator WHERE id = :a) AS excluded, "
    "(SELECT CASE WHEN max(counted) = 0 THEN 1 ELSE 0 END FROM task "
    "WHERE round_id = :r AND annotator_id = :a) AS screened, "
    "(SELECT count(*) FROM task WHERE round_id = :r AND state = 'open' AND assigned < :before) AS stale, "
    "(SELECT coalesce(max(ordinal), -1) + 1 FROM round_item WHERE round_id = :r) AS items, "
    f"{_least('again', 1)}, {_least('repeat', 1)}, {_least('work', ':most')}, {_least('control', MANY)}, "
    "(SELECT max(given) FROM round_item WHERE round_id = :r AND kind = 'work' AND given < :most) AS nearest"
)


def standing_and_openings(
    connection: Connection, round_id: int, annotator_id: int, before: str, most: int
) -> tuple[Standing, Openings]:
    """What assigning depends on; tasks assigned before a time are stale, work is given so often at most."""
    rows = database.fetch(
        connection,
        f"SELECT * FROM ({OPENINGS}) AS openings LEFT JOIN ({STANDING}) AS standing ON 1 = 1",
        {"r": round_id, "a": annotator_id, "before": before, "most": most},
    )
    openings = Openings(*rows[0][:9])
    return _standing([row[9:] for row in rows if row[9] is not None]), openings


UNSEEN = "NOT EXISTS (SELECT 1 FROM task p WHERE p.round_item_id = i.id AND p.annotator_id = :a)"
DUE = {
    "work": f"i.given < i.wanted AND {UNSEEN}",
    "control": UNSEEN,
    "again": f"i.given < i.wanted AND {UNSEEN} AND NOT EXISTS "
    "(SELECT 1 FROM task p WHERE p.round_item_id = i.again_of AND p.annotator_id = :a)",
    "repeat": f"i.given < i.wanted AND {UNSEEN} AND EXISTS "
    "(SELECT 1 FROM task p WHERE p.round_item_id = i.again_of AND p.annotator_id = :a AND p.state = 'done')",
}


LEVEL = (
    "SELECT min(given) FROM round_item WHERE round_id = :r AND kind = :kind "
    "AND given > :level AND given < :most"
)
FIRST = {
    (kind, side): "SELECT i.id FROM round_item i WHERE i.round_id = :r AND i.kind = :kind "
    f"AND i.given = :level AND i.ordinal {side} :start AND {due} ORDER BY i.ordinal LIMIT 1"
    for kind, due in DUE.items()
    for side in (">=", "<")
}


def due(
    connection: Connection,
    round_id: int,
    annotator_id: int,
    kind: str,
    start: int,
    most: int,
    least: int | None,
) -> int | None:
    """The item of a kind this annotator gets next: of those least often given, the first from `start` on.

    `most` is how often any item of the kind is given, `least` how often any was so far, as `Openings` says.
    Every step is a look into an index: nothing is sorted, however many items a round has.
    """
    asked = {"r": round_id, "a": annotator_id, "kind": kind, "start": start, "level": least, "most": most}
    while asked["level"] is not None:
        for side in (">=", "<"):
            for (item,) in database.fetch(connection, FIRST[kind, side], asked):
                return int(item)
        ((asked["level"],),) = database.fetch(connection, LEVEL, asked)
    return None


BELOW = "SELECT max(given) FROM round_item WHERE round_id = :r AND kind = 'work' AND given < :level"
NEAREST = {
    side: "SELECT i.id FROM (SELECT id, ordinal FROM round_item WHERE round_id = :r AND kind = 'work' "
    f"AND given = :level AND given < wanted AND ordinal {side} :start ORDER BY ordinal LIMIT {FEW}) i "
    f"WHERE {UNSEEN} ORDER BY i.ordinal LIMIT 1"
    for side in (">=", "<")
}


def nearest(
    connection: Connection, round_id: int, annotator_id: int, start: int, level: int | None
) -> int | None:
    """The item of work closest to complete for this annotator: of those most often given, from `start` on.

    `level` is how often these were given. Only a few of each level are looked at, since somebody who is ahead
    of the others has seen them all: what is missed here comes later, by `due`.
    """
    asked = {"r": round_id, "a": annotator_id, "start": start, "level": level}
    while asked["level"]:
        for side in (">=", "<"):
            for (item,) in database.fetch(connection, NEAREST[side], asked):
                return int(item)
        ((asked["level"],),) = database.fetch(connection, BELOW, asked)
    return None


PILOT = {
    side: "SELECT i.id FROM round_item i WHERE i.round_id = :r AND i.kind = 'work' AND i.ordinal < :overlap "
    f"AND i.ordinal {side} :start AND {UNSEEN} ORDER BY i.ordinal LIMIT 1"
    for side in (">=", "<")
}


def pilot(connection: Connection, round_id: int, annotator_id: int, start: int, overlap: int) -> int | None:
    """One of the first `overlap` items of work, which everybody judges, that this annotator has not had."""
    asked = {"r": round_id, "a": annotator_id, "start": start % max(overlap, 1), "overlap": overlap}
    for side in (">=", "<") if overlap else ():
        for (item,) in database.fetch(connection, PILOT[side], asked):
            return int(item)
    return None


def to_repeat(connection: Connection, round_id: int, annotator_id: int, before: int) -> list[int]:
    """Work this annotator finished before task `before` and has seen only once, oldest first."""
    rows = connection.execute(
        text(
            "SELECT p.round_item_id, min(p.ordinal) FROM task p JOIN round_item i ON i.id = p.round_item_id "
            "WHERE p.annotator_id = :a AND p.round_id = :r AND i.kind = 'work' "
            "GROUP BY p.round_item_id HAVING count(*) = 1 AND min(p.ordinal) < :before "
            "AND max(p.state) = 'done' ORDER BY min(p.ordinal)"
        ),
        {"a": annotator_id, "r": round_id, "before": before},
    ).fetchall()
    return [int(row[0]) for row in rows]


class ItemSlot(NamedTuple):
    """One thing that an item of a round shows, and whether its right answer is known.

    `before` is how often an annotator was shown it with the round's questions.
    """

    item_id: int
    prompt_id: int
    parts: tuple[int, ...]
    control: bool
    before: int


def item_slots(
    connection: Connection, round_: Round, annotator_id: int, round_item_id: int
) -> tuple[list[ItemSlot], bool]:
    """What a task judges and whether each is a control, as all are in a control task.

    Also says whether the item is new to an annotator.
    """
    asked = [key for key, _ in round_.questions]
    rows = database.fetch(
        connection,
        "SELECT s.item_id, u.prompt_id, u.image_id, u.image_b, u.image_c, "
        "CASE WHEN i.kind = 'control' THEN 1 ELSE s.control END, "
        "(SELECT max(t.repetition) FROM task_slot t JOIN task p ON p.id = t.task_id "
        "WHERE p.annotator_id = :a AND p.round_id IN :rounds AND t.item_id = s.item_id), "
        "(SELECT max(j.repetition) FROM judgement j "
        "WHERE j.annotator_id = :a AND j.question_id IN :questions AND j.item_id = s.item_id), "
        "(SELECT count(*) FROM task p WHERE p.round_item_id = :i AND p.annotator_id = :a) "
        "FROM round_item_slot s JOIN round_item i ON i.id = s.round_item_id JOIN item u ON u.id = s.item_id "
        "WHERE s.round_item_id = :i ORDER BY s.slot",
        {"i": round_item_id, "a": annotator_id, "rounds": list(round_.sharing), "questions": asked},
    )
    slots = []
    for item, prompt, *images, control, shown, judged, _ in rows:
        before = max((last + 1 for last in (shown, judged) if last is not None), default=0)
        slots.append(ItemSlot(item, prompt, tuple(filter(None, images)), bool(control), before))
    return slots, not any(row[-1] for row in rows)


def order_group(connection: Connection, round_: Round, round_item_id: int) -> str:
    """What an order that is given in a task is called: the same whenever the item is put in order again.

    Named by its place in the round, which is the same in a study that an export was imported into.
    """
    query = text("SELECT ordinal FROM round_item WHERE id = :i")
    first = connection.execute(query, {"i": _first_item(connection, round_item_id)}).scalar_one()
    return f"{round_.name}-{first}"


def orders_given(connection: Connection, annotator_id: int, round_item_id: int) -> int:
    """How often an annotator was shown an item that is put in order as a whole."""
    query = (
        "SELECT count(*) FROM task p JOIN round_item i ON i.id = p.round_item_id "
        "WHERE p.annotator_id = :a AND (i.id = :i OR i.again_of = :i)"
    )
    asked = {"a": annotator_id, "i": _first_item(connection, round_item_id)}
    return int(database.fetch(connection, query, asked)[0][0])


def _first_item(connection: Connection, round_item_id: int) -> int:
    query = "SELECT coalesce(again_of, id) FROM round_item WHERE id = :i"
    return int(database.fetch(connection, query, {"i": round_item_id})[0][0])


class NewTask(NamedTuple):
    """A task to be assigned, with its slots as they are shown; `counted` unless they had the item before."""

    key: str
    annotator_id: int
    round_item_id: int
    session: int
    ordinal: int
    state: str
    counted: bool
    slots: Sequence[Slot]


def add_task(connection: Connection, round_id: int, new: NewTask, at: str) -> Task:
    """Store a task, and count it as given."""
    values = {**new._asdict(), "round_id": round_id, "counted": int(new.counted), "assigned": at}
    values["finished"] = at if new.state == "done" else None
    del values["slots"]
    task = Task(database.insert_one(connection, tables.task, values), *new)
    slots = [
        (task.id, each.slot, each.item_id, int(each.control), int(each.swapped), each.repetition)
        for each in new.slots
    ]
    names = ["task_id", "slot", "item_id", "control", "swapped", "repetition"]
    database.insert(connection, tables.task_slot, names, slots)
    if task.counted:
        _count(connection, new.round_item_id, given=1, done=int(new.state == "done"))
    return task


def set_task_state(connection: Connection, task: Task, state: str, took_ms: int | None, at: str) -> None:
    """Change a task's state, and what its item counts as given and done."""
    database.execute(
        connection,
        "UPDATE task SET state = :s, finished = coalesce(finished, :at), took_ms = coalesce(took_ms, :took) "
        "WHERE id = :p",
        {"s": state, "at": at, "took": took_ms, "p": task.id},
    )
    if not task.counted or task.state == state:
        return
    # A skipped or lapsed task leaves its place to somebody else.
    holds = {"open": (1, 0), "done": (1, 1), "skipped": (0, 0), "lapsed": (0, 0)}
    given, done = (after - was for after, was in zip(holds[state], holds[task.state], strict=True))
    _count(connection, task.round_item_id, given=given, done=done)


def _count(connection: Connection, round_item_id: int, given: int = 0, done: int = 0) -> None:
    database.execute(
        connection,
        "UPDATE round_item SET given = given + :g, done = done + :d WHERE id = :i",
        {"g": given, "d": done, "i": round_item_id},
    )


def task_by_key(connection: Connection, round_id: int, annotator_id: int, key: str) -> Task | None:
    """One of the annotator's own tasks; anybody else's does not exist for them."""
    found = _tasks(
        connection,
        "p.key = :key AND p.annotator_id = :a AND p.round_id = :r",
        {"key": key, "a": annotator_id, "r": round_id},
    )
    return found[0] if found else None


def open_tasks(connection: Connection, round_id: int, annotator_id: int) -> list[Task]:
    """The tasks an annotator has not answered yet, in order; lapsed ones may still be answered."""
    return _tasks(
        connection,
        "p.annotator_id = :a AND p.round_id = :r AND p.state IN ('open', 'lapsed')",
        {"a": annotator_id, "r": round_id},
    )


def past_tasks(
    connection: Connection, round_id: int, annotator_id: int, before: int, most: int
) -> list[Task]:
    """The last tasks finished before task `before`, the newest first."""
    rows = connection.execute(
        text(
            "SELECT id FROM task WHERE annotator_id = :a AND round_id = :r AND ordinal < :before "
            "AND state IN ('done', 'skipped') ORDER BY ordinal DESC LIMIT :most"
        ),
        {"a": annotator_id, "r": round_id, "before": before, "most": most},
    ).fetchall()
    ids = [int(row[0]) for row in rows]
    found = _tasks(connection, "p.id IN :ids", {"ids": ids}) if ids else []
    return sorted(found, key=lambda task: -task.ordinal)


def _tasks(connection: Connection, condition: str, values: dict[str, Any]) -> list[Task]:
    query = (
        "SELECT p.id, p.key, p.annotator_id, p.round_item_id, p.session, p.ordinal, p.state, p.counted, "
        "s.slot, s.item_id, u.prompt_id, u.image_id, u.image_b, u.image_c, s.control, s.swapped, "
        "s.repetition "
        "FROM task p JOIN task_slot s ON s.task_id = p.id JOIN item u ON u.id = s.item_id "
        f"WHERE {condition} ORDER BY p.ordinal, s.slot"
    )
    found: dict[int, tuple[Any, list[Slot]]] = {}
    for row in database.fetch(connection, query, values):
        parts = tuple(part for part in row[11:14] if part)
        slot = Slot(row[8], row[9], row[10], parts, bool(row[14]), bool(row[15]), row[16])
        found.setdefault(row[0], (row, []))[1].append(slot)
    return [
        Task(row[0], row[1], row[2], row[3], row[4], row[5], row[6], bool(row[7]), slots)
        for row, slots in found.values()
    ]


def given_answers(connection: Connection, tasks: Sequence[Task]) -> list[Given]:
    """The latest answers of these tasks."""
    if not tasks:
        return []
    rows = database.fetch(
        connection,
        "SELECT task_id, slot, question_id, value, skipped, took_ms FROM judgement WHERE task_id IN :ids "
        "ORDER BY revision, id",
        {"ids": [task.id for task in tasks]},
    )
    latest = {(row[0], row[1], row[2]): Given(*row) for row in rows}
    return list(latest.values())


def questions_due(task: Task, round_: Round) -> set[tuple[int, int]]:
    """Every (slot, question) a task asks."""
    return {(slot.slot, key) for slot in task.slots for key, _ in round_.questions}


def unadopted(
    connection: Connection, round_: Round
) -> dict[tuple[int, int], dict[int, list[tuple[int, int]]]]:
    """Judgements that came in by import of items their annotators have no task for.

    (annotator, item) -> slot -> (question, judgement). An order is one look at all its images: what was given
    of each elsewhere is not an answer to it.
    """
    if round_.settings.get("orders"):
        return {}
    query = text(
        "SELECT j.annotator_id, s.round_item_id, s.slot, j.question_id, j.id FROM judgement j "
        "JOIN round_item_slot s ON s.item_id = j.item_id JOIN round_item i ON i.id = s.round_item_id "
        "WHERE i.round_id = :r AND i.kind IN ('work', 'control') AND j.task_id IS NULL "
        "AND j.annotator_id IS NOT NULL AND j.question_id IN :questions AND j.repetition = 0 "
        "AND EXISTS (SELECT 1 FROM annotator a WHERE a.id = j.annotator_id AND a.role <> 'adjudicator') "
        "AND NOT EXISTS "
        "(SELECT 1 FROM task p WHERE p.round_item_id = i.id AND p.annotator_id = j.annotator_id) "
        "ORDER BY j.annotator_id, s.round_item_id, s.slot, j.id"
    ).bindparams(bindparam("questions", expanding=True))
    values = {"r": round_.id, "questions": [key for key, _ in round_.questions]}
    found: dict[tuple[int, int], dict[int, list[tuple[int, int]]]] = {}
    for annotator, round_item_id, slot, question, judgement in connection.execute(query, values).fetchall():
        found.setdefault((annotator, round_item_id), {}).setdefault(slot, []).append((question, judgement))
    return found


def answered_elsewhere(connection: Connection, round_: Round) -> dict[str, list[tuple[int, int]]]:
    """Imported judgements of tasks that were assigned and not answered: task -> (slot, judgement)."""
    if round_.settings.get("orders"):
        return {}
    query = text(
        "SELECT p.key, s.slot, j.id FROM task p JOIN task_slot s ON s.task_id = p.id "
        "JOIN judgement j ON j.item_id = s.item_id AND j.annotator_id = p.annotator_id "
        "AND j.repetition = s.repetition WHERE p.round_id = :r AND p.state IN ('open', 'lapsed') "
        "AND j.task_id IS NULL AND j.question_id IN :questions ORDER BY p.id, s.slot, j.id"
    ).bindparams(bindparam("questions", expanding=True))
    values = {"r": round_.id, "questions": [key for key, _ in round_.questions]}
    found: dict[str, list[tuple[int, int]]] = {}
    for key, slot, judgement in connection.execute(query, values).fetchall():
        found.setdefault(key, []).append((slot, judgement))
    return found


def task_of(connection: Connection, key: str) -> Task:
    """A task by its key, whosever it is."""
    return _tasks(connection, "p.key = :key", {"key": key})[0]


def link_judgements(connection: Connection, task_id: int, judged: Sequence[tuple[int, int]]) -> None:
    """Say to which task, as (slot, judgement), imported judgements belong."""
    for slot, judgement in judged:
        connection.execute(
            text("UPDATE judgement SET task_id = :p, slot = :s WHERE id = :j"),
            {"p": task_id, "s": slot, "j": judgement},
        )
