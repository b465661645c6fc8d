"""Scores as a cache keyed by content: what is known, what is still to do, and keeping what was computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, text

from sightline.extension import Configured
from sightline.records import Prompt
from sightline.study import reading
from sightline.study.contents import (
    NAME_ONLY,
    answer_inputs,
    current_inputs,
    hashed,
    image_inputs,
    prompt_inputs,
)
from sightline.study.schema import database, tables
from sightline.study.study import Study

ERROR = "error: "
"""How the reason of a value begins that could not be computed this time; such a one is tried again."""


_SCORED = {
    **{"of_prompt": "prompt", "of_image": "image", "of_answer": "answer", "of_set": "set of images"},
    "verdict": "answer",
}


class Target(NamedTuple):
    """One thing to measure: its coordinates, what the measure is given, and a hash of that."""

    prompt_id: int
    system_id: int
    image_id: int
    inputs: int
    prompt: Prompt | None
    contents: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """A value or the reason why there is none, with the evidence."""

    value: float | None
    reason: str | None = None
    evidence: dict[str, Any] | None = None


def register(study: Study, measure: Configured) -> int:
    """The id under which a measure's scores are kept, entered when first used."""
    spec = measure.spec
    return register_as(
        study, spec.kind, str(measure), measure.identity, version=spec.version, direction=spec.direction
    )


def register_as(
    study: Study, kind: str, name: str, identity: str, *, version: int = 1, direction: str = "higher"
) -> int:
    """The same for scores that are made by several extensions together, such as verdicts."""
    table = tables.measure
    known_id = select(table.c.id).where(table.c.identity == identity)
    with database.reading(study.engine) as connection:
        known = connection.execute(known_id).scalar()
    if known is not None:
        return int(known)
    with database.writing(study.engine) as connection:
        known = connection.execute(known_id).scalar()
        if known is not None:
            return int(known)
        return database.add_one(
            connection,
            table,
            kind=kind,
            spec=name,
            version=version,
            direction=direction,
            identity=identity,
        )


def count_items(study: Study, kind: str) -> int:
    """How many things a measure of this kind applies to."""
    queries = {
        "of_prompt": "SELECT count(*) FROM prompt",
        "of_image": "SELECT count(*) FROM image WHERE sha256 IS NOT NULL",
        "of_answer": "SELECT count(*) FROM (SELECT DISTINCT a.prompt_id, a.image_id FROM answer a "
        "JOIN image i ON i.id = a.image_id WHERE i.sha256 IS NOT NULL) AS d",
        "of_set": "SELECT count(*) FROM (SELECT DISTINCT a.prompt_id, a.system_id FROM answer a "
        "JOIN image i ON i.id = a.image_id WHERE i.sha256 IS NOT NULL) AS d",
    }
    with database.reading(study.engine) as connection:
        return int(connection.exec_driver_sql(queries[kind]).scalar_one())


def pages(study: Study, kind: str, size: int = 2_000) -> Iterator[list[Target]]:
    """Everything a measure of this kind applies to, a page at a time."""
    ways = {"of_prompt": _prompt_pages, "of_image": _image_pages, "of_answer": _answer_pages}
    return ways.get(kind, _set_pages)(study, size)


def _prompt_ids(study: Study, size: int) -> Iterator[list[int]]:
    last = 0
    query = "SELECT id FROM prompt WHERE id > :last ORDER BY id LIMIT :size"
    while rows := reading.fetch_rows(study, query, last=last, size=size):
        last = int(rows[-1][0])
        yield [int(row[0]) for row in rows]


def _prompt_pages(study: Study, size: int) -> Iterator[list[Target]]:
    for ids in _prompt_ids(study, size):
        records = reading.prompt_records(study, ids)
        yield [Target(key, 0, 0, _prompt_hash(prompt), prompt, ()) for key, prompt in records.items()]


def _image_pages(study: Study, size: int) -> Iterator[list[Target]]:
    last = 0
    query = "SELECT id, sha256 FROM image WHERE id > :last AND sha256 IS NOT NULL ORDER BY id LIMIT :size"
    while rows := reading.fetch_rows(study, query, last=last, size=size):
        last = int(rows[-1][0])
        yield image_items({int(key): sha for key, sha in rows})


def image_items(images: Mapping[int, str]) -> list[Target]:
    """Images, given as content by id, as things to measure."""
    return [Target(0, 0, key, image_inputs(sha), None, (sha,)) for key, sha in images.items()]


