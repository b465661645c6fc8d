"""A study as data frames: what verbs and reports read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from sqlalchemy import Connection, Engine, text

from sightline.errors import DataError, UsageError, near
from sightline.records import AnnotatorKey, Prompt, PromptKey, Question, Votes
from sightline.study.schema import database

if TYPE_CHECKING:
    import polars as pl

TABLES = (
    "prompt",
    "system",
    "image",
    "caption",
    "answer",
    "question",
    "annotator",
    "judgement",
    "truth",
    "score",
)


class Readable(Protocol):
    """What reading needs of a study."""

    @property
    def name(self) -> str: ...
    @property
    def engine(self) -> Engine: ...


def counts(study: Readable) -> dict[str, int]:
    """How many rows the main tables hold, and how many images have their bytes."""
    with database.reading(study.engine) as connection:
        result = {
            name: int(connection.exec_driver_sql(f'SELECT count(*) FROM "{name}"').scalar_one())
            for name in (*TABLES, "collection", "source", "measure", "prediction")
        }
        result["image_file"] = int(
            connection.exec_driver_sql("SELECT count(*) FROM image WHERE sha256 IS NOT NULL").scalar_one()
        )
    return result


_remembered: ContextVar[dict[Any, Any] | None] = ContextVar("remembered", default=None)


@contextmanager
def remembering() -> Iterator[None]:
    """Within it, what is read once is not read again: for work that only reads, such as a report."""
    if _remembered.get() is not None:
        yield
        return
    token = _remembered.set({})
    try:
        yield
    finally:
        _remembered.reset(token)


def frame(study: Readable, query: str, schema: Mapping[str, Any], **values: Any) -> pl.DataFrame:
    """The rows of a query as a frame with these column types."""
    import polars as pl

    known = _remembered.get()
    key = (study.engine, query, *sorted(values.items()))
    if known is not None and key in known:
        found: pl.DataFrame = known[key]
        return found
    with database.reading(study.engine) as connection:
        rows = connection.execute(text(query), values).fetchall()
    read = pl.DataFrame([tuple(row) for row in rows], schema=dict(schema), orient="row")
    if known is not None:
        known[key] = read
    return read


def prompts(study: Readable) -> pl.DataFrame:
    """Every prompt: id, suite, ref, text."""
    import polars as pl

    schema = {"prompt_id": pl.Int64, "suite": pl.String, "ref": pl.String, "text": pl.String}
    return frame(study, "SELECT id, suite, ref, text FROM prompt ORDER BY id", schema)


def tags(study: Readable) -> pl.DataFrame:
    """Every tag of every prompt."""
    import polars as pl

    schema = {"prompt_id": pl.Int64, "name": pl.String, "value": pl.String}
    return frame(study, "SELECT prompt_id, name, value FROM prompt_tag ORDER BY prompt_id, name", schema)


def links(study: Readable) -> pl.DataFrame:
    """Every link between prompts."""
    import polars as pl

    schema = {"prompt_id": pl.Int64, "kind": pl.String, "to_prompt_id": pl.Int64}
    return frame(study, "SELECT prompt_id, kind, to_prompt_id FROM prompt_link ORDER BY 1, 2, 3", schema)


def systems(study: Readable) -> pl.DataFrame:
    """Every system with its kind and how many answers it gave."""
    import polars as pl

    schema = {"system_id": pl.Int64, "system": pl.String, "kind": pl.String, "answers": pl.Int64}
    return frame(
        study,
        "SELECT s.id, s.name, s.kind, count(a.position) FROM system s "
        "LEFT JOIN answer a ON a.system_id = s.id "
        "GROUP BY s.id, s.name, s.kind ORDER BY s.id",
        schema,
    )


def images(study: Readable) -> pl.DataFrame:
    """Every image with its collection, content hash and size where its bytes are here."""
    import polars as pl

    schema = {
        "image_id": pl.Int64,
        "collection": pl.String,
        "name": pl.String,
        "sha256": pl.String,
        "width": pl.Int64,
        "height": pl.Int64,
        "defect": pl.String,
    }
    return frame(
        study,
        "SELECT i.id, c.name, i.name, i.sha256, i.width, i.height, i.defect FROM image i "
        "JOIN collection c ON c.id = i.collection_id ORDER BY i.id",
        schema,
    )


def captions(study: Readable) -> pl.DataFrame:
    """Every caption."""
    import polars as pl

    schema = {"image_id": pl.Int64, "n": pl.Int64, "caption": pl.String}
    return frame(study, "SELECT image_id, n, text FROM caption ORDER BY image_id, n", schema)


def answers(study: Readable, kind: str | None = None) -> pl.DataFrame:
    """Every answer with its system and its image's content hash; `kind` keeps generators or retrievers."""
    import polars as pl

    schema = {
        "system_id": pl.Int64,
        "system": pl.String,
        "prompt_id": pl.Int64,
        "position": pl.Int64,
        "image_id": pl.Int64,
        "sha256": pl.String,
        "score": pl.Float64,
        "seed": pl.Int64,
        "failure": pl.String,
    }
    return frame(
        study,
        "SELECT a.system_id, s.name, a.prompt_id, a.position, a.image_id, i.sha256, a.score, a.seed, "
        "a.failure "
        "FROM answer a JOIN system s ON s.id = a.system_id LEFT JOIN image i ON i.id = a.image_id "
        "WHERE (:kind = '' OR s.kind = :kind) ORDER BY a.system_id, a.prompt_id, a.position",
        schema,
        kind=kind or "",
    )


