"""The columns behind the explorer: everything of a study as arrays, each read in one go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection

from sightline.study.predicted import FOR
from sightline.study.reading import LATEST, decoded
from sightline.study.schema import database
from sightline.study.study import Study

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
CHUNK = 20_000
"""Rows that are held as Python's objects at a time."""


class RowColumns(NamedTuple):
    """One entry per answer, by prompt, system and position; then one per image that answers nothing.

    Keys are 0 where there is nothing: images alone have no prompt, failed answers no image. Numbers that are
    not known are NaN.
    """

    system: Ints
    prompt: Ints
    position: Ints
    image: Ints
    collection: Ints
    settings: Ints
    failed: NDArray[np.bool_]
    no_file: NDArray[np.bool_]
    defect: NDArray[np.bool_]
    width: Floats
    height: Floats
    seed: Floats
    rank_score: Floats


class Keyed(NamedTuple):
    """Values of prompts, systems and images: a key is 0 where it does not matter."""

    prompt: Ints
    system: Ints
    image: Ints
    value: Floats


class Items(NamedTuple):
    """What was judged; `alone` if it is no comparison."""

    id: Ints
    prompt: Ints
    system: Ints
    image: Ints
    image_b: Ints
    image_c: Ints
    alone: NDArray[np.bool_]


class Votes(NamedTuple):
    """Counted votes, each given by `n` people on the item at this place among `items`."""

    items: Items
    at: Ints
    value: Floats
    n: Ints


class Measured(NamedTuple):
    """A measure that has scores: the newest of its printed form."""

    id: int
    kind: str
    spec: str
    direction: str
    identity: str


class Fitted(NamedTuple):
    """The newest fit of a predictor to a settlement."""

    id: int
    spec: str
    settlement_id: int
    question: str


_ROWS = (
    "CASE WHEN {failure} IS NULL THEN 0 ELSE 1 END, "
    "CASE WHEN i.id IS NOT NULL AND i.sha256 IS NULL THEN 1 ELSE 0 END, "
    "CASE WHEN i.defect IS NULL THEN 0 ELSE 1 END, i.width, i.height"
)
_ANSWERS = (
    "SELECT a.system_id, a.prompt_id, a.position, coalesce(a.image_id, 0), coalesce(i.collection_id, 0), "
    f"coalesce(a.settings_id, 0), {_ROWS.format(failure='a.failure')}, a.seed, a.score "
    "FROM answer a LEFT JOIN image i ON i.id = a.image_id ORDER BY a.prompt_id, a.system_id, a.position"
)
_ALONE = (
    f"SELECT 0, 0, 0, i.id, i.collection_id, 0, {_ROWS.format(failure='NULL')}, NULL, NULL FROM image i "
    "WHERE NOT EXISTS (SELECT 1 FROM answer a WHERE a.image_id = i.id) ORDER BY i.id"
)
_KINDS = (*[np.int64] * 6, *[np.bool_] * 3, *[np.float64] * 4)


def read_rows(connection: Connection) -> RowColumns:
    """Every answer, then every image that answers nothing."""
    parts = [_arrays(connection, query, _KINDS) for query in (_ANSWERS, _ALONE)]
    return RowColumns(*(np.concatenate(both) for both in zip(*parts, strict=True)))


def read_prompts(connection: Connection) -> tuple[Ints, list[str], list[str]]:
    """Ids, suites and texts of all prompts, by id."""
    rows = database.fetch(connection, "SELECT id, suite, text FROM prompt ORDER BY id")
    ids = np.array([row[0] for row in rows], np.int64)
    return ids, [row[1] for row in rows], [row[2] for row in rows]


def read_names(connection: Connection, table: str) -> dict[int, str]:
    """The names of systems or of collections, by id."""
    assert table in ("system", "collection")
    return dict(database.fetch(connection, f'SELECT id, name FROM "{table}" ORDER BY id'))


def read_system_kinds(connection: Connection) -> dict[str, str]:
    """Generator or retriever, by system."""
    return dict(database.fetch(connection, "SELECT name, kind FROM system ORDER BY id"))


def read_settings(connection: Connection) -> dict[int, Mapping[str, Any]]:
    """Every set of generator settings, by id."""
    rows = database.fetch(connection, "SELECT id, json FROM settings ORDER BY id")
    found = ((key, decoded(cell)) for key, cell in rows)
    return {int(key): value for key, value in found if isinstance(value, Mapping)}


def read_tag_names(connection: Connection) -> list[str]:
    """The names of the tags that prompts or images have."""
    query = "SELECT name FROM prompt_tag UNION SELECT name FROM image_tag ORDER BY 1"
    return [row[0] for row in database.fetch(connection, query)]


