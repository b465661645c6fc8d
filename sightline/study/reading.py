"""A study as data frames: what verbs and reports read."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from sqlalchemy import Connection, Engine, text

from sightline.errors import DataError, UsageError, near
from sightline.records import BOTH_BAD, AnnotatorKey, Prompt, PromptKey, Question, Votes
from sightline.study.contents import NAME_ONLY, current_inputs
from sightline.study.counting import in_one_order, latest_verdicts
from sightline.study.schema import database, tables

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


ROWS = 10_000
"""That are in memory at once where a table is read in parts."""
UNREVISED = (
    "(j.annotator_id IS NULL OR NOT EXISTS "
    "(SELECT 1 FROM judgement k WHERE k.annotator_id = j.annotator_id AND k.question_id = j.question_id "
    "AND k.item_id = j.item_id AND k.group_name = j.group_name AND k.repetition = j.repetition "
    "AND k.revision > j.revision))"
)
"""That the annotator of a judgement `j` did not revise it."""
LATEST = f"j.value IS NOT NULL AND {UNREVISED}"
"""That a judgement `j` counts: it has a value, and its annotator did not revise it."""


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


Made = TypeVar("Made")
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


def once(study: Readable, key: Hashable, make: Callable[[], Made]) -> Made:
    """What `make` gives; within `remembering` it is made once for a study and key."""
    known = _remembered.get()
    if known is None:
        return make()
    if (study.engine, key) not in known:
        known[study.engine, key] = make()
    made: Made = known[study.engine, key]
    return made


def frame(study: Readable, query: str, columns: str, **values: Any) -> pl.DataFrame:
    """The rows of a query as a frame; `columns` names its columns, with :int or :float after numbers."""
    import polars as pl

    key = (query, *sorted(values.items()))
    return once(study, key, lambda: pl.concat(frames(study, query, columns, **values)))


def frames(study: Readable, query: str, columns: str, **values: Any) -> Iterator[pl.DataFrame]:
    """The same as frames of at most ROWS rows, read as they are asked for; at least one, maybe empty."""
    import polars as pl

    types = {"": pl.String, "int": pl.Int64, "float": pl.Float64}
    named = (column.partition(":") for column in columns.split())
    schema = {name: types[kind] for name, _, kind in named}
    empty = True
    with database.reading(study.engine) as connection:
        # On PostgreSQL a cursor of the server: the driver would fetch all rows before the first is seen.
        found = connection.execute(text(query), values, execution_options={"yield_per": ROWS})
        for rows in found.partitions(ROWS):
            empty = False
            yield pl.DataFrame([tuple(row) for row in rows], schema=schema, orient="row")
    if empty:
        yield pl.DataFrame(schema=schema)


def fetch_rows(study: Readable, query: str, **values: Any) -> list[Any]:
    """The rows of a query."""
    with database.reading(study.engine) as connection:
        return list(connection.execute(text(query), values))


def decoded(cell: Any) -> Any:
    """The value of a JSON column: SQLite gives its text, PostgreSQL the value itself."""
    return json.loads(cell) if isinstance(cell, str) else cell


def prompts(study: Readable) -> pl.DataFrame:
    """Every prompt: id, suite, ref, text."""
    return frame(study, "SELECT id, suite, ref, text FROM prompt ORDER BY id", "prompt_id:int suite ref text")


def tags(study: Readable) -> pl.DataFrame:
    """Every tag of every prompt."""
    return frame(
        study,
        "SELECT prompt_id, name, value FROM prompt_tag ORDER BY prompt_id, name",
        "prompt_id:int name value",
    )


def image_tags(study: Readable) -> pl.DataFrame:
    """Every tag of every image; `prompt_id` is 0 where it holds whatever prompt the image answers."""
    return frame(
        study,
        "SELECT image_id, prompt_id, name, value FROM image_tag ORDER BY image_id, prompt_id, name",
        "image_id:int prompt_id:int name value",
    )


def links(study: Readable) -> pl.DataFrame:
    """Every link between prompts."""
    return frame(
        study,
        "SELECT prompt_id, kind, to_prompt_id FROM prompt_link ORDER BY 1, 2, 3",
        "prompt_id:int kind to_prompt_id:int",
    )


def systems(study: Readable) -> pl.DataFrame:
    """Every system with its kind, how many answers it gave, and the collection it searches, if any."""
    return frame(
        study,
        "SELECT y.id, y.name, y.kind, count(a.position), c.name FROM system y "
        "LEFT JOIN answer a ON a.system_id = y.id LEFT JOIN collection c ON c.id = y.collection_id "
        "GROUP BY y.id, y.name, y.kind, c.name ORDER BY y.id",
        "system_id:int system kind answers:int collection",
    )


def images(study: Readable) -> pl.DataFrame:
    """Every image with its collection, content hash and size where its bytes are here."""
    return frame(
        study,
        "SELECT i.id, c.name, i.name, i.sha256, i.width, i.height, i.defect FROM image i "
        "JOIN collection c ON c.id = i.collection_id ORDER BY i.id",
        "image_id:int collection name sha256 width:int height:int defect",
    )


def captions(study: Readable) -> pl.DataFrame:
    """Every caption."""
    return frame(
        study, "SELECT image_id, n, text FROM caption ORDER BY image_id, n", "image_id:int n:int caption"
    )


ANSWERS = (
    "SELECT a.system_id, s.name, a.prompt_id, a.position, a.image_id, i.sha256, a.score, a.seed, "
    "a.failure "
    "FROM answer a JOIN system s ON s.id = a.system_id LEFT JOIN image i ON i.id = a.image_id "
    "WHERE (:kind = '' OR s.kind = :kind) ORDER BY a.system_id, a.prompt_id, a.position",
    "system_id:int system prompt_id:int position:int image_id:int sha256 score:float seed:int failure",
)


def answers(study: Readable, kind: str | None = None) -> pl.DataFrame:
    """Every answer with its system and its image's content hash; `kind` keeps generators or retrievers."""
    return frame(study, *ANSWERS, kind=kind or "")


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
        names = decoded(labels) or {}
        newest[name] = (int(key), Question(name, scale, low, high, step, names, wording, direction))
    return list(newest.values())