def questions(study: Readable, within: Connection | None = None) -> list[tuple[int, Question]]:
    """Every question, the newest version of each, with its id; `within` is a transaction under way."""
    with nullcontext(within) if within is not None else database.reading(study.engine) as connection:
        rows = connection.execute(
            text(
                "SELECT id, name, scale, low, high, step, labels, wording, direction "
                "FROM question ORDER BY version, id"
            )
        ).fetchall()
    newest = {}
    for key, name, scale, low, high, step, labels, wording, direction in rows:
        names = json.loads(labels) if isinstance(labels, str) else labels
        newest[name] = (int(key), Question(name, scale, low, high, step, names or {}, wording, direction))
    return list(newest.values())


def question(study: Readable, name: str) -> tuple[int, Question]:
    """One question by name, or an error that suggests near names."""
    known = {each.name: (key, each) for key, each in questions(study)}
    if name not in known:
        raise UsageError(f"no question is called {name!r} in this study", remedy=near(name, known))
    return known[name]


def votes(study: Readable, name: str, excluded: Iterable[int] = ()) -> tuple[Votes, pl.DataFrame, list[int]]:
    """The counted votes on a question as columns, their items in order, and annotator ids.

    The latest revision counts; skipped items and excluded annotators are left out. Where nobody is named and
    every item has one verdict an repetition, a verdict given again replaces the earlier one.
    """
    import numpy as np

    key, asked = question(study, name)
    gone = set(excluded)
    with database.reading(study.engine) as connection:
        rows = connection.execute(
            text(
                "SELECT j.item_id, j.annotator_id, j.value, j.n, j.session, j.took_ms, j.repetition, "
                "j.control "
                "FROM judgement j "
                "WHERE j.question_id = :question AND j.value IS NOT NULL AND (j.annotator_id IS NULL "
                "OR NOT EXISTS (SELECT 1 FROM judgement k WHERE k.annotator_id = j.annotator_id "
                "AND k.question_id = j.question_id AND k.item_id = j.item_id "
                "AND k.repetition = j.repetition AND k.revision > j.revision)) "
                "ORDER BY j.item_id, j.id"
            ),
            {"question": key},
        ).fetchall()
        people = connection.execute(text("SELECT id, panel, name FROM annotator ORDER BY id")).fetchall()
        newest = text("SELECT coalesce(max(id), 0) FROM judgement WHERE question_id = :question")
        up_to = int(connection.execute(newest, {"question": key}).scalar_one())
    rows = [row for row in rows if row[1] not in gone]
    everything = len(rows)
    rows = _latest_verdicts(rows)
    order = {int(row[0]): i for i, row in enumerate(people)}
    item_ids = list(dict.fromkeys(int(row[0]) for row in rows))
    place = {item: i for i, item in enumerate(item_ids)}
    sessions = {session: i for i, session in enumerate(dict.fromkeys(row[4] for row in rows))}
    table = Votes(
        item=np.array([place[int(row[0])] for row in rows], dtype=np.int64),
        annotator=np.array([-1 if row[1] is None else order[int(row[1])] for row in rows], dtype=np.int64),
        value=np.array([row[2] for row in rows], dtype=np.float64),
        n=np.array([row[3] for row in rows], dtype=np.int64),
        session=np.array([sessions[row[4]] for row in rows], dtype=np.int64),
        took_ms=np.array([np.nan if row[5] is None else row[5] for row in rows], dtype=np.float64),
        control=np.array([bool(row[7]) for row in rows], dtype=np.bool_),
        repetition=np.array([row[6] for row in rows], dtype=np.int64),
        items=len(item_ids),
        annotators=[AnnotatorKey(panel, person) for _, panel, person in people],
        question=asked,
        superseded=everything - len(rows),
        up_to=up_to,
    )
    return table, items(study, item_ids), [int(row[0]) for row in people]


