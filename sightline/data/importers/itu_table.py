"""Votes as ITU recommendations lay them out: one row per presentation, one column per subject."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from sightline.data.sources import Once, Source
from sightline.data.sources.plain import Pictures
from sightline.errors import DataError
from sightline.extension import importer
from sightline.records import AnnotatorKey, Image, ImageKey, Item, Judgement, Question, Record

PRESENTATION = ("presentation", "stimulus", "stimuli", "pvs", "item", "image", "file", "filename", "name")
SUBJECT = re.compile(
    r"(subject|subj|sub|observer|obs|viewer|participant|assessor|rater|voter|user|s|o|v|p)?[ _.#-]*\d+",
    re.IGNORECASE,
)


def claims(source: Source) -> float:
    """A table of a column of presentations and at least two numbered subjects, such as s1 and s2."""
    if not source.is_table():
        return 0.0
    header = source.header(source.the_file())
    return 0.9 * (_presentation(header) is not None and len(_subjects(header)) >= 2)


@importer(
    claims=claims,
    source="ITU-R BT.500, ITU-T P.910 and P.913",
    licence="Apache-2.0",
    files={"votes.csv": "presentation,Subject 1,Subject 2,Subject 3\na.png,5,4,\nb.png,,,1\na.png,4,4,2\n"},
)
def itu_table(
    source: Source,
    *,
    question: str = "quality",
    collection: str = "itu",
    panel: str = "itu",
    low: float = 1.0,
    high: float = 5.0,
    step: float = 1.0,
    names_only: bool = False,
) -> Iterator[Record]:
    """A presentation x subject table: rows are stimuli, columns subjects, cells votes, empty where none.

    The scale is the five-point one of P.910 unless `low`, `high` and `step` (0 for none) say otherwise. A
    stimulus in two rows was presented twice.
    """
    file = source.the_file()
    header = source.header(file)
    shown, subjects = _presentation(header), _subjects(header)
    if shown is None or not subjects:
        raise DataError(
            "there is no column of presentations, or none of a numbered subject",
            where=f"{file}:1",
            remedy="Call the first column presentation and the others subject1, subject2, ...",
        )
    yield Question(question, "ordinal" if step else "interval", low, high, step or None, at=f"{file}:1")
    pictures = Pictures(source, names_only)
    once = Once()
    presented: Counter[str] = Counter()
    for row in source.rows(file, required=(shown, *subjects), known=(shown, *subjects)):
        name = row.text(shown)
        image = ImageKey(collection, name)
        if once.new(image):
            yield Image(image, pictures.path(name, row.at), at=row.at)
        for subject in subjects:
            value = row.number(subject, None)
            if value is None:
                continue
            steps = (value - low) / step if step else 0.0
            if not low <= value <= high or abs(steps - round(steps)) > 1e-6:
                scale = f"{low:g} to {high:g}" + (f" by {step:g}" if step else "")
                remedy = "Name the scale: --option low=0 --option high=100."
                raise row.wrong(subject, f"a vote on the scale {scale}", remedy)
            who = AnnotatorKey(panel, subject)
            yield Judgement(question, Item(image=image), value, who, repetition=presented[name], at=row.at)
        presented[name] += 1


def _presentation(header: Sequence[str]) -> str | None:
    return next((name for name in header if name.lower() in PRESENTATION), None)


def _subjects(header: Sequence[str]) -> list[str]:
    return [name for name in header if SUBJECT.fullmatch(name)]