def question(study: Readable, name: str) -> tuple[int, Question]:
    """One question by name, or an error that suggests near names."""
    known = {each.name: (key, each) for key, each in questions(study)}
    if name not in known:
        raise UsageError(f"no question is called {name!r} in this study", remedy=near(name, known))
    return known[name]


YES_AND_NO = {0.0, 1.0}


def with_ends(asked: Question) -> Question:
    """A question of which nothing but 0 and 1 is known, with these as the ends of its scale."""
    if (
        asked.low is not None
        or asked.high is not None
        or not {float(each) for each in asked.labels} <= YES_AND_NO
    ):
        return asked
    return asked._replace(low=0.0, high=1.0)


CAST = (
    "SELECT j.item_id, j.annotator_id, j.value, j.n, j.session, j.took_ms, j.repetition, j.control, j.id, "
    "coalesce(s.swapped, 0) FROM judgement j LEFT JOIN task_slot s ON s.task_id = j.task_id "
    f"AND s.slot = j.slot WHERE j.question_id = :question AND {LATEST} ORDER BY j.item_id, j.id"
)
CAST_COLUMNS = (
    "item_id:int annotator_id:int value:float n:int session took_ms:int repetition:int control:int id:int "
    "mirrored:int"
)
VOTED = (
    "SELECT s.id, s.prompt_id, s.system_id, s.image_id, s.image_b, s.image_c, s.system_b FROM item s "
    "WHERE s.id IN (SELECT item_id FROM judgement WHERE question_id = :question) ORDER BY s.id"
)
VOTED_COLUMNS = "item_id:int prompt_id:int system_id:int image_id:int image_b:int image_c:int system_b:int"


