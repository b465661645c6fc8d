"""Judgements as a plain table: one row per vote."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import (
    QUESTION_COLUMNS,
    SUBJECT_COLUMNS,
    fits,
    questions_of,
    rows_of,
    subject_of,
)
from sightline.extension import importer
from sightline.records import AnnotatorKey, Judgement, Record

VOTE = ("annotator", "panel", "value", "skipped", "n", "repetition", "revision", "session", "control")
KNOWN = (*SUBJECT_COLUMNS, *QUESTION_COLUMNS, *VOTE, "took_ms", "time")


def claims(source: Source) -> float:
    """A table with `annotator`, `question` and `value`."""
    return 0.9 * fits(source, "annotator", "question", "value")


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={
        "votes.csv": "annotator,image,question,value\nann,a.png,alignment,4\nben,a.png,alignment,2\n"
        "ann,b.png,alignment,3\n"
    },
)
def judgements(
    source: Source, *, suite: str = "prompts", collection: str = "images", panel: str = "people"
) -> Iterator[Record]:
    """A table of votes: annotator, question, value and what was judged (prompt or prompt_id, system, image).

    Optional: panel, session, control, time, took_ms, repetition, revision, skipped, n (of anonymous votes),
    image_b and image_c for pairs and triplets, and scale, scale_low, scale_high, scale_step, direction.
    """
    once = Once()
    for row in rows_of(source, ("question", ("value", "skipped")), KNOWN):
        yield from questions_of(row, once)
        who = row.text("annotator", None)
        n = row.whole("n", 1)
        if n < 1 or (n > 1 and who is not None):
            raise row.wrong(
                "n", "1 or more, and 1 for a named annotator", "Only anonymous votes can be counted."
            )
        skipped = row.text("skipped", None)
        value = row.number("value", None) if skipped else row.number("value")
        if skipped and value is not None:
            raise row.error("it has both a value and a reason why it was skipped", "Empty one.")
        yield Judgement(
            row.text("question"),
            subject_of(row, suite, collection),
            value,
            None if who is None else AnnotatorKey(row.text("panel", panel), who),
            n,
            skipped,
            row.count("repetition"),
            row.count("revision"),
            row.text("session", ""),
            row.flag("control"),
            row.whole("took_ms", None),
            _time(row),
            row.at,
        )


def _time(row: Row) -> str | None:
    said = row.text("time", None)
    if said is not None:
        try:
            datetime.fromisoformat(said)
        except ValueError:
            raise row.wrong("time", "a time", "Write it as 2024-05-01T12:30:00Z.") from None
    return said