def read_tag(connection: Connection, name: str) -> list[tuple[int, int, str]]:
    """The values of a tag as (prompt id, image id, value), 0 where it is of the other alone."""
    of_prompts = "SELECT prompt_id, 0, value FROM prompt_tag WHERE name = ? ORDER BY prompt_id"
    of_images = "SELECT prompt_id, image_id, value FROM image_tag WHERE name = ? ORDER BY prompt_id, image_id"
    return [row for query in (of_prompts, of_images) for row in database.fetch(connection, query, [name])]


def read_votes(connection: Connection, question: str) -> Votes:
    """The votes that count on a question of any version: no controls, nobody that the owner excluded."""
    # Whether a vote was revised is asked of each where one was at all; so is whose it is.
    revised = database.fetch(connection, "SELECT 1 FROM judgement WHERE revision > 0 LIMIT 1")
    excluded = database.fetch(connection, "SELECT 1 FROM annotator WHERE excluded IS NOT NULL LIMIT 1")
    counts = LATEST if revised else "j.value IS NOT NULL"
    if excluded:
        people = "SELECT id FROM annotator WHERE excluded IS NOT NULL"
        counts += f" AND (j.annotator_id IS NULL OR j.annotator_id NOT IN ({people}))"
    asked = "j.question_id IN (SELECT id FROM question WHERE name = ?)"
    query = f"SELECT j.item_id, j.value, j.n FROM judgement j WHERE {asked} AND j.control = 0 AND {counts}"
    item, value, n = _arrays(connection, query, (np.int64, np.float64, np.int64), [question])
    query = (
        "SELECT s.id, s.prompt_id, s.system_id, s.image_id, s.image_b, s.image_c, "
        "CASE WHEN s.image_b = 0 AND s.image_c = 0 AND s.system_b = 0 THEN 1 ELSE 0 END FROM item s "
        "WHERE s.id IN (SELECT j.item_id FROM judgement j WHERE "
        f"{asked}) ORDER BY s.id"
    )
    items = Items(*_arrays(connection, query, (*[np.int64] * 6, np.bool_), [question]))
    return Votes(items, np.searchsorted(items.id, item), value, n)


def read_truths(connection: Connection, settlements: Sequence[int]) -> Keyed:
    """The truths of items that are no comparison, NaN where there is none for a reason.

    Of an item that several of these settlements speak of, the first has the last word: it comes last.
    """
    query = (
        "SELECT s.prompt_id, s.system_id, s.image_id, t.value FROM truth t JOIN item s ON s.id = t.item_id "
        "WHERE t.settlement_id = ? AND s.image_b = 0 AND s.image_c = 0 AND s.system_b = 0"
    )
    kinds = (np.int64, np.int64, np.int64, np.float64)
    parts = [_arrays(connection, query, kinds, [each]) for each in reversed(settlements)]
    return Keyed(*(np.concatenate(each) for each in zip(*parts, strict=True)))


def has_votes(connection: Connection, question: str) -> bool:
    """Whether anybody judged a question."""
    query = "SELECT 1 FROM judgement WHERE question_id IN (SELECT id FROM question WHERE name = ?) LIMIT 1"
    return bool(database.fetch(connection, query, [question]))


def read_measures(connection: Connection) -> list[Measured]:
    """The measures with scores, of each printed form the newest."""
    rows = database.fetch(
        connection,
        "SELECT m.id, m.kind, m.spec, m.direction, m.identity FROM measure m "
        "WHERE EXISTS (SELECT 1 FROM score c WHERE c.measure_id = m.id) ORDER BY m.id",
    )
    return list({(row[1], row[2]): Measured(*row) for row in rows}.values())


def read_scores(connection: Connection, measure_id: int) -> tuple[Keyed, Ints]:
    """The scores of a measure, and the hashes of what they were computed of."""
    query = (
        "SELECT prompt_id, system_id, image_id, value, inputs FROM score "
        "WHERE measure_id = ? AND value IS NOT NULL ORDER BY prompt_id, system_id, image_id"
    )
    kinds = (np.int64, np.int64, np.int64, np.float64, np.int64)
    *keyed, inputs = _arrays(connection, query, kinds, [measure_id])
    return Keyed(*keyed), inputs