def votes(study: Readable, name: str, excluded: Iterable[int] = ()) -> tuple[Votes, pl.DataFrame, list[int]]:
    """The counted votes on a question as columns, their items in order, and annotator ids.

    The latest revision counts; skipped items and excluded annotators are left out. Where nobody is named and
    every item has one verdict per repetition, a verdict given again replaces the earlier one. A choice
    between two sides is one item whichever came first: of an item and its reverse, the votes on the later
    one are mirrored and count as votes on the earlier one.
    """
    import numpy as np
    import polars as pl

    key, asked = question(study, name)
    # First: a vote that arrives while others are read counts, and is newer than what is settled of them.
    newest = "SELECT coalesce(max(id), 0) FROM judgement WHERE question_id = :question"
    up_to = int(fetch_rows(study, newest, question=key)[0][0])
    cast = pl.concat(frames(study, CAST, CAST_COLUMNS, question=key))
    person = pl.col("annotator_id")
    cast = cast.filter(person.is_null() | ~person.is_in(list(excluded)))
    people = fetch_rows(study, "SELECT id, panel, name FROM annotator ORDER BY id")
    parts = pl.concat(frames(study, VOTED, VOTED_COLUMNS, question=key))
    everything = in_one_order(asked, cast, parts)
    cast = latest_verdicts(everything)
    if cast.height and set(cast["value"].unique()) <= YES_AND_NO:
        asked = with_ends(asked)
    ids = [int(row[0]) for row in people]
    numbers = np.searchsorted(ids, cast["annotator_id"].fill_null(0).to_numpy())
    sessions = cast["session"].unique(maintain_order=True)
    table = Votes(
        item=cast["item_id"].rank("dense").cast(pl.Int64).to_numpy() - 1,
        annotator=np.where(cast["annotator_id"].is_null().to_numpy(), -1, numbers).astype(np.int64),
        value=cast["value"].to_numpy(),
        n=cast["n"].to_numpy(),
        session=cast["session"]
        .replace_strict(sessions, range(len(sessions)), return_dtype=pl.Int64)
        .to_numpy(),
        took_ms=cast["took_ms"].cast(pl.Float64).fill_null(np.nan).to_numpy(),
        control=cast["control"].cast(pl.Boolean).to_numpy(),
        repetition=cast["repetition"].to_numpy(),
        items=cast["item_id"].n_unique(),
        annotators=[AnnotatorKey(panel, person) for _, panel, person in people],
        question=asked,
        superseded=everything.height - cast.height,
        up_to=up_to,
        mirrored=cast["mirrored"].cast(pl.Boolean).to_numpy(),
    )
    return table, parts.join(cast.select("item_id"), on="item_id", how="semi", maintain_order="left"), ids


def answered(study: Readable) -> pl.DataFrame:
    """How often each system answered each prompt: `lost` answers failed, `good` ones did not."""
    return frame(
        study,
        "SELECT a.prompt_id, a.system_id, s.name, count(a.failure), count(*) - count(a.failure) "
        "FROM answer a JOIN system s ON s.id = a.system_id "
        "GROUP BY a.prompt_id, a.system_id, s.name ORDER BY a.prompt_id, a.system_id",
        "prompt_id:int system_id:int system lost:int good:int",
    )


def only_yes_and_no(study: Readable, name: str) -> bool:
    """Whether every value of a question, judged or published, is 0 or 1, and there is one."""
    key, _ = question(study, name)
    judged = "FROM judgement WHERE question_id = :question AND value IS NOT NULL"
    settled = (
        "FROM truth t JOIN settlement e ON e.id = t.settlement_id "
        "WHERE e.question_id = :question AND e.up_to = 0 AND value IS NOT NULL"
    )
    kinds = [
        source
        for source in (judged, settled)
        if fetch_rows(study, f"SELECT 1 {source} LIMIT 1", question=key)
    ]
    other = "AND value NOT IN (0, 1) LIMIT 1"
    return bool(kinds) and not any(
        fetch_rows(study, f"SELECT 1 {source} {other}", question=key) for source in kinds
    )


def ballots(study: Readable, name: str) -> pl.DataFrame:
    """Every judgement of a question that is no control, both_bad verdicts included, with its item's parts.

    The latest revision of each; other skipped items are left out. `annotator_id` is 0 where nobody is named.
    """
    key, _ = question(study, name)
    return frame(
        study,
        "SELECT j.id, j.item_id, s.prompt_id, s.system_id, s.system_b, s.image_id, s.image_b, s.image_c, "
        "coalesce(j.annotator_id, 0), j.value, j.n, j.repetition, j.group_name "
        "FROM judgement j JOIN item s ON s.id = j.item_id WHERE j.question_id = :question "
        f"AND j.control = 0 AND (j.value IS NOT NULL OR j.skipped = :both_bad) AND {UNREVISED} ORDER BY j.id",
        "id:int item_id:int prompt_id:int system_id:int system_b:int image_id:int image_b:int image_c:int "
        "annotator_id:int value:float n:int repetition:int group",
        question=key,
        both_bad=BOTH_BAD,
    )


def annotators(study: Readable) -> pl.DataFrame:
    """Everybody who judged or was invited to."""
    return frame(
        study,
        "SELECT id, panel, name, role, language, excluded FROM annotator ORDER BY id",
        "annotator_id:int panel name role language left_out",
    )


