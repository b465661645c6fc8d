"""Scores that were computed elsewhere, as a plain table: one row per score, or one column per measure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from sightline.data.sources import Row, Source
from sightline.data.sources.plain import HOMES, fits, prompt_of, rows_of, synonyms
from sightline.errors import DataError, UsageError
from sightline.extension import importer
from sightline.published import known_scale
from sightline.records import ImageKey, Item, Record, Score

RENAMED = ("prompt", "image", "system")
OF = ("prompt", "prompt_id", "system", "image")
VOTES = ("question", "annotator")
EXPORTED = ("kind", "version", "identity", "inputs", "imported")
"""What an export adds: which measure it is, and the hash of what was scored."""
ABOUT = ("direction", "scale_low", "scale_high", "reason", "evidence", "position")
LONG = (*OF, *HOMES, "measure", "value", *ABOUT, *EXPORTED)
_ID = re.compile(r"(?:^|_)(?:u?u?id|idx|index|key|item|sample|name|file)s?$", re.IGNORECASE)
EMPTY = "the table has no value"
FACTS = ("position", "score", "seed", "failure", "kind")
"""Columns of an answer, which are no measures, whatever they are called."""


def claims(source: Source) -> float:
    """A table with `measure` and `value`; or with a prompt, system or image and columns named as measures."""
    if fits(source, "measure", "value", without=VOTES):
        return 0.9
    if not fits(source, OF, without=(*VOTES, "value"), renamed=RENAMED):
        return 0.0
    measures = [name for name in _columns(source) if known_scale(name) is not None]
    # With an image it is rather a table of answers, of which the scores are a part.
    answers = fits(source, "image", "system", ("prompt", "prompt_id"), renamed=RENAMED)
    return 0.0 if not measures else 0.6 if answers else 0.75


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "scores.csv": "prompt_id,system,measure,value\n1,careful,clipscore,0.31\n1,sloppy,clipscore,0.22\n"
        "2,careful,clipscore,\n"
    },
    before={
        "answers.csv": "prompt_id,prompt,image,system\n1,a red ball,a.png,careful\n"
        "1,a red ball,b.png,sloppy\n2,two dogs,c.png,careful\n",
        "a.png": "red",
        "b.png": "blue",
        "c.png": "tan",
    },
)
def scores(
    source: Source,
    *,
    suite: str = "prompts",
    collection: str = "images",
    measures: str = "",
    direction: str = "",
    low: float | None = None,
    high: float | None = None,
    whole: bool = False,
) -> Iterator[Record]:
    """A table of scores from elsewhere: measure, value, and what was scored (prompt, system, image).

    An answer is named by its prompt and system; `image` or `position` tell apart several answers of a system
    to a prompt. Without a system a score is of a prompt, of an image or of both, and without a prompt or
    image it is of a system, as FID is. With `whole` it is of all of a system's answers to a prompt. An empty
    value is kept as one that is missing, with the `reason` if there is such a column. Instead of `measure`
    and `value` a table may have a column for each measure: those with a published name, and those that
    `measures` lists, separated by commas. Direction and range are known for names such as clipscore,
    imagereward, hpsv2, pickscore, vqascore or fid; for others columns direction, scale_low and scale_high say
    them, or `direction`, `low` and `high` for all of the table. Scores that Sightline exported come back as
    they were, evidence included.
    """
    said = {"direction": direction, "low": low, "high": high}
    home = (suite, collection)
    unknown: set[str] = set()
    header = {*source.header(source.the_file()), *synonyms(source, RENAMED)}
    if "measure" in header or "value" in header:
        _need_item(source, header)
        rows = rows_of(source, ("measure", "value", OF), LONG, RENAMED)
        found: Iterator[Score] = (
            _score(row, row.text("measure"), "value", home, said)
            for row in rows
            if not _of_ranking(source, row)
        )
    else:
        found = _wide(source, home, said, measures)
    for score in found:
        score = score._replace(whole=whole)
        if score.measure not in unknown and not _directed(score):
            unknown.add(score.measure)
            source.note(
                score.measure,
                "measures without a direction (say it: --option direction=higher, or a column direction)",
            )
        yield score


def _wide(source: Source, home: tuple[str, str], said: Mapping[str, Any], measures: str) -> Iterator[Score]:
    named = [name.strip() for name in measures.split(",") if name.strip()]
    columns = _columns(source)
    for name in named:
        if name not in columns:
            raise UsageError(
                f"there is no column {name!r}",
                where=source.the_file(),
                remedy=f"There are: {', '.join(columns)}.",
            )
    chosen = named or [name for name in columns if known_scale(name) is not None]
    if not chosen:
        raise DataError(
            f"no column has the name of a measure: {', '.join(columns)}",
            where=f"{source.the_file()}:1",
            remedy="Name those that are: --option measures=ONE,TWO",
        )
    known = (*OF, *HOMES, "position", *chosen)
    for row in rows_of(source, (OF,), known, RENAMED):
        for column in chosen:
            yield _score(row, column, column, home, said)


def _need_item(source: Source, header: set[str]) -> None:
    """A table of systems alone is of few rows: one with a column of ids that is not ours lacks a mapping."""
    ids = [name for name in header if _ID.search(name) and name not in LONG]
    if ids and header.isdisjoint(("prompt", "prompt_id", "image")):
        raise DataError(
            f"it names no prompt and no image: does {ids[0]!r} say which?",
            where=f"{source.the_file()}:1",
            remedy=f"Name the column: --column prompt_id={ids[0]}, or image={ids[0]}, or prompt={ids[0]}.",
        )


def _columns(source: Source) -> list[str]:
    """The columns of a table that could each be a measure."""
    file = source.the_file()
    taken = {*OF, *HOMES, *FACTS, *synonyms(source, RENAMED).values()}
    return [name for name in source.header(file) if name and name not in taken and "." not in name]


def _score(row: Row, measure: str, column: str, home: tuple[str, str], said: Mapping[str, Any]) -> Score:
    value, reason = row.number(column, None), None
    if value is None:
        reason = row.text("reason", EMPTY) if column == "value" else EMPTY
    elif row.text("reason", None) is not None and column == "value":
        raise row.error("it has both a value and a reason why there is none", "Empty one.")
    evidence = row.structure("evidence")
    if evidence is not None and not isinstance(evidence, dict):
        raise row.wrong("evidence", "a JSON object", 'For example {"reply": "8"}.')
    own = column == "value" and row.text("identity", None) is not None
    return Score(
        measure,
        _item(row, home),
        value,
        reason,
        row.whole("position", None),
        direction=row.text("direction", said["direction"]),
        low=row.number("scale_low", said["low"]),
        high=row.number("scale_high", said["high"]),
        evidence=evidence,
        kind=row.text("kind") if own else "",
        version=row.whole("version", 1) if own else 1,
        identity=row.text("identity") if own else "",
        inputs=row.whole("inputs") if own else None,
        at=row.at,
    )


def _item(row: Row, home: tuple[str, str]) -> Item:
    suite, collection = home
    # A table with the images themselves names its answers by prompt and system.
    image = None if isinstance(row.get("image"), dict | bytes) else row.text("image", None)
    key = None if image is None else ImageKey(row.text("collection", collection), image)
    item = Item(prompt_of(row, suite), row.text("system", None), key)
    if not any(item):
        raise row.error("it names neither a prompt, a system nor an image", "Fill in at least one of them.")
    return item


def _of_ranking(source: Source, row: Row) -> bool:
    """Whether an exported score is of a ranking: it rests on relevance, and is cheap to compute again."""
    if row.text("kind", None) != "of_ranking":
        return False
    source.skip(row.text("measure"), "scores of rankings, which are computed again: sightline score")
    return True


def _directed(score: Score) -> bool:
    return bool(score.identity or score.direction) or known_scale(score.measure) is not None
