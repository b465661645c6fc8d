"""Undoing an import."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from sqlalchemy import Connection, text

from sightline.errors import ConflictError, UsageError
from sightline.study.schema import database, tables
from sightline.study.writing.decisions import undo_decisions

FACTS = (
    *("truth", "judgement", "answer", "caption", "scene", "prompt_tag", "image_tag", "prompt_link"),
    *("translation", "reference"),
)
IMPORTED = "score"
"""What is computed as a rule, but may have been imported: it keeps what it is of only where it was."""

# What keeps a thing in the study besides the source that brought it, in the order things can go.
USES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "settlement": (("truth", "settlement_id"), ("fit", "settlement_id")),
    "item": (
        ("truth", "item_id"),
        ("judgement", "item_id"),
        ("control", "item_id"),
        ("round_item_slot", "item_id"),
        ("task_slot", "item_id"),
    ),
    "question": (("judgement", "question_id"), ("settlement", "question_id"), ("control", "question_id")),
    "annotator": (("judgement", "annotator_id"), ("task", "annotator_id"), ("token", "annotator_id")),
    "prompt": (
        ("answer", "prompt_id"),
        ("item", "prompt_id"),
        ("prompt_tag", "prompt_id"),
        ("prompt_link", "prompt_id"),
        ("prompt_link", "to_prompt_id"),
        ("translation", "prompt_id"),
        ("score", "prompt_id"),
    ),
    "image": (
        ("answer", "image_id"),
        ("caption", "image_id"),
        ("scene", "image_id"),
        ("item", "image_id"),
        ("item", "image_b"),
        ("item", "image_c"),
        ("score", "image_id"),
    ),
    "system": (("answer", "system_id"), ("item", "system_id"), ("item", "system_b"), ("score", "system_id")),
    "collection": (("image", "collection_id"), ("system", "collection_id")),
}
MENTIONED = ("prompt", "image", "system", "question")


def _heirs(table: str) -> Iterator[str]:
    """Who inherits what stays: the sources of those that use it, or that judged it as part of an item."""
    for user, column in USES[table]:
        if user == "item":
            for fact in ("judgement", "truth"):
                yield (f"SELECT s.{column} AS id, f.source_id FROM item s JOIN {fact} f ON f.item_id = s.id")
        elif "source_id" in tables.metadata.tables[user].columns:
            yield f"SELECT {column} AS id, source_id FROM {user}"


def undo_within(connection: Connection, source_id: int) -> dict[str, int]:
    """Undo a source inside an open transaction; gives how many rows of each table went.

    `computed_truth`, `score` and `prediction` count what was computed from it and went as well;
    `imported_score` those that came with it.
    """
    values = {"source": source_id}
    _refuse(connection, values)
    gone = undo_decisions(connection, values)
    _refuse_used(connection, values)
    gone["imported_score"] = _delete_imported_scores(connection, values)
    computed = _delete_computed(connection, values)
    before = _count_computed(connection)
    for table in FACTS:
        gone[table] = _run(connection, f"DELETE FROM {table} WHERE source_id = :source", values)
    _forget_bytes(connection, values)
    _run(connection, "DELETE FROM mention WHERE source_id = :source", values)
    for table in USES:
        mine = "" if table == "item" else "WHERE source_id = :source"
        gone[table] = _delete_unused(connection, table, mine, values)
        if mine:
            _hand_over(connection, table, values)
    _run(
        connection,
        "DELETE FROM settings WHERE id IN (SELECT id FROM settings EXCEPT SELECT settings_id FROM answer)",
        {},
    )
    # The database itself deletes what was computed of a prompt, system or image that goes.
    for table, n in _count_computed(connection).items():
        computed[table] += before[table] - n
    _run(connection, "DELETE FROM source WHERE id = :source", values)
    return {table: n for table, n in (*gone.items(), *computed.items()) if n}


def _refuse(connection: Connection, values: Mapping[str, int]) -> None:
    if connection.execute(text("SELECT 1 FROM source WHERE id = :source"), values).scalar() is None:
        known = connection.execute(text("SELECT id FROM source ORDER BY id")).scalars().all()
        listed = ", ".join(map(str, known)) or "none"
        raise UsageError(
            f"there is no import number {values['source']}", remedy=f"Imports in this study: {listed}."
        )
    query = "SELECT source_id FROM mention WHERE kind = 'source' AND entity_id = :source ORDER BY source_id"
    leaning = connection.execute(text(query), values).scalars().all()
    if leaning:
        # Rows that both tell of are kept once, under the first: without it the second had holes.
        later = ", ".join(map(str, leaning))
        raise ConflictError(
            f"import {later} repeats rows of import {values['source']}, which would be lost to it",
            remedy=f"Undo import {later} first, then this one, and import again what should stay.",
        )


# What a source brought and no other one did.
_OWN = (
    "SELECT id FROM {table} WHERE {column} = :source EXCEPT "
    "SELECT entity_id FROM mention WHERE kind = '{kind}' AND source_id <> :source"
)
_IN_ROUNDS = (
    "SELECT DISTINCT r.name FROM round r JOIN round_item i ON i.round_id = r.id "
    "JOIN round_item_slot l ON l.round_item_id = i.id JOIN item s ON s.id = l.item_id WHERE "
)


def _refuse_used(connection: Connection, values: Mapping[str, int]) -> None:
    """Refuse while a round shows people what would be removed: they would judge what is not there."""
    prompts = _OWN.format(table="prompt", column="source_id", kind="prompt")
    images = _OWN.format(table="image", column="source_id", kind="image")
    contents = _OWN.format(table="image", column="bytes_source_id", kind="bytes")
    answered = (
        f"EXISTS (SELECT 1 FROM answer a WHERE (a.source_id = :source OR a.image_id IN ({contents})) "
        "AND s.prompt_id IN (0, a.prompt_id) AND (a.image_id IN (s.image_id, s.image_b, s.image_c) "
        "OR (s.image_id = 0 AND a.system_id IN (s.system_id, s.system_b))))"
    )
    shown = [f"s.prompt_id IN ({prompts})", answered]
    shown += [
        f"s.{part} IN ({own})" for part in ("image_id", "image_b", "image_c") for own in (images, contents)
    ]
    found = {str(name) for (name,) in connection.execute(text(_IN_ROUNDS + " OR ".join(shown)), values)}
    asked = set(
        connection.execute(
            text(_OWN.format(table="question", column="source_id", kind="question")), values
        ).scalars()
    )
    for name, questions in connection.execute(text("SELECT name, CAST(questions AS TEXT) FROM round")):
        if asked & set(json.loads(questions)):
            found.add(str(name))
    if found:
        named = ", ".join(sorted(found))
        raise ConflictError(
            f"people judge what import {values['source']} contains, in the round {named}; it is not undone",
            remedy="What they judged would be gone. Leave the import in, or export the study and import what "
            "should stay into a new one.",
        )


def _run(connection: Connection, statement: str, values: Mapping[str, int]) -> int:
    return int(connection.execute(text(statement), values).rowcount)


# What was settled from votes of a source, among others.
_SETTLED = (
    "SELECT id FROM settlement WHERE up_to > 0 AND question_id IN "
    "(SELECT question_id FROM judgement WHERE source_id = :source)"
)


def _delete_computed(connection: Connection, values: Mapping[str, int]) -> dict[str, int]:
    """Drop what was computed from votes and truths that are about to go: it can be computed again."""
    fits = (
        f"SELECT id FROM fit WHERE settlement_id IN ({_SETTLED} UNION "
        "SELECT settlement_id FROM truth WHERE source_id = :source)"
    )
    gone = {"score": _delete_scores_of_sets(connection, values)}
    gone["prediction"] = _run(connection, f"DELETE FROM prediction WHERE fit_id IN ({fits})", values)
    _run(connection, f"DELETE FROM fit WHERE id IN ({fits})", values)
    truths = f"DELETE FROM truth WHERE settlement_id IN ({_SETTLED})"
    gone["computed_truth"] = _run(connection, truths, values)
    _run(connection, f"DELETE FROM settlement WHERE id IN ({_SETTLED})", values)
    return gone


def _delete_imported_scores(connection: Connection, values: Mapping[str, int]) -> int:
    """The scores that an import brought, with their evidence, and measures that have none left."""
    same = " AND ".join(
        f"c.{name} = evidence.{name}" for name in ("measure_id", "prompt_id", "system_id", "image_id")
    )
    own = f"EXISTS (SELECT 1 FROM score c WHERE c.source_id = :source AND {same})"
    _run(connection, f"DELETE FROM evidence WHERE {own}", values)
    measures = list(
        connection.execute(
            text("SELECT DISTINCT measure_id FROM score WHERE source_id = :source"), values
        ).scalars()
    )
    gone = _run(connection, "DELETE FROM score WHERE source_id = :source", values)
    for measure in measures:
        unused = "NOT EXISTS (SELECT 1 FROM score WHERE measure_id = :measure)"
        _run(connection, f"DELETE FROM measure WHERE id = :measure AND {unused}", {"measure": measure})
    return gone


def _delete_scores_of_sets(connection: Connection, values: Mapping[str, int]) -> int:
    """Scores of a prompt's images, of rankings and of answers that lose a part do not hold any more."""
    answered = "SELECT 1 FROM answer a WHERE a.source_id = :source AND a.prompt_id = {table}.prompt_id"
    judged = (
        "SELECT s.prompt_id FROM truth t JOIN item s ON s.id = t.item_id "
        f"WHERE t.source_id = :source OR t.settlement_id IN ({_SETTLED})"
    )
    # A rephrasing without truth of its own has that of its original.
    heirs = (
        "SELECT l.prompt_id FROM prompt_link l WHERE l.kind = 'rephrases' "
        f"AND (l.source_id = :source OR l.to_prompt_id IN ({judged}))"
    )
    lost = "SELECT id FROM image WHERE bytes_source_id = :source"
    shown = (
        f"SELECT 1 FROM answer a WHERE a.image_id IN ({lost}) AND a.prompt_id = {{table}}.prompt_id "
        "AND a.system_id = {table}.system_id"
    )
    rests_on = (
        ("of_set", f"EXISTS ({shown})"),
        ("of_set", f"EXISTS ({answered} AND a.system_id = {{table}}.system_id)"),
        ("of_ranking", f"EXISTS ({answered} AND a.system_id = {{table}}.system_id)"),
        ("of_ranking", f"prompt_id IN ({judged} UNION {heirs})"),
        ("of_answer", f"EXISTS ({answered} AND a.image_id = {{table}}.image_id)"),
        ("of_answer", f"image_id IN ({lost})"),
        ("verdict", f"EXISTS ({answered} AND a.image_id = {{table}}.image_id)"),
        ("verdict", f"image_id IN ({lost})"),
        ("of_image", f"image_id IN ({lost})"),
        # They rest on all images of a system and of its reference.
        ("of_system", "EXISTS (SELECT 1 FROM answer WHERE source_id = :source)"),
        ("of_system", f"EXISTS ({lost})"),
    )
    # An imported score cannot be computed again: what it is of may come back with another import.
    same = " AND ".join(
        f"c.{name} = evidence.{name}" for name in ("measure_id", "prompt_id", "system_id", "image_id")
    )
    computed = {
        "score": "source_id IS NULL",
        "evidence": f"NOT EXISTS (SELECT 1 FROM score c WHERE c.source_id IS NOT NULL AND {same})",
    }
    gone = 0
    for table in ("evidence", "score"):
        gone = 0
        for kind, condition in rests_on:
            of_kind = f"{computed[table]} AND measure_id IN (SELECT id FROM measure WHERE kind = '{kind}')"
            statement = f"DELETE FROM {table} WHERE {of_kind} AND {condition.format(table=table)}"
            gone += _run(connection, statement, values)
    return gone