def known_answers(study: Readable, question_id: int) -> list[tuple[int, str, float, float]]:
    """The answers to control items that are known beforehand: item, kind, expected, tolerance."""
    query = "SELECT item_id, kind, expected, tolerance FROM control WHERE question_id = :q ORDER BY id"
    return [(int(row[0]), row[1], row[2], row[3]) for row in fetch_rows(study, query, q=question_id)]


def items(study: Readable, ids: Sequence[int]) -> pl.DataFrame:
    """The parts of these items, in the order given; 0 where a part does not belong."""
    import polars as pl

    names = ["prompt_id", "system_id", "image_id", "image_b", "image_c", "system_b"]
    with database.reading(study.engine) as connection:
        rows = database.look_up(connection, tables.item, ["id"], [(key,) for key in ids], names)
    at = {row[0]: row for row in rows}
    schema = dict.fromkeys(["item_id", *names], pl.Int64)
    return pl.DataFrame([at[key] for key in ids], schema=schema, orient="row")


def counting_settlements(study: Readable, name: str, rule: str | None = None) -> list[int]:
    """The settlements of a question that count, the strongest first.

    The newest one settled here comes first; then all that was published, the newest first: published truth
    arrives in parts, each about prompts and images of its own, and none of it may vanish behind another.
    """
    key, _ = question(study, name)
    rows = fetch_rows(
        study,
        "SELECT id, up_to FROM settlement WHERE question_id = :question "
        "AND (:rule = '' OR rule = :rule) ORDER BY id DESC",
        question=key,
        rule=rule or "",
    )
    here = [int(row[0]) for row in rows if row[1] > 0]
    return here[:1] + [int(row[0]) for row in rows if row[1] == 0]


def newest_settlement(study: Readable, name: str) -> int | None:
    """The strongest settlement of a question, if it has any."""
    return next(iter(counting_settlements(study, name)), None)


def about_systems(study: Readable) -> list[str]:
    """The questions whose truth tells systems apart: of a system's answers, or of images it generated."""
    return list(
        once(
            study,
            "about_systems",
            lambda: [asked.name for _, asked in questions(study) if _tells_systems(study, asked.name)],
        )
    )


def _tells_systems(study: Readable, name: str) -> bool:
    query = (
        "SELECT 1 FROM truth t JOIN item s ON s.id = t.item_id JOIN settlement e ON e.id = t.settlement_id "
        "WHERE t.settlement_id = :settlement AND t.value IS NOT NULL AND s.image_b = 0 AND s.system_b = 0 "
        # A place in an order depends on what else was in it.
        "AND NOT EXISTS (SELECT 1 FROM judgement j WHERE j.question_id = e.question_id "
        "AND j.item_id = t.item_id AND j.group_name <> '') "
        "AND ((s.prompt_id > 0 AND s.system_id > 0 AND s.image_id = 0) OR EXISTS ("
        "SELECT 1 FROM answer a JOIN system y ON y.id = a.system_id AND y.kind = 'generator' "
        "WHERE a.image_id = s.image_id AND s.image_id > 0 "
        "AND (s.prompt_id = 0 OR a.prompt_id = s.prompt_id))) LIMIT 1"
    )
    settlements = counting_settlements(study, name)
    return any(fetch_rows(study, query, settlement=settlement) for settlement in settlements)


def truths(study: Readable, name: str, rule: str | None = None) -> pl.DataFrame:
    """The truth of a question, one row per item: from the strongest settlement that covers it."""
    import polars as pl

    # A question that was never settled has the truths of a settlement that does not exist: none.
    parts = [
        frame(
            study,
            "SELECT t.settlement_id, t.item_id, s.prompt_id, s.system_id, s.image_id, s.image_b, "
            "s.image_c, s.system_b, t.value, t.low, t.high, t.n, t.reason FROM truth t "
            "JOIN item s ON s.id = t.item_id WHERE t.settlement_id = :settlement ORDER BY t.item_id",
            "settlement_id:int item_id:int prompt_id:int system_id:int image_id:int image_b:int "
            "image_c:int system_b:int value:float low:float high:float n:int reason",
            settlement=settlement,
        )
        for settlement in counting_settlements(study, name, rule) or [0]
    ]
    return pl.concat(parts).unique("item_id", keep="first", maintain_order=True).sort("item_id")