def annotators(study: Readable) -> pl.DataFrame:
    """Everybody who judged or was invited to."""
    import polars as pl

    schema = {
        "annotator_id": pl.Int64,
        "panel": pl.String,
        "name": pl.String,
        "role": pl.String,
        "language": pl.String,
        "left_out": pl.String,
    }
    return frame(study, "SELECT id, panel, name, role, language, excluded FROM annotator ORDER BY id", schema)


def known_answers(study: Readable, question_id: int) -> list[tuple[int, str, float, float]]:
    """The answers to control items that are known beforehand: item, kind, expected, tolerance."""
    with database.reading(study.engine) as connection:
        rows = connection.execute(
            text("SELECT item_id, kind, expected, tolerance FROM control WHERE question_id = :q ORDER BY id"),
            {"q": question_id},
        ).fetchall()
    return [(int(row[0]), row[1], row[2], row[3]) for row in rows]


def _latest_verdicts(rows: Sequence[Any]) -> list[Any]:
    """The last repetition of each item, if all votes are single anonymous verdicts; else all rows."""
    last: dict[int, int] = {}
    met: set[tuple[int, int]] = set()
    for item, annotator, _, n, _, _, repetition, _ in rows:
        if annotator is not None or n != 1 or (item, repetition) in met:
            return list(rows)
        met.add((item, repetition))
        last[item] = max(repetition, last.get(item, 0))
    return [row for row in rows if row[6] == last[row[0]]]


def items(study: Readable, ids: Sequence[int]) -> pl.DataFrame:
    """The parts of these items, in the order given; 0 where a part does not belong."""
    import polars as pl

    names = ["prompt_id", "system_id", "image_id", "image_b", "image_c"]
    with database.reading(study.engine) as connection:
        database.matching(connection, [("id", "BIGINT")], [(key,) for key in ids])
        rows = connection.exec_driver_sql(
            f"SELECT s.id, {', '.join('s.' + n for n in names)} FROM wanted w JOIN item s ON s.id = w.id"
        ).fetchall()
    at = {row[0]: row for row in rows}
    schema = {"item_id": pl.Int64, **{name: pl.Int64 for name in names}}
    return pl.DataFrame([tuple(at[key]) for key in ids], schema=schema, orient="row")


TRUTH_COLUMNS = ("settlement_id", "item_id", "prompt_id", "system_id", "image_id", "image_b", "image_c")


