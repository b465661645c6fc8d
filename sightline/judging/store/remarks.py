"""What annotators note about tasks next to their answers: comments, flags and regions, each stored once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sqlalchemy import Connection

from sightline.judging.store.answering import MOST_REVISIONS, Receipt
from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import Slot, Task, task_by_key
from sightline.study.schema import database, tables
from sightline.study.schema.storable import is_box
from sightline.study.study import Study

KINDS = ("comment", "flag", "regions")
LONGEST = 1000
MOST_BOXES = 20
Box = Sequence[float]


class SubmittedRemark(NamedTuple):
    """A remark as the browser sent it; `part` counts the images of a slot as they are shown."""

    key: str
    task: str
    kind: str
    text: str = ""
    slot: int = 0
    part: int = 0
    boxes: Sequence[Box] = ()


class GivenRemark(NamedTuple):
    """The latest remark of a kind about a task, or about image `part` of one of its slots."""

    task_id: int
    slot: int
    part: int
    kind: str
    text: str
    boxes: Sequence[Box]


def offered_remarks(settings: Mapping[str, Any]) -> list[str]:
    """The kinds of remarks that a round asks for."""
    return [kind for kind in KINDS if settings.get(kind)]


def record_remarks(
    connection: Connection, round_: Round, annotator_id: int, remarks: Sequence[SubmittedRemark], at: str
) -> list[Receipt]:
    """Store remarks in the order given, within the caller's transaction; what is refused changes nothing."""
    keys = {each.key: _own_key(annotator_id, each.key) for each in remarks}
    query = "SELECT key FROM remark WHERE key IN :keys"
    known = {row[0] for row in database.fetch(connection, query, {"keys": list(keys.values())})}
    receipts, rows = [], []
    for each in remarks:
        key = keys[each.key]
        if key in known:
            receipts.append(Receipt(each.key, "known"))
            continue
        task = task_by_key(connection, round_.id, annotator_id, each.task)
        refused = _refused(connection, round_, task, each)
        if refused or task is None:
            receipts.append(Receipt(each.key, "refused", refused))
            continue
        part = stored_part(_slot(task, each.slot), each.part) if each.kind == "regions" else 0
        slot = each.slot if each.kind == "regions" else 0
        boxes = database.as_json([list(box) for box in each.boxes])
        known.add(key)
        rows.append((key, task.id, slot, part, each.kind, each.text.strip(), boxes, at))
        receipts.append(Receipt(each.key, "stored"))
    columns = ["key", "task_id", "slot", "part", "kind", "text", "boxes", "at"]
    database.insert(connection, tables.remark, columns, rows)
    return receipts


def _own_key(annotator_id: int, key: str) -> str:
    return hashlib.sha256(f"remark:{annotator_id}:{key}".encode()).hexdigest()[:32]


def _slot(task: Task, number: int) -> Slot | None:
    return next((each for each in task.slots if each.slot == number), None)


def _refused(connection: Connection, round_: Round, task: Task | None, remark: SubmittedRemark) -> str:
    """Why a remark is not stored; empty where it is."""
    if task is None:
        return "there is no such task"
    if remark.kind not in offered_remarks(round_.settings):
        return "this is not asked for here"
    if "\x00" in remark.text or len(remark.text) > LONGEST:
        return f"a text has at most {LONGEST} characters"
    if remark.kind == "regions":
        slot = _slot(task, remark.slot)
        if slot is None or not 0 <= remark.part < len(slot.parts):
            return "there is no such image in this task"
        if len(remark.boxes) > MOST_BOXES or not all(map(is_box, remark.boxes)):
            return f"regions are at most {MOST_BOXES} boxes within the image"
    elif remark.boxes:
        return "only regions have boxes"
    query = "SELECT count(*) FROM remark WHERE task_id = :t AND slot = :s AND kind = :k"
    place = {"t": task.id, "s": remark.slot if remark.kind == "regions" else 0, "k": remark.kind}
    ((before,),) = database.fetch(connection, query, place)
    # Of a pair or triplet every image has its own.
    most = MOST_REVISIONS * (3 if remark.kind == "regions" else 1)
    return f"this was changed {MOST_REVISIONS} times already" if before >= most else ""


def stored_part(slot: Slot | None, part: int) -> int:
    """Which image of an item one that is shown in place `part` is; as an exchange of places, also back."""
    if slot is None or not slot.swapped:
        return part
    order = range(len(slot.parts))
    return [*order[:-2], *order[:-3:-1]][part]


LATEST = (
    "r.id = (SELECT max(n.id) FROM remark n WHERE n.task_id = r.task_id AND n.slot = r.slot "
    "AND n.part = r.part AND n.kind = r.kind)"
)


def given_remarks(connection: Connection, round_: Round, tasks: Sequence[Task]) -> list[GivenRemark]:
    """The latest remarks about these tasks, as they are stored; nothing is asked where none are offered."""
    if not tasks or not offered_remarks(round_.settings):
        return []
    query = (
        "SELECT r.task_id, r.slot, r.part, r.kind, r.text, CAST(r.boxes AS TEXT) FROM remark r "
        f"WHERE r.task_id IN :ids AND {LATEST} ORDER BY r.id"
    )
    rows = database.fetch(connection, query, {"ids": [task.id for task in tasks]})
    return [
        GivenRemark(task, slot, part, kind, said, json.loads(boxes))
        for task, slot, part, kind, said, boxes in rows
    ]


@dataclass(frozen=True)
class RoundRemark:
    """A remark as the owner sees it: who noted what about which item, with its prompt.

    `images` is how many images the item has, `item` its number in the study.
    """

    kind: str
    annotator: str
    task: int
    text: str
    item: int
    images: int
    part: int
    boxes: Sequence[Box]
    prompt: str | None
    at: str


def remarks_of_round(study: Study, round_id: int, most: int) -> tuple[list[RoundRemark], dict[str, int]]:
    """The newest remarks of a round that were not withdrawn, flags first, and how many there are by kind."""
    query = (
        "SELECT r.kind, a.name, p.ordinal, r.text, s.item_id, u.image_b, u.image_c, r.part, "
        "CAST(r.boxes AS TEXT), t.text, r.at FROM remark r JOIN task p ON p.id = r.task_id "
        "JOIN annotator a ON a.id = p.annotator_id "
        "JOIN task_slot s ON s.task_id = p.id AND s.slot = r.slot JOIN item u ON u.id = s.item_id "
        f"LEFT JOIN prompt t ON t.id = u.prompt_id WHERE p.round_id = :r AND {LATEST} "
        "AND (r.text <> '' OR CAST(r.boxes AS TEXT) <> '[]') "
        "ORDER BY CASE r.kind WHEN 'flag' THEN 0 WHEN 'comment' THEN 1 ELSE 2 END, r.id DESC"
    )
    with database.reading(study.engine) as connection:
        rows = database.fetch(connection, query, {"r": round_id})
    counts = dict.fromkeys(KINDS, 0)
    for row in rows:
        counts[row[0]] += 1
    made = [
        RoundRemark(
            kind, who, ordinal + 1, text, item, 1 + bool(b) + bool(c), part, json.loads(boxes), prompt, at
        )
        for kind, who, ordinal, text, item, b, c, part, boxes, prompt, at in rows[:most]
    ]
    return made, counts