def settlements(study: Readable) -> pl.DataFrame:
    """Every settlement: question, rule, screening, when, how many truths, whether votes came in since."""
    return frame(
        study,
        "SELECT e.id, q.name, e.rule, e.screening, e.up_to, e.at, "
        "(SELECT count(*) FROM truth t WHERE t.settlement_id = e.id), "
        "(SELECT count(*) FROM judgement j WHERE j.question_id = e.question_id AND j.id > e.up_to "
        "AND e.up_to > 0) "
        "FROM settlement e JOIN question q ON q.id = e.question_id ORDER BY e.id",
        "settlement_id:int question rule screening up_to:int at truths:int newer_votes:int",
    )


def settlement_notes(study: Readable, settlement_id: int) -> dict[str, Any]:
    """Who was left out of a settlement, and how far the others agreed."""
    rows = fetch_rows(study, "SELECT notes FROM settlement WHERE id = :settlement", settlement=settlement_id)
    return (decoded(rows[0][0]) if rows else None) or {}


def scores(study: Readable, identity: str) -> pl.DataFrame:
    """The scores of one measure, values and reasons, of what the study holds now.

    Those of rankings are as they were stored.
    """
    return current_scores(study, stored_scores(study, identity)).drop("kind", "inputs")


STORED = (
    "SELECT m.kind, c.inputs, c.prompt_id, c.system_id, c.image_id, c.value, c.reason FROM score c "
    "JOIN measure m ON m.id = c.measure_id WHERE c.measure_id = :measure "
    "ORDER BY c.prompt_id, c.system_id, c.image_id"
)
SCORES = "kind inputs:int prompt_id:int system_id:int image_id:int value:float reason"


def stored_scores(study: Readable, identity: str) -> pl.DataFrame:
    """The scores of one measure as stored: some may be of contents that have changed since."""
    return frame(study, STORED, SCORES, measure=measure_id(study, identity))


def score_values(study: Readable, identity: str) -> pl.DataFrame:
    """The values of one measure of what the study holds now: prompt_id, system_id, image_id, value."""
    import polars as pl

    stored = frames(study, STORED, SCORES, measure=measure_id(study, identity))
    current = (current_scores(study, part).drop_nulls("value") for part in stored)
    return pl.concat(part.select("prompt_id", "system_id", "image_id", "value") for part in current)


def measure_id(study: Readable, identity: str) -> int:
    """The id of a measure, 0 where the study has no scores of it.

    By its id, not its identity, PostgreSQL plans for the scores this measure has, not for any measure's.
    """
    known = fetch_rows(study, "SELECT id FROM measure WHERE identity = :identity", identity=identity)
    return int(known[0][0]) if known else 0


def current_scores(study: Readable, stored: pl.DataFrame) -> pl.DataFrame:
    """Of scores with their kind, keys and inputs, those whose inputs are what the study holds now."""
    import polars as pl

    kept = []
    with database.reading(study.engine) as connection:
        for (kind,), part in stored.group_by("kind", maintain_order=True):
            kept += [_current(connection, str(kind), rows) for rows in part.iter_slices(ROWS)]
    return pl.concat(kept) if kept else stored


def _current(connection: Connection, kind: str, rows: pl.DataFrame) -> pl.DataFrame:
    import polars as pl

    keys = list(rows.select("prompt_id", "system_id", "image_id").iter_rows())
    now = current_inputs(connection, kind, keys)
    if now is None:
        return rows
    held = pl.Series([now.get(key) for key in keys], dtype=pl.Int64)
    # An imported score of an image whose bytes are not here is of the image of that name.
    return rows.filter(((held == rows["inputs"]) | (held == NAME_ONLY)).fill_null(False))


def measures(study: Readable) -> pl.DataFrame:
    """Every measure with scores in the study."""
    return frame(
        study,
        "SELECT m.id, m.kind, m.spec, m.version, m.direction, m.identity, count(c.value), count(c.reason) "
        "FROM measure m LEFT JOIN score c ON c.measure_id = m.id "
        "GROUP BY m.id, m.kind, m.spec, m.version, m.direction, m.identity ORDER BY m.id",
        "measure_id:int kind measure version:int direction identity values:int without:int",
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
    return {
        int(key): Prompt(PromptKey(suite, ref), wording, tagged.get(int(key), {}), (), decoded(expects))
        for key, suite, ref, wording, expects in rows
    }


def need_prompts(study: Readable) -> None:
    """Raise if the study has no prompts: it is empty, or has images alone."""
    held = counts(study)
    if held["prompt"]:
        return
    raise DataError(
        "the study has images, but no prompts" if held["image"] else "the study is empty",
        where=study.name,
        remedy=f"Import {'prompts' if held['image'] else 'data'} first: sightline import {study.name} PATH",
    )