def _delete_unused(connection: Connection, table: str, mine: str, values: Mapping[str, int]) -> int:
    # Differences of whole sets: neither database needs an index on every column that refers to something.
    used = [
        f"SELECT {column} FROM {user}" + (" WHERE source_id IS NOT NULL" if user == IMPORTED else "")
        for user, column in USES[table]
    ]
    if table in MENTIONED:
        used.append(f"SELECT entity_id FROM mention WHERE kind = '{table}'")
    unused = " EXCEPT ".join([f"SELECT id FROM {table} {mine}", *used])
    return _run(connection, f"DELETE FROM {table} WHERE id IN ({unused})", values)


def _hand_over(connection: Connection, table: str, values: Mapping[str, int]) -> None:
    """What stays belongs from now on to a source that values of it as well, or that uses it, or to nobody."""
    stays = f"SELECT 1 FROM {table} WHERE source_id = :source LIMIT 1"
    if connection.execute(text(stays), values).scalar() is None:
        return
    named = [f"SELECT entity_id AS id, source_id FROM mention WHERE kind = '{table}'"]
    for queries in (named if table in MENTIONED else [], list(_heirs(table))):
        if not queries:
            continue
        database.drop_temporary(connection, "heir")
        _run(
            connection,
            "CREATE TEMPORARY TABLE heir AS SELECT id, min(source_id) AS source_id FROM "
            f"({' UNION ALL '.join(queries)}) AS users WHERE source_id IS NOT NULL GROUP BY id",
            {},
        )
        _run(connection, "CREATE INDEX heir_by_id ON heir (id)", {})
        found = f"SELECT h.source_id FROM heir h WHERE h.id = {table}.id"
        statement = f"UPDATE {table} SET source_id = ({found}) WHERE source_id = :source AND EXISTS ({found})"
        _run(connection, statement, values)
    database.drop_temporary(connection, "heir")
    _run(connection, f"UPDATE {table} SET source_id = NULL WHERE source_id = :source", values)
    if table in MENTIONED:
        _run(
            connection,
            f"DELETE FROM mention WHERE kind = '{table}' AND EXISTS (SELECT 1 FROM {table} e "
            "WHERE e.id = mention.entity_id AND e.source_id = mention.source_id)",
            {},
        )


def _forget_bytes(connection: Connection, values: Mapping[str, int]) -> None:
    """Bytes that another source brought as well become its own; the others go, the name stays."""
    others = "FROM mention m WHERE m.kind = 'bytes' AND m.entity_id = image.id AND m.source_id <> :source"
    _run(
        connection,
        "UPDATE image SET sha256 = NULL, width = NULL, height = NULL, defect = NULL, bytes_source_id = NULL "
        f"WHERE bytes_source_id = :source AND NOT EXISTS (SELECT 1 {others})",
        values,
    )
    _run(
        connection,
        f"UPDATE image SET bytes_source_id = (SELECT min(m.source_id) {others}) "
        "WHERE bytes_source_id = :source",
        values,
    )
    _run(
        connection,
        "DELETE FROM mention WHERE kind = 'bytes' AND EXISTS (SELECT 1 FROM image i "
        "WHERE i.id = mention.entity_id AND i.bytes_source_id = mention.source_id)",
        {},
    )


def _count_computed(connection: Connection) -> dict[str, int]:
    return {
        table: int(connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one())
        for table in ("score", "prediction")
    }