def _answer_pages(study: Study, size: int) -> Iterator[list[Target]]:
    inner = (
        "SELECT DISTINCT a.prompt_id, a.image_id, i.sha256 FROM answer a JOIN image i ON i.id = a.image_id "
        "WHERE i.sha256 IS NOT NULL AND a.prompt_id BETWEEN :first AND :last ORDER BY a.prompt_id, a.image_id"
    )
    for ids in _prompt_ids(study, max(1, size // 16)):
        page = answer_items(study, reading.fetch_rows(study, inner, first=ids[0], last=ids[-1]))
        if page:
            yield page


def answer_items(study: Study, answers: Sequence[tuple[int, int, str]]) -> list[Target]:
    """Pairs of a prompt and an image, given as prompt id, image id and content, as things to measure."""
    found = reading.prompt_records(study, sorted({int(row[0]) for row in answers}))
    return [
        Target(int(p), 0, int(i), answer_inputs(_prompt_hash(found[int(p)]), sha), found[int(p)], (sha,))
        for p, i, sha in answers
    ]


def _set_pages(study: Study, size: int) -> Iterator[list[Target]]:
    inner = (
        "SELECT a.prompt_id, a.system_id, i.sha256 FROM answer a JOIN image i ON i.id = a.image_id "
        "WHERE i.sha256 IS NOT NULL AND a.prompt_id BETWEEN :first AND :last "
        "ORDER BY a.prompt_id, a.system_id, a.position"
    )
    for ids in _prompt_ids(study, max(1, size // 16)):
        sets: dict[tuple[int, int], list[str]] = {}
        for prompt, system, sha in reading.fetch_rows(study, inner, first=ids[0], last=ids[-1]):
            sets.setdefault((int(prompt), int(system)), []).append(sha)
        found = reading.prompt_records(study, sorted({prompt for prompt, _ in sets}))
        page = [Target(p, s, 0, hashed(shas), found[p], tuple(shas)) for (p, s), shas in sets.items()]
        if page:
            yield page


def _prompt_hash(prompt: Prompt) -> int:
    return prompt_inputs(prompt.text, prompt.expects)


def known(
    study: Study, measure_id: int, items: Sequence[Target]
) -> tuple[list[Target], list[tuple[Target, Outcome]]]:
    """Of these items: those nothing is known of, and those whose score a twin of the same content has."""
    with database.reading(study.engine) as connection:
        keys = [(measure_id, inputs) for inputs in {item.inputs for item in items}]
        columns = ("prompt_id", "system_id", "image_id", "value", "reason")
        rows = database.look_up(connection, tables.score, ("measure_id", "inputs"), keys, columns)
    done: set[tuple[int, int, int, int]] = set()
    by_inputs: dict[int, Outcome] = {}
    for _, inputs, prompt, system, image, value, reason in rows:
        if reason is not None and reason.startswith(ERROR):
            continue
        done.add((int(inputs), int(prompt), int(system), int(image)))
        by_inputs[int(inputs)] = Outcome(value, reason)
    todo: list[Target] = []
    twins: list[Target] = []
    for item in items:
        if (item.inputs, item.prompt_id, item.system_id, item.image_id) in done:
            continue
        (twins if item.inputs in by_inputs else todo).append(item)
    evidence = _evidence(study, measure_id, {item.inputs for item in twins})
    copies = [(item, replace(by_inputs[item.inputs], evidence=evidence.get(item.inputs))) for item in twins]
    return todo, copies


def _evidence(study: Study, measure_id: int, inputs: set[int]) -> dict[int, dict[str, Any]]:
    """What the scores of these inputs rest on, where it was kept."""
    if not inputs:
        return {}
    with database.reading(study.engine) as connection:
        database.matching(connection, [("inputs", "BIGINT")], [(value,) for value in inputs])
        by_index = "INDEXED BY score_by_inputs" if connection.dialect.name == "sqlite" else ""
        rows = connection.execute(
            text(
                "SELECT c.inputs, e.json FROM wanted w "
                f"JOIN score c {by_index} ON c.measure_id = :measure AND c.inputs = w.inputs "
                "JOIN evidence e ON e.measure_id = c.measure_id AND e.prompt_id = c.prompt_id "
                "AND e.system_id = c.system_id AND e.image_id = c.image_id"
            ),
            {"measure": measure_id},
        ).fetchall()
    return {int(key): reading.decoded(cell) for key, cell in rows}


def write(study: Study, measure_id: int, results: Sequence[tuple[Target, Outcome]]) -> Counter[str]:
    """Keep results; a score whose inputs changed is replaced. Gives what was dropped, see `write_within`."""
    return write_several(study, {measure_id: results})[measure_id]


def write_several(
    study: Study, results: Mapping[int, Sequence[tuple[Target, Outcome]]]
) -> dict[int, Counter[str]]:
    """Keep the results of several measures at once, all or nothing; gives what was dropped of each."""
    if not any(results.values()):
        return {measure_id: Counter() for measure_id in results}
    with database.writing(study.engine, durable=False) as connection:
        return {
            measure_id: write_within(connection, measure_id, rows) for measure_id, rows in results.items()
        }


def write_within(
    connection: Connection, measure_id: int, results: Sequence[tuple[Target, Outcome]]
) -> Counter[str]:
    """The same inside an open transaction.

    A result is of a content: where the study holds another one by now, or none, it is dropped. Gives how
    many were, by reason.
    """
    results, dropped = _still_current(connection, measure_id, results)
    # What is computed here takes the place of what was imported.
    columns = ["measure_id", "prompt_id", "system_id", "image_id", "inputs", "value", "reason", "source_id"]
    rows = [
        (measure_id, i.prompt_id, i.system_id, i.image_id, i.inputs, o.value, o.reason, None)
        for i, o in results
    ]
    database.upsert(connection, tables.score, columns, rows, replace=True)
    evidence = [
        (measure_id, i.prompt_id, i.system_id, i.image_id, database.as_json(o.evidence))
        for i, o in results
        if o.evidence is not None
    ]
    columns = ["measure_id", "prompt_id", "system_id", "image_id", "json"]
    database.upsert(connection, tables.evidence, columns, evidence, replace=True)
    _drop_evidence(connection, measure_id, [item for item, outcome in results if outcome.evidence is None])
    return dropped


def _still_current(
    connection: Connection, measure_id: int, results: Sequence[tuple[Target, Outcome]]
) -> tuple[Sequence[tuple[Target, Outcome]], Counter[str]]:
    kind = str(connection.execute(text("SELECT kind FROM measure WHERE id = :m"), {"m": measure_id}).scalar())
    now = current_inputs(connection, kind, [item[:3] for item, _ in results])
    if now is None:
        return results, Counter()
    kept = [(item, outcome) for item, outcome in results if now.get(item[:3]) == item.inputs]
    if len(kept) == len(results):
        return results, Counter()
    what = _SCORED[kind]
    removed = sum(now.get(item[:3], NAME_ONLY) == NAME_ONLY for item, _ in results)
    reasons = {
        f"the {what} was removed while it was scored": removed,
        f"the {what} was changed while it was scored": len(results) - len(kept) - removed,
    }
    return kept, Counter({reason: n for reason, n in reasons.items() if n})


def state(study: Study) -> list[tuple[Any, ...]]:
    """What the rankings and the truth of a study depend on: another state, other rankings."""
    with database.reading(study.engine) as connection:
        return _state(connection)


def _state(connection: Connection) -> list[tuple[Any, ...]]:
    imported = "SELECT id, CAST(counts AS TEXT) FROM source ORDER BY id"
    settled = "SELECT id, CAST(up_to AS TEXT) FROM settlement ORDER BY id"
    return [*database.fetch(connection, imported), *database.fetch(connection, settled)]


def write_all(
    study: Study,
    measure_id: int,
    results: Sequence[tuple[Target, Outcome]],
    of: Sequence[tuple[Any, ...]],
) -> Counter[str]:
    """Replace all scores of a measure of rankings by those of a state of the study, if it is still in it."""
    with database.writing(study.engine, durable=False) as connection:
        if _state(connection) != of:
            return Counter({"the study was changed while its rankings were scored": len(results)})
        # A ranking that no longer exists, or that the rules now exclude, must lose its score.
        for table in ("evidence", "score"):
            connection.execute(text(f"DELETE FROM {table} WHERE measure_id = :m"), {"m": measure_id})
        return write_within(connection, measure_id, results)


def _drop_evidence(connection: Connection, measure_id: int, items: Sequence[Target]) -> None:
    """A score that is replaced must not keep what the earlier one rested on."""
    some = f"SELECT 1 FROM evidence WHERE measure_id = {int(measure_id)} LIMIT 1"
    if not items or connection.exec_driver_sql(some).first() is None:
        return
    own = "measure_id = :m AND prompt_id = :p AND system_id = :s AND image_id = :i"
    keys = [{"m": measure_id, "p": i.prompt_id, "s": i.system_id, "i": i.image_id} for i in items]
    connection.execute(text(f"DELETE FROM evidence WHERE {own}"), keys)


def reasons(study: Study, measure_id: int) -> Counter[str]:
    """Why scores of a measure have no value, and how many for each reason."""
    rows = reading.fetch_rows(
        study,
        "SELECT reason, count(*) FROM score WHERE measure_id = :measure AND reason IS NOT NULL GROUP BY 1",
        measure=measure_id,
    )
    return Counter({str(reason): int(n) for reason, n in rows})


def system_evidence(study: Study, identity: str) -> dict[int, dict[str, Any]]:
    """The evidence of a measure of systems, by system."""
    rows = reading.fetch_rows(
        study,
        "SELECT e.system_id, e.json FROM evidence e JOIN measure m ON m.id = e.measure_id "
        "WHERE m.identity = :identity",
        identity=identity,
    )
    return {int(system): reading.decoded(cell) for system, cell in rows}


def clear(study: Study, identity: str | None = None) -> int:
    """Forget the scores of one measure or of all that were computed here; gives how many."""
    own = "measure_id IN (SELECT id FROM measure WHERE identity = :identity)" if identity else "1 = 1"
    same = " AND ".join(
        f"c.{name} = evidence.{name}" for name in ("measure_id", "prompt_id", "system_id", "image_id")
    )
    imported = f"EXISTS (SELECT 1 FROM score c WHERE c.source_id IS NOT NULL AND {same})"
    values = {"identity": identity} if identity else {}
    with database.writing(study.engine) as connection:
        connection.execute(text(f"DELETE FROM evidence WHERE {own} AND NOT {imported}"), values)
        gone = connection.execute(text(f"DELETE FROM score WHERE {own} AND source_id IS NULL"), values)
    return int(gone.rowcount)