def counting_settlements(study: Readable, name: str, rule: str | None = None) -> list[int]:
    """The settlements of a question that count, the strongest first.

    The newest one settled here comes first; then all that was published, the newest first: published truth
    arrives in parts, each about prompts and images of its own, and none of it may vanish behind another.
    """
    key, _ = question(study, name)
    with database.reading(study.engine) as connection:
        rows = connection.execute(
            text(
                "SELECT id, up_to FROM settlement WHERE question_id = :question "
                "AND (:rule = '' OR rule = :rule) ORDER BY id DESC"
            ),
            {"question": key, "rule": rule or ""},
        ).fetchall()
    here = [int(row[0]) for row in rows if row[1] > 0]
    return here[:1] + [int(row[0]) for row in rows if row[1] == 0]


def newest_settlement(study: Readable, name: str) -> int | None:
    """The strongest settlement of a question, if it has any."""
    return next(iter(counting_settlements(study, name)), None)


def about_systems(study: Readable) -> list[str]:
    """The questions whose truth tells systems apart: of a system's answers, or of images it generated."""
    known = _remembered.get()
    key = (study.engine, "about_systems")
    if known is None:
        known = {}
    if key not in known:
        known[key] = [asked.name for _, asked in questions(study) if _tells_systems(study, asked.name)]
    return list(known[key])


def _tells_systems(study: Readable, name: str) -> bool:
    for settlement in counting_settlements(study, name):
        with database.reading(study.engine) as connection:
            match = connection.execute(
                text(
                    "SELECT 1 FROM truth t JOIN item s ON s.id = t.item_id "
                    "WHERE t.settlement_id = :settlement AND t.value IS NOT NULL AND s.image_b = 0 AND ("
                    "(s.prompt_id > 0 AND s.system_id > 0 AND s.image_id = 0) OR EXISTS ("
                    "SELECT 1 FROM answer a JOIN system y ON y.id = a.system_id AND y.kind = 'generator' "
                    "WHERE a.image_id = s.image_id AND s.image_id > 0 "
                    "AND (s.prompt_id = 0 OR a.prompt_id = s.prompt_id))) LIMIT 1"
                ),
                {"settlement": settlement},
            ).scalar()
        if match is not None:
            return True
    return False


def truths(study: Readable, name: str, rule: str | None = None) -> pl.DataFrame:
    """The truth of a question, one row per item: from the strongest settlement that covers it."""
    import polars as pl

    schema = {
        **{column: pl.Int64 for column in TRUTH_COLUMNS},
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n": pl.Int64,
        "reason": pl.String,
    }
    parts = [
        frame(
            study,
            "SELECT t.settlement_id, t.item_id, s.prompt_id, s.system_id, s.image_id, s.image_b, "
            "s.image_c, t.value, t.low, t.high, t.n, t.reason FROM truth t "
            "JOIN item s ON s.id = t.item_id WHERE t.settlement_id = :settlement ORDER BY t.item_id",
            schema,
            settlement=settlement,
        )
        for settlement in counting_settlements(study, name, rule)
    ]
    if not parts:
        return pl.DataFrame(schema=schema)
    return pl.concat(parts).unique("item_id", keep="first", maintain_order=True).sort("item_id")


def settlements(study: Readable) -> pl.DataFrame:
    """Every settlement: question, rule, screening, when, how many truths, whether votes came in since."""
    import polars as pl

    schema = {
        "settlement_id": pl.Int64,
        "question": pl.String,
        "rule": pl.String,
        "screening": pl.String,
        "up_to": pl.Int64,
        "at": pl.String,
        "truths": pl.Int64,
        "newer_votes": pl.Int64,
    }
    return frame(
        study,
        "SELECT e.id, q.name, e.rule, e.screening, e.up_to, e.at, "
        "(SELECT count(*) FROM truth t WHERE t.settlement_id = e.id), "
        "(SELECT count(*) FROM judgement j WHERE j.question_id = e.question_id AND j.id > e.up_to "
        "AND e.up_to > 0) "
        "FROM settlement e JOIN question q ON q.id = e.question_id ORDER BY e.id",
        schema,
    )


