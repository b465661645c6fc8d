"""Comparisons of systems: which systems the items of a round compare, and what was said of them so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, text

from sightline.judging.store.rounds import Round
from sightline.judging.store.tasks import UNSEEN
from sightline.records import BOTH_BAD


class Vote(NamedTuple):
    """One judgement of a pair (`system` and `system_b`), or of one system of an order (`group`)."""

    id: int
    annotator_id: int | None
    item_id: int
    group: str
    repetition: int
    value: float | None
    n: int
    prompt_id: int
    system: int | None
    system_b: int | None

    @property
    def place(self) -> tuple[object, ...]:
        """What a revision has in common with the vote that it revises; anonymous votes have none."""
        named = (self.annotator_id, self.item_id, self.group, self.repetition)
        return (self.id,) if self.annotator_id is None else named


def _owner(system: str, image: str) -> str:
    """The system that a side of an item belongs to; of several that answered alike, the first."""
    return (
        f"coalesce(nullif(s.{system}, 0), (SELECT min(a.system_id) FROM answer a "
        f"WHERE a.prompt_id = s.prompt_id AND a.image_id = s.{image}))"
    )


SIDES = f"{_owner('system_id', 'image_id')}, {_owner('system_b', 'image_b')}"


def compared(connection: Connection, round_id: int) -> dict[int, tuple[int, ...]]:
    """The systems that each item of work compares, in the order of the items' numbers."""
    query = text(
        f"SELECT i.id, {SIDES} FROM round_item i JOIN round_item_slot t ON t.round_item_id = i.id "
        "JOIN item s ON s.id = t.item_id WHERE i.round_id = :r AND i.kind = 'work' ORDER BY i.ordinal"
    )
    found: dict[int, set[int]] = {}
    for item, *sides in connection.execute(query, {"r": round_id}):
        found.setdefault(int(item), set()).update(int(side) for side in sides if side is not None)
    return {item: tuple(sorted(systems)) for item, systems in found.items()}


def count_votes(connection: Connection, round_: Round) -> int:
    """How many judgements of the round's question were stored so far, whatever they are worth."""
    query = text("SELECT count(*) FROM judgement WHERE question_id = :q")
    return int(connection.execute(query, {"q": round_.questions[0][0]}).scalar_one())


def votes_up_to(connection: Connection, round_: Round, last: int, after: int = 0) -> list[Vote]:
    """The votes among the first `last` judgements of the round's question, from beyond the id `after` on.

    Controls are left out; that both are bad is a vote without a value.
    """
    until = "SELECT id FROM judgement WHERE question_id = :q ORDER BY id LIMIT 1 OFFSET :before"
    query = text(
        "SELECT j.id, j.annotator_id, j.item_id, j.group_name, j.repetition, j.value, j.n, s.prompt_id, "
        f"{SIDES} FROM judgement j JOIN item s ON s.id = j.item_id "
        f"WHERE j.question_id = :q AND j.id > :after AND j.id <= ({until}) AND j.control = 0 "
        "AND s.image_c = 0 AND (j.value IS NOT NULL OR j.skipped = :both_bad) ORDER BY j.id"
    )
    asked = {"q": round_.questions[0][0], "both_bad": BOTH_BAD, "before": last - 1, "after": after}
    return [Vote(*row) for row in connection.execute(query, asked)]


def not_counted(connection: Connection) -> set[int]:
    """Annotators whose votes say nothing of systems: excluded ones, and those who judge controls."""
    query = text("SELECT id FROM annotator WHERE excluded IS NOT NULL OR role <> 'annotator'")
    return {int(row[0]) for row in connection.execute(query)}


def open_items(connection: Connection, annotator_id: int, items: Sequence[int], most: int) -> dict[int, int]:
    """Which of these items of work an annotator can still get, and how often each was given."""
    query = text(
        "SELECT i.id, i.given FROM round_item i "
        f"WHERE i.id IN :items AND i.given < i.wanted AND i.given < :most AND {UNSEEN}"
    ).bindparams(bindparam("items", expanding=True))
    rows = connection.execute(query, {"items": list(items), "a": annotator_id, "most": most})
    return {int(row[0]): int(row[1]) for row in rows}
