"""W1KP's crowd work: which of two images is closer to a third, and how alike two images are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sightline.data.importers._w1kp import CLOSER, image_of
from sightline.data.sources import Once, Row, Source
from sightline.data.sources.plain import fits
from sightline.extension import importer
from sightline.records import AnnotatorKey, ImageKey, Item, Judgement, Question, Record, System

COLUMNS = ("WorkerId", "AssignmentStatus", "Input.image_url", "Answer.category.label")
# Where a triplet lies: .../SYSTEM/PROMPT/comparison-A-B-REFERENCE.jpg
TRIPLET = re.compile(r".*/(?P<system>[^/]+)/(?P<prompt>[^/]+)/comparison-(?P<seeds>[^/]+)\.\w+")
# A graded pair is one picture of both images, .../SYSTEM-PROMPT-true.jpg; -fake shows one image twice.
PAIR = re.compile(r"(?:.*/)?(?P<name>(?P<system>[^/]+?)-(?P<prompt>[^/]+)-(?P<how>true|fake)\.\w+)")
ALIKE = Question(
    "alike", "ordinal", 1.0, 5.0, 1.0, wording="How alike are the two images?", direction="higher"
)


class Shown(NamedTuple):
    """What a worker was shown, as the address of the picture tells it."""

    question: Question
    system: str
    item: Item
    control: bool


def claims(source: Source) -> float:
    """A table with WorkerId, AssignmentStatus, Input.image_url and Answer.category.label."""
    return 0.95 * fits(source, *COLUMNS)


@importer(
    claims=claims,
    source="Tang et al. 2024, W1KP",
    licence="MIT",
    files={
        "batch.csv": "WorkerId,AssignmentStatus,WorkTimeInSeconds,Input.image_url,Answer.category.label,"
        "Approve,Reject\n"
        "A2,Approved,12,https://example.org/sdxl/0/comparison-1-2-3.jpg,Image A,x,\n"
        "A7,Approved,9,https://example.org/sdxl/0/comparison-1-2-3.jpg,Image B is closer,x,\n"
        "A7,Approved,5,https://example.org/sdxl/0/comparison-1-2-1.jpg,Image A,x,\n"
    },
)
def w1kp_crowd(
    source: Source,
    *,
    collection: str = "w1kp",
    shown: str = "w1kp_crowd",
    panel: str = "w1kp",
    labels: str = "",
    rejected: bool = False,
) -> Iterator[Record]:
    """W1KP's crowd CSVs: forced choices between A and B, and five-point grades of how alike a pair is.

    The address of the picture says what was shown: comparison-A-B-REFERENCE.jpg in one folder per prompt, or
    SYSTEM-PROMPT-true.jpg for a pair. A pair's seeds are not given, so its picture itself (in the
    collection `shown`) is what was judged. Grades are labels that begin with a digit from 1 (nothing alike)
    to 5 (the same); `labels` names others in that order, with commas. Attention checks, where the reference
    is A or B or a pair is one image twice, are controls; the picture of such a pair is named twice. Rejected
    work is left out unless `rejected` is set.
    """
    grades = {
        label.strip().lower(): float(n) for n, label in enumerate(labels.split(","), 1) if label.strip()
    }
    once = Once()
    given: Counter[tuple[str, Item]] = Counter()
    for row in source.rows(source.the_file(), required=COLUMNS):
        if _is_rejected(row) and not rejected:
            source.skip(row.at, "work that was rejected (keep it with --option rejected=true)")
            continue
        what = _shown(row, collection, shown)
        if once.new(what.question.name):
            yield what.question._replace(at=row.at)
        if once.new(what.system):
            yield System(what.system, at=row.at)
        worker = row.text("WorkerId")
        value = _choice(row) if what.question is CLOSER else _grade(row, grades)
        seconds = row.number("WorkTimeInSeconds", None)
        yield Judgement(
            what.question.name,
            what.item,
            value,
            AnnotatorKey(panel, worker),
            repetition=given[worker, what.item],
            control=what.control,
            took_ms=None if seconds is None else round(seconds * 1000),
            at=row.at,
        )
        given[worker, what.item] += 1


def _is_rejected(row: Row) -> bool:
    status = row.text("AssignmentStatus").strip().lower()
    if status not in ("approved", "submitted", "rejected"):
        raise row.wrong("AssignmentStatus", "Approved, Submitted or Rejected", "Obtain the file again.")
    return status == "rejected" or row.text("Reject", None) is not None


def _shown(row: Row, collection: str, shown: str) -> Shown:
    address = row.text("Input.image_url").strip()
    found = TRIPLET.fullmatch(address)
    if found:
        system, prompt = found["system"], found["prompt"]
        a, b, reference = (image_of(collection, system, prompt, seed) for seed in _seeds(row, found["seeds"]))
        return Shown(CLOSER, system, Item(None, system, reference, a, b), reference in (a, b))
    pair = PAIR.fullmatch(address)
    if pair:
        picture = ImageKey(shown, pair["name"])
        twice = pair["how"] == "fake"
        subject = Item(None, pair["system"], picture, picture if twice else None)
        return Shown(ALIKE, pair["system"], subject, twice)
    raise row.wrong(
        "Input.image_url",
        "an address that says what was shown",
        "Expected .../SYSTEM/PROMPT/comparison-A-B-REFERENCE.jpg or .../SYSTEM-PROMPT-true.jpg.",
    )


def _seeds(row: Row, name: str) -> list[str]:
    # A seed may itself hold hyphens (a UUID has four), but all three are of one kind.
    parts = name.split("-")
    size = len(parts) // 3
    if not size or len(parts) % 3 or not all(parts):
        raise row.wrong(
            "Input.image_url", "an address with three seeds", "Expected comparison-A-B-REFERENCE."
        )
    return ["-".join(parts[n * size : (n + 1) * size]) for n in range(3)]


def _choice(row: Row) -> float:
    label = row.text("Answer.category.label")
    chosen = [letter for letter in "AB" if f"image {letter}".lower() in label.lower()]
    if len(chosen) != 1:
        raise row.wrong("Answer.category.label", "Image A or Image B", "Correct the label.")
    return float(chosen[0] == "A")


def _grade(row: Row, grades: Mapping[str, float]) -> float:
    label = row.text("Answer.category.label").strip()
    if label.lower() in grades:
        return grades[label.lower()]
    digit = re.match(r"([1-5])(?!\d)", label)
    if digit is None or grades:
        raise row.error(
            f"{label!r} is no grade known here",
            "Name them from least to most alike: --option labels='not at all, ..., the same'.",
        )
    return float(digit[1])