def settlement_notes(study: Readable, settlement_id: int) -> dict[str, Any]:
    """Who was left out of a settlement, and how far the others agreed."""
    with database.reading(study.engine) as connection:
        found = connection.execute(
            text("SELECT notes FROM settlement WHERE id = :settlement"), {"settlement": settlement_id}
        ).scalar()
    notes: dict[str, Any] = (json.loads(found) if isinstance(found, str) else found) or {}
    return notes


def predictions(study: Readable, settlement_id: int) -> pl.DataFrame:
    """What the newest fit of each predictor to a settlement predicted."""
    import polars as pl

    schema = {
        "spec": pl.String,
        "prompt_id": pl.Int64,
        "fold": pl.Int64,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
    }
    return frame(
        study,
        "SELECT f.spec, p.prompt_id, p.fold, p.value, p.low, p.high FROM prediction p "
        "JOIN fit f ON f.id = p.fit_id WHERE p.value IS NOT NULL AND f.id IN "
        "(SELECT max(g.id) FROM fit g WHERE g.settlement_id = :settlement GROUP BY g.spec) "
        "ORDER BY f.id, p.prompt_id",
        schema,
        settlement=settlement_id,
    )


def scores(study: Readable, identity: str) -> pl.DataFrame:
    """The scores of one measure, values and reasons."""
    import polars as pl

    schema = {
        "prompt_id": pl.Int64,
        "system_id": pl.Int64,
        "image_id": pl.Int64,
        "value": pl.Float64,
        "reason": pl.String,
    }
    return frame(
        study,
        "SELECT c.prompt_id, c.system_id, c.image_id, c.value, c.reason FROM score c "
        "JOIN measure m ON m.id = c.measure_id WHERE m.identity = :identity "
        "ORDER BY c.prompt_id, c.system_id, c.image_id",
        schema,
        identity=identity,
    )


def measures(study: Readable) -> pl.DataFrame:
    """Every measure with scores in the study."""
    import polars as pl

    schema = {
        "measure_id": pl.Int64,
        "kind": pl.String,
        "measure": pl.String,
        "version": pl.Int64,
        "direction": pl.String,
        "identity": pl.String,
        "values": pl.Int64,
        "without": pl.Int64,
    }
    return frame(
        study,
        "SELECT m.id, m.kind, m.spec, m.version, m.direction, m.identity, count(c.value), count(c.reason) "
        "FROM measure m LEFT JOIN score c ON c.measure_id = m.id "
        "GROUP BY m.id, m.kind, m.spec, m.version, m.direction, m.identity ORDER BY m.id",
        schema,
    )


def prompt_records(study: Readable, ids: Sequence[int] | None = None) -> dict[int, Prompt]:
    """Prompts as extensions see them, by id."""
    with database.reading(study.engine) as connection:
        inner, tag_inner = "", ""
        if ids is not None:
            database.matching(connection, [("id", "BIGINT")], [(key,) for key in ids])
            inner, tag_inner = "JOIN wanted w ON w.id = p.id", "JOIN wanted w ON w.id = t.prompt_id"
        rows = connection.exec_driver_sql(
            f"SELECT p.id, p.suite, p.ref, p.text, p.expects FROM prompt p {inner} ORDER BY p.id"
        ).fetchall()
        tagged: dict[int, dict[str, str]] = {}
        for key, name, value in connection.exec_driver_sql(
            f"SELECT t.prompt_id, t.name, t.value FROM prompt_tag t {tag_inner}"
        ):
            tagged.setdefault(int(key), {})[name] = value
    found = {}
    for key, suite, ref, wording, expects in rows:
        expected = json.loads(expects) if isinstance(expects, str) else expects
        found[int(key)] = Prompt(PromptKey(suite, ref), wording, tagged.get(int(key), {}), (), expected)
    return found


def need_prompts(study: Readable) -> None:
    """Raise if the study is still empty."""
    if counts(study)["prompt"] == 0:
        raise DataError(
            "the study is empty",
            where=study.name,
            remedy=f"Bring data in first: sightline import {study.name} PATH",
        )
