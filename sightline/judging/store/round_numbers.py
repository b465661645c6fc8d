"""How a round stands, in columns and counts: what the owner's overview is made from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text

from sightline.judging.store.places import OUT
from sightline.judging.store.rounds import Round
from sightline.study.schema import database
from sightline.study.schema.storable import now
from sightline.study.study import Study

WORK, AGAIN, CONTROL, REPEAT = range(4)
"""Kinds of items as `votes` numbers them."""


class RoundVotes(NamedTuple):
    """The latest answers of a round as columns of equal length; `value` is NaN where one was skipped.

    `swapped` marks answers to a pair whose sides were shown the other way round. `seconds` says how long each
    task took, `by` whose it was and `answers` how many it had: a task takes as long as it is in view until
    the last of its first answers.
    """

    question: NDArray[np.int64]
    item: NDArray[np.int64]
    annotator: NDArray[np.int64]
    repetition: NDArray[np.int64]
    control: NDArray[np.int64]
    kind: NDArray[np.int64]
    session: NDArray[np.int64]
    swapped: NDArray[np.int64]
    value: NDArray[np.float64]
    took_ms: NDArray[np.float64]
    seconds: NDArray[np.float64]
    by: NDArray[np.int64]
    answers: NDArray[np.int64]
    up_to: int


def votes(study: Study, round_id: int) -> RoundVotes:
    """The round's latest answers in the order they were given."""
    with database.reading(study.engine) as connection:
        rows = database.fetch(
            connection,
            "SELECT j.question_id, j.item_id, j.annotator_id, j.repetition, j.control, "
            "CASE i.kind WHEN 'again' THEN 1 WHEN 'control' THEN 2 WHEN 'repeat' THEN 3 ELSE 0 END, "
            "p.session, coalesce(s.swapped, 0), j.task_id, j.revision, j.id, j.value, j.took_ms "
            "FROM judgement j JOIN task p ON p.id = j.task_id JOIN round_item i ON i.id = p.round_item_id "
            "LEFT JOIN task_slot s ON s.task_id = j.task_id AND s.slot = j.slot "
            f"WHERE p.round_id = {int(round_id)}",
        )
    # One table of doubles is built several times as fast as columns of their own; ids stay exact to 2^53.
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 13)
    table = table[np.argsort(table[:, 10])]
    up_to = int(table[-1, 10]) if len(rows) else 0
    times = _page_times(table[(table[:, 9] == 0) & ~np.isnan(table[:, 12])])
    kept = table[_latest(table)]
    whole = kept[:, :8].astype(np.int64)
    return RoundVotes._make((*whole.T, kept[:, 11], kept[:, 12], *times, up_to))


