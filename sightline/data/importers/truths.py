"""Settled values as a plain table."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from sightline.data.sources import SLIP, Once, Source
from sightline.data.sources.plain import (
    QUESTION_COLUMNS,
    SUBJECT_COLUMNS,
    SYNONYMS,
    fits,
    prompts_of,
    questions_of,
    rows_of,
    subject_of,
)
from sightline.extension import importer
from sightline.records import Record, Truth
from sightline.statistics.intervals import published_interval

VOTES = ("annotator", "session", "skipped")
KNOWN = (*SUBJECT_COLUMNS, *QUESTION_COLUMNS, "value", "low", "high", "sd", "n", "rule")


def claims(source: Source) -> float:
    """A table with `question` and `value` but no annotators."""
    if not fits(source, "question", "value", without=(*VOTES, *SYNONYMS["annotator"])):
        return 0
    # `annotater` beside a value is a table of votes with a slip in it.
    unknown = [column for column in source.header(source.the_file()) if column not in KNOWN]
    return 0 if any(get_close_matches(column.lower(), VOTES, 1, SLIP) for column in unknown) else 0.8


@importer(
    claims=claims,
    source="Sightline's plain form",
    licence="Apache-2.0",
    files={"truths.csv": "question,image,value,low,high,n\nquality,a.png,4,3,5,12\nquality,b.png,2,1,3,12\n"},
)
def truths(source: Source, *, suite: str = "prompts", collection: str = "images") -> Iterator[Record]:
    """A table of settled values of prompts, systems or images: question, value; optionally low, high, n.

    Instead of low and high, `sd` and `n` give the interval: value +- t sd / sqrt(n).
    """
    once = Once()
    for row in rows_of(source, ("question", "value"), KNOWN):
        yield from questions_of(row, once)
        low, high, value = row.number("low", None), row.number("high", None), row.number("value")
        if (low is not None and low > value) or (high is not None and high < value):
            raise row.wrong(
                "value", f"between its low {low} and high {high}", "Check the interval of this row."
            )
        n, sd, rule = row.whole("n", None), row.number("sd", None), row.text("rule", "published")
        if sd is not None and low is None and high is None:
            if sd < 0 or n is None:
                raise row.wrong("sd", "0 or more, next to n", "Give both, or low and high.")
            low, high = published_interval(value, sd, n) or (None, None)
        yield from prompts_of(row, once, suite)
        item = subject_of(row, suite, collection)
        yield Truth(row.text("question"), item, value, low, high, n, rule, row.at)
