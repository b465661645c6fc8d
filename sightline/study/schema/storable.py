"""What both databases can hold; anything else is refused here, with the place it came from."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from sightline.errors import DataError
from sightline.estimate import DIRECTIONS
from sightline.records import Question
from sightline.study.schema import tables

INT32 = 2**31 - 1
INT64 = 2**63 - 1
BIGGEST = float(tables.BIGGEST)
SCALES = ("nominal", "ordinal", "interval")


def refuse_bad_text(texts: Iterable[tuple[str | None, str]]) -> None:
    """Raise at the first (text, place) that holds a NUL or half a surrogate pair.

    PostgreSQL refuses NUL and SQLite takes it; neither takes lone surrogates. One scan over all texts
    together costs a fraction of one a text.
    """
    pairs = [(text, at) for text, at in texts if text]
    if _writable("".join([text for text, _ in pairs])):
        return
    for text, at in pairs:
        if "\x00" in text:
            raise DataError("there is a NUL character in the text", where=at, remedy="Remove it.")
        if not _writable(text):
            raise DataError(
                f"the text {text[:40]!r} is not valid Unicode",
                where=at,
                remedy="Save the file as UTF-8; half a surrogate pair often comes from a wrong decoding.",
            )


def _writable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return "\x00" not in text


def refuse_long_text(text: str | None, most: int, what: str, at: str) -> None:
    """Raise where a short text is longer than its column."""
    if text is not None and len(text) > most:
        raise DataError(f"the {what} {text[:40]!r}... is longer than {most} characters", where=at)


def is_box(box: Sequence[Any]) -> bool:
    """Whether this is [left, top, right, bottom], each a fraction of the width or height of an image."""
    return (
        len(box) == 4
        and all(type(each) in (int, float) and 0 <= each <= 1 for each in box)
        and all(low < high for low, high in (box[::2], box[1::2]))
    )


def whole(value: Any, what: str, at: str, low: int = 0, high: int = INT32) -> int:
    """A whole number as a plain int (numpy's is refused by SQLite), within what both databases hold."""
    try:
        plain = operator.index(value)
    except TypeError:
        raise DataError(f"the {what} is {value!r}, not a whole number", where=at) from None
    if not low <= plain <= high:
        raise DataError(f"the {what} {plain} is not between {low} and {high}", where=at)
    return plain


def finite(value: Any, what: str, at: str) -> float:
    """A number as a plain float; NaN and infinity are refused, since the databases disagree on them."""
    try:
        plain = float(value)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"the {what} is {value!r}, not a number", where=at) from None
    if not -BIGGEST <= plain <= BIGGEST:
        raise DataError(f"the {what} is {plain}", where=at, remedy="Leave out what is not known.")
    return plain


def finite_or_none(value: Any, what: str, at: str) -> float | None:
    """The same where nothing may be known."""
    return None if value is None else finite(value, what, at)


def sound_question(question: Question) -> Question:
    """The question with plain numbers, or an error that says what is wrong with it."""
    if question.scale not in SCALES:
        raise DataError(
            f"question {question.name!r} has the scale {question.scale!r}",
            where=question.at,
            remedy=f"One of {', '.join(SCALES)}.",
        )
    if question.direction not in DIRECTIONS:
        raise DataError(
            f"question {question.name!r} has the direction {question.direction!r}",
            where=question.at,
            remedy=f"One of {', '.join(DIRECTIONS)}.",
        )
    low, high, step = (
        finite_or_none(getattr(question, name), f"{name} of question {question.name!r}", question.at)
        for name in ("low", "high", "step")
    )
    if low is not None and high is not None and low >= high:
        raise DataError(
            f"question {question.name!r} goes from {low:g} to {high:g}",
            where=question.at,
            remedy="low is below high.",
        )
    labels = {str(value): str(label) for value, label in question.labels.items()}
    texts = (question.name, question.wording, *labels, *labels.values())
    refuse_bad_text((text, question.at) for text in texts)
    return question._replace(low=low, high=high, step=step, labels=labels)


def now() -> str:
    """The time as stored: UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