def _page_times(
    first: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    _, start, place = np.unique(first[:, 8], return_index=True, return_inverse=True)
    longest = np.zeros(len(start))
    np.maximum.at(longest, place, first[:, 12] / 1000)
    return longest, first[start, 2].astype(np.int64), np.bincount(place, minlength=len(start))


def _latest(table: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Of each annotator, question, subject and repetition the row with the highest revision."""
    keep = np.ones(len(table), dtype=np.bool_)
    if not (table[:, 9] > 0).any():
        return keep
    order = np.lexsort((table[:, 9], table[:, 3], table[:, 1], table[:, 0], table[:, 2]))
    places = table[order][:, [2, 0, 1, 3]]
    again = (places[1:] == places[:-1]).all(axis=1)
    keep[order[:-1][again]] = False
    return keep


def images_at_once(study: Study, round_id: int) -> set[int]:
    """How many images the items of a round have: 1, 2 for pairs, 3 for triplets."""
    query = text(
        "SELECT DISTINCT CASE WHEN t.image_c > 0 THEN 3 WHEN t.image_b > 0 THEN 2 ELSE 1 END "
        "FROM round_item_slot s JOIN round_item i ON i.id = s.round_item_id "
        "JOIN item t ON t.id = s.item_id WHERE i.round_id = :r"
    )
    with database.reading(study.engine) as connection:
        return {int(n) for n in connection.execute(query, {"r": round_id}).scalars()}


class Counted(NamedTuple):
    """The items and tasks of a round.

    `tasks` counts all, by annotator and state; `wanted` and `done` those of work, each item at most as often
    as it is wanted; `judgements` are those wanted. `recent` counts tasks of work finished since a time, the
    first of them at `first`; `older` is whether any was finished before.
    """

    items: int
    wanted: int
    done: int
    judgements: int
    tasks: Counter[tuple[int, str]]
    recent: int
    first: str | None
    older: bool
    again: int
    again_done: int


_ITEMS = (
    "SELECT count(*), coalesce(sum(wanted), 0), "
    "coalesce(sum(CASE WHEN done < wanted THEN done ELSE wanted END), 0) FROM round_item "
    "WHERE round_id = :r AND kind = 'work'"
)
_JUDGEMENTS = (
    "SELECT coalesce(sum(i.wanted), 0) FROM round_item_slot s JOIN round_item i ON i.id = s.round_item_id "
    "WHERE i.round_id = :r AND i.kind = 'work' AND s.control = 0"
)
_PAGES = "SELECT annotator_id, state, count(*) FROM task WHERE round_id = :r GROUP BY annotator_id, state"
_RECENT = (
    "SELECT count(*), min(p.finished) FROM task p JOIN round_item i ON i.id = p.round_item_id "
    "WHERE p.round_id = :r AND p.state = 'done' AND p.finished >= :since AND i.kind = 'work'"
)
_OLDER = (
    "SELECT 1 FROM task p JOIN round_item i ON i.id = p.round_item_id "
    "WHERE p.round_id = :r AND p.state = 'done' AND p.finished < :since AND i.kind = 'work' LIMIT 1"
)
_AGAIN = (
    "SELECT count(*), coalesce(sum(CASE WHEN EXISTS (SELECT 1 FROM task p WHERE p.round_item_id = i.id "
    "AND p.state = 'done') THEN 1 ELSE 0 END), 0) FROM round_item i "
    "WHERE i.round_id = :r AND i.kind IN ('again', 'repeat')"
)


def counted(study: Study, round_: Round, since: str) -> Counted:
    """Count items and tasks."""
    values = {"r": round_.id, "since": since}
    with database.reading(study.engine) as connection:
        items, wanted, done = connection.execute(text(_ITEMS), {"r": round_.id}).one()
        slots = connection.execute(text(_JUDGEMENTS), {"r": round_.id}).scalar_one()
        tasks = connection.execute(text(_PAGES), {"r": round_.id}).fetchall()
        recent, first = connection.execute(text(_RECENT), values).one()
        older = connection.execute(text(_OLDER), values).first() is not None
        again, again_done = connection.execute(text(_AGAIN), {"r": round_.id}).one()
    return Counted(
        int(items),
        int(wanted),
        int(done),
        int(slots) * len(round_.questions),
        Counter({(int(who), str(state)): int(n) for who, state, n in tasks}),
        int(recent),
        first,
        older,
        int(again),
        int(again_done),
    )


_ABLE = (
    "SELECT DISTINCT t.annotator_id FROM token t JOIN annotator a ON a.id = t.annotator_id "
    "WHERE t.round_id = :r AND t.role = 'annotator' AND t.revoked IS NULL AND t.expires > :now "
    f"AND a.excluded IS NULL AND a.id NOT IN ({OUT})"
)
_SPENT = (
    "SELECT count(*) FROM task p WHERE p.round_item_id = i.id AND p.state IN ('done', 'skipped') "
    f"AND p.annotator_id IN ({_ABLE})"
)


def invited(study: Study, round_id: int) -> set[str]:
    """The annotators who can judge a round now: with a valid link, and not excluded."""
    query = f"SELECT name FROM annotator WHERE id IN ({_ABLE})"
    with database.reading(study.engine) as connection:
        rows = database.fetch(connection, query, {"r": round_id, "now": now()})
    return {str(name) for (name,) in rows}


def screened(study: Study, round_id: int) -> set[int]:
    """Whom screening rules exclude from a round: others get the places of their tasks."""
    with database.reading(study.engine) as connection:
        return {int(who) for (who,) in database.fetch(connection, OUT, {"r": round_id})}


def freed(study: Study, round_id: int) -> int:
    """How many judgements of work are wanted of others, where excluded annotators gave theirs."""
    query = (
        "SELECT coalesce(sum(i.wanted - i.done), 0) FROM round_item i WHERE i.round_id = :r "
        "AND i.kind = 'work' AND i.done < i.wanted AND EXISTS (SELECT 1 FROM task p "
        "JOIN annotator a ON a.id = p.annotator_id WHERE p.round_item_id = i.id AND p.state = 'done' "
        f"AND (a.excluded IS NOT NULL OR a.id IN ({OUT})))"
    )
    with database.reading(study.engine) as connection:
        return int(database.fetch(connection, query, {"r": round_id})[0][0])


def people_missing(study: Study, round_id: int) -> int:
    """How many more annotators a round needs so that every item can reach the judgements wanted.

    An item can still be judged by whoever has a valid link and has neither judged nor skipped it.
    """
    query = (
        f"SELECT coalesce(max(i.wanted - i.done + ({_SPENT})), 0), (SELECT count(*) FROM ({_ABLE}) AS able) "
        "FROM round_item i WHERE i.round_id = :r AND i.kind = 'work' AND i.done < i.wanted"
    )
    with database.reading(study.engine) as connection:
        ((needed, able),) = database.fetch(connection, query, {"r": round_id, "now": now()})
    return max(0, int(needed) - int(able))


def seconds_per_task(study: Study, round_id: int) -> tuple[float | None, int]:
    """The mean time of the tasks that were timed, and how many these are."""
    query = "SELECT avg(took_ms), count(took_ms) FROM task WHERE round_id = :r AND state = 'done'"
    with database.reading(study.engine) as connection:
        ((mean, n),) = database.fetch(connection, query, {"r": round_id})
    return (float(mean) / 1000 if n else None), int(n)


def newest(study: Study) -> tuple[int, ...]:
    """Numbers that change whenever a judgement, a task, a remark or an action of the owner is added."""
    with database.reading(study.engine) as connection:
        found = [
            connection.exec_driver_sql(f"SELECT coalesce(max(id), 0) FROM {name}").scalar_one()
            for name in ("judgement", "task", "remark", "event")
        ]
    return tuple(map(int, found))


class Shown(NamedTuple):
    """What is judged as the owner sees it: the prompt, and the ids of its images."""

    prompt_id: int
    prompt: str | None
    images: Sequence[int]


def shown(study: Study, items: Sequence[int]) -> dict[int, Shown]:
    """Prompt and images of items."""
    with database.reading(study.engine) as connection:
        database.matching(connection, [("id", "BIGINT")], [(int(key),) for key in items])
        rows = database.fetch(
            connection,
            "SELECT s.id, s.prompt_id, p.text, s.image_id, s.image_b, s.image_c FROM wanted w "
            "JOIN item s ON s.id = w.id LEFT JOIN prompt p ON p.id = s.prompt_id",
        )
    return {int(row[0]): Shown(int(row[1]), row[2], [int(key) for key in row[3:] if key]) for row in rows}


def image_of(study: Study, item_id: int, n: int) -> int | None:
    """The n-th image of something that is judged in a round; None where there is none."""
    query = text("SELECT 1 FROM round_item_slot WHERE item_id = :s LIMIT 1")
    with database.reading(study.engine) as connection:
        if connection.execute(query, {"s": item_id}).first() is None:
            return None
    found = shown(study, [item_id]).get(item_id)
    return found.images[n] if found and 0 <= n < len(found.images) else None


def systems_of(study: Study, items: Sequence[int]) -> dict[int, list[str]]:
    """The systems that answered an item's prompt with its image; several may have, or none."""
    with database.reading(study.engine) as connection:
        database.matching(connection, [("id", "BIGINT")], [(int(key),) for key in items])
        rows = database.fetch(
            connection,
            "SELECT DISTINCT s.id, y.name FROM wanted w JOIN item s ON s.id = w.id JOIN answer a "
            "ON a.image_id = s.image_id AND a.prompt_id = s.prompt_id JOIN system y ON y.id = a.system_id "
            "WHERE s.image_b = 0 ORDER BY s.id, y.name",
        )
    found: dict[int, list[str]] = {}
    for item, name in rows:
        found.setdefault(int(item), []).append(str(name))
    return found