def read_outcomes(connection: Connection, measure_id: int) -> list[tuple[int, int, int, float | None, int]]:
    """The scores of a measure, those without a value included, and the hashes of what they are of."""
    query = "SELECT prompt_id, system_id, image_id, value, inputs FROM score WHERE measure_id = ?"
    return [
        (row[0], row[1], row[2], row[3], row[4]) for row in database.fetch(connection, query, [measure_id])
    ]


def read_evidence(connection: Connection, measure_id: int, most: int = 0) -> list[tuple[int, int, int, Any]]:
    """What the scores of a measure rest on, as (prompt, system, image, evidence); at most so many."""
    limit = f" LIMIT {int(most)}" if most else ""
    query = f"SELECT prompt_id, system_id, image_id, json FROM evidence WHERE measure_id = ?{limit}"
    return [(*row[:3], decoded(row[3])) for row in database.fetch(connection, query, [measure_id])]


def read_fits(connection: Connection, settlements: Mapping[int, str]) -> list[Fitted]:
    """The newest fit of each predictor to each of these settlements, given with their questions."""
    rows = database.fetch(connection, "SELECT id, spec, settlement_id FROM fit ORDER BY id")
    rows = [row for row in rows if FOR not in row[1]]
    newest = {(spec, settlement): int(key) for key, spec, settlement in rows if settlement in settlements}
    return [Fitted(key, spec, to, settlements[to]) for (spec, to), key in newest.items()]


def read_predictions(connection: Connection, fit_id: int) -> Keyed:
    """What a fit predicted."""
    query = (
        "SELECT prompt_id, system_id, image_id, value FROM prediction "
        "WHERE fit_id = ? AND value IS NOT NULL ORDER BY prompt_id, system_id, image_id"
    )
    return Keyed(*_arrays(connection, query, (np.int64, np.int64, np.int64, np.float64), [fit_id]))


def read_change(study: Study) -> object:
    """What differs once anything at all was written, by whomever: it costs next to nothing."""
    if study.engine.dialect.name == "sqlite":
        file = Path(database.place(study.engine))
        return [_written(file), _written(file.with_name(f"{file.name}-wal"))]
    with database.reading(study.engine) as connection:
        return database.fetch(connection, "SELECT CAST(txid_current_snapshot() AS TEXT)")


def _written(file: Path) -> tuple[int, int] | None:
    with suppress(FileNotFoundError):
        about = file.stat()
        return about.st_mtime_ns, about.st_size
    return None


_STAMPS = {
    "rows": (
        "SELECT count(*), coalesce(max(id), 0) FROM image", "SELECT count(*) FROM answer",
        "SELECT count(*), coalesce(max(id), 0) FROM source", "SELECT count(*), max(id) FROM prompt",
        "SELECT count(*) FROM image WHERE sha256 IS NULL OR defect IS NOT NULL",
        "SELECT count(*), max(id) FROM system",
    ),
    "tags": tuple(
        f"SELECT count(*), sum(length(name) + 7 * length(value)), min(value), max(value) FROM {each}"
        for each in ("prompt_tag", "image_tag")
    ),
    "votes": (
        "SELECT count(*), coalesce(max(id), 0) FROM judgement",
        "SELECT count(*) FROM annotator WHERE excluded IS NOT NULL",
    ),
    "truths": ("SELECT count(*), coalesce(max(id), 0) FROM settlement", "SELECT count(*) FROM truth"),
    "scores": ("SELECT measure_id, count(*), count(value) FROM score GROUP BY measure_id ORDER BY 1",),
    "predictions": ("SELECT count(*), coalesce(max(id), 0) FROM fit", "SELECT count(*) FROM prediction"),
}  # fmt: skip
"""What each part of the columns rests on."""
PARTS = tuple(_STAMPS)


def read_stamps(connection: Connection) -> dict[str, object]:
    """For each part of the columns something that differs once it has to be read again."""
    return {
        part: [database.fetch(connection, query) for query in queries] for part, queries in _STAMPS.items()
    }


def _arrays(
    connection: Connection, query: str, kinds: Sequence[Any], values: Sequence[Any] = ()
) -> list[NDArray[Any]]:
    """The columns of a query; of a long result only a chunk is ever held as Python's objects."""
    cursor = connection.connection.cursor()
    cursor.execute(query.replace("?", "%s") if connection.dialect.name == "postgresql" else query, values)
    chunks: list[list[NDArray[Any]]] = [[np.empty(0, kind)] for kind in kinds]
    while rows := cursor.fetchmany(CHUNK):
        for kept, kind, cells in zip(chunks, kinds, zip(*rows, strict=True), strict=True):
            kept.append(np.array(cells, dtype=kind))
    cursor.close()
    return [np.concatenate(kept) for kept in chunks]
