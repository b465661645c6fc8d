"""What people said of pairs and triplets of images: the votes that count, and what they settled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.records import Votes
from sightline.statistics import calibration
from sightline.statistics.calibration import LEVELS, People
from sightline.study import reading
from sightline.study.study import Study

GRADES = ("median", "majority", "dawid_skene")
"""Consensus rules whose truth is one of the grades that people gave; of others the median is taken here."""
WITH_ITSELF = "attention check: an image with itself"
REFERENCE_ITSELF = "attention check: A or B is the reference itself"


@dataclass(frozen=True)
class Exclusions:
    """How many annotators are excluded, with all their votes on the question.

    `failed` an attention check: an image compared with itself not called the same, or, being the reference,
    not chosen. `before` are those whom the owner or the last settlement had excluded already.
    """

    failed: int
    before: int

    def said(self) -> list[str]:
        """One sentence for each kind."""
        failed = f"Excluded with all their votes: {self.failed:,} who failed an attention check."
        before = f"Excluded before, by the owner or the last settlement: {self.before:,}."
        return [failed] * bool(self.failed) + [before] * bool(self.before)


def is_about_triplets(study: Study, question: str) -> bool:
    """Whether a question was asked about a reference with two images, or about pairs of images."""
    return bool((_items(study, question)["image_c"] > 0).any())


def _items(study: Study, question: str) -> pl.DataFrame:
    parts = [reading.votes(study, question)[1], reading.truths(study, question)]
    columns = ["item_id", "prompt_id", "system_id", "image_id", "image_b", "image_c"]
    found = pl.concat([part.select(columns) for part in parts]).unique("item_id", maintain_order=True)
    if found.is_empty():
        raise DataError(
            f"nobody has judged {question!r} yet",
            where=study.name,
            remedy="Import or collect judgements first.",
        )
    return found


@dataclass(frozen=True)
class Settlement:
    """The newest aggregation of a question's votes: its rule, whom it excluded, and how many came later."""

    rule: str
    excluded: frozenset[str]
    newer: int


@dataclass(frozen=True)
class Given:
    """The votes that count, numbered by the rows of `parts`: all items with the contents of their images.

    `checks` says of each item whether A, and whether B, is the reference or the first image itself. `asked`
    says whether there are votes at all, even of excluded annotators; `current` that nobody was excluded after
    the settlement.
    """

    votes: Votes
    parts: pl.DataFrame
    checks: tuple[np.ndarray, np.ndarray]
    excluded: Exclusions
    asked: bool
    settlement: Settlement | None
    current: bool

    @property
    def settled(self) -> bool:
        """Whether the truth of the question is a grade, given by the very people who count."""
        rule = "" if self.settlement is None else self.settlement.rule.partition("(")[0]
        return rule in GRADES and self.current and not self.excluded.failed

    def said(self, question: str) -> list[str]:
        """Which grades these are, a sentence each."""
        if not self.asked:
            return []
        if self.settlement is None:
            return [
                f"{question} is not settled: sightline truth STUDY {question} applies the screening rules."
            ]
        said = "the median of the votes that count"
        if self.settled:
            rule = registry.configure("consensus", self.settlement.rule).short
            said = f"the truth of {question}, {rule}"
        newer = f" {self.settlement.newer:,} votes are newer: sightline truth STUDY {question}."
        return [f"Grades: {said}.{newer if self.settlement.newer else ''}"]


def counting(study: Study, question: str) -> Given:
    """The votes that count: of annotators whom neither the owner nor the last settlement excluded.

    Left out are votes on controls, those of control annotators and adjudicators, an item asked again, and
    everybody who failed an attention check.
    """
    votes, voted, _ = reading.votes(study, question)
    parts = _with_contents(study, _items(study, question))
    place = {item: row for row, item in enumerate(parts["item_id"].to_list())}
    rows = np.array([place[item] for item in voted["item_id"].to_list()], dtype=np.int64)
    votes = replace(votes, item=rows[votes.item] if rows.size else votes.item, items=parts.height)
    settlement = _newest(study, question)
    before, current = _excluded(study, settlement, votes)
    checks = _with_itself(study, question, parts, votes)
    wrong = _wrong(votes, parts, checks)
    failed = set(votes.annotator[wrong & (votes.annotator >= 0)].tolist()) - set(before)
    # Annotators without a vote on this question were not excluded from it.
    known = set(votes.annotator.tolist()) & set(before)
    roles = reading.annotators(study)["role"].to_list()
    others = [number for number, role in enumerate(roles) if role in ("control", "adjudicator")]
    usual = ~votes.control & (votes.repetition == 0) & ~np.isin(votes.annotator, others)
    counted = votes.where(usual & ~np.isin(votes.annotator, [*before, *failed]))
    excluded = Exclusions(len(failed), len(known))
    return Given(counted, parts, checks, excluded, bool(usual.any()), settlement, current)


def _newest(study: Study, question: str) -> Settlement | None:
    """The newest aggregation of votes; published truth is none."""
    known = reading.settlements(study).filter(pl.col("question") == question, pl.col("up_to") > 0)
    if known.is_empty():
        return None
    row = known.row(-1, named=True)
    notes = reading.settlement_notes(study, int(row["settlement_id"]))
    excluded = frozenset(str(each[0]) for each in notes.get("left_out", ()))
    return Settlement(str(row["rule"]), excluded, int(row["newer_votes"]))


def _wrong(votes: Votes, parts: pl.DataFrame, checks: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    """The votes that fail an attention check.

    Source: W1KP (Tang et al. 2024), whose workers are dropped for one.
    """
    a, b = checks
    triplet = parts["image_c"].to_numpy() > 0
    # Where both A and B are the reference, if only by their content, neither choice is wrong.
    other_a, other_b = (np.logical_or(*_equal(parts, end)) for end in ("image_b", "image_c"))
    right = np.where(a & ~other_b & triplet, 1.0, np.where(b & ~other_a & triplet, 0.0, np.nan))
    if votes.question.high is not None:
        right = np.where(a & ~triplet, votes.question.high, right)
    expected = right[votes.item]
    return np.asarray(~np.isnan(expected) & (votes.value != expected))


def _with_itself(
    study: Study, question: str, parts: pl.DataFrame, votes: Votes
) -> tuple[np.ndarray, np.ndarray]:
    """Whether the first image of each item is its second (A), and its third (B).

    Two files of equal content are one image only where the item was declared a control: a system that
    repeats itself is part of what is judged, and nobody was asked to find its duplicates.
    """
    declared = np.zeros(parts.height, dtype=bool)
    declared[votes.item[votes.control]] = True
    key, _ = reading.question(study, question)
    known = [item for item, *_ in reading.known_answers(study, key)]
    declared |= parts["item_id"].is_in(known).to_numpy()

    def same(end: str) -> np.ndarray:
        by_key, by_content = _equal(parts, end)
        return np.asarray(by_key | (by_content & declared))

    return same("image_b"), same("image_c")


def _equal(parts: pl.DataFrame, end: str) -> tuple[np.ndarray, np.ndarray]:
    """Whether the first image is the other one, by its key and by its content."""
    there = pl.col(end) > 0
    equal = parts.select(
        key=(pl.col("image_id") == pl.col(end)).fill_null(False) & there,
        content=(pl.col("sha_image_id") == pl.col(f"sha_{end}")).fill_null(False) & there,
    )
    return equal["key"].to_numpy(), equal["content"].to_numpy()


def _excluded(study: Study, settlement: Settlement | None, votes: Votes) -> tuple[list[int], bool]:
    """The numbers of the annotators whom the owner or the newest settlement excluded.

    And whether all of them were excluded when the question was settled.
    """
    owner = reading.annotators(study)["left_out"].to_list()
    named = frozenset() if settlement is None else settlement.excluded
    # A settlement names people by their name, with the panel where two panels have the same name.
    then = {
        number for number, key in enumerate(votes.annotators) if {key.name, f"{key.panel}/{key.name}"} & named
    }
    now = {number for number, reason in enumerate(owner) if reason is not None}
    return sorted(then | now), not (now - then) & set(votes.annotator.tolist())


def levels(study: Study, question: str, given: Given) -> np.ndarray:
    """The level of every item, NaN where there is none: its truth, or the median of the votes that count.

    The median stands in where the question is not settled, where its rule gives no grade (a mean), and where
    somebody it rests on failed an attention check.
    """
    votes, parts = given.votes, given.parts
    lowest = _lowest(votes)
    if given.asked and not given.settled:
        levels = np.full(parts.height, np.nan)
        item, grade = np.repeat(votes.item, votes.n), np.repeat(votes.value, votes.n)
        settled = calibration.settle_levels(item, grade, lowest=lowest)
        levels[: settled.size] = settled
        return levels
    value = np.minimum(_truth_of(parts, reading.truths(study, question)) - lowest, len(LEVELS) - 1)
    return np.where(value == np.round(value), value, np.nan)


def _truth_of(parts: pl.DataFrame, truths: pl.DataFrame) -> np.ndarray:
    """The truth of every item, NaN where it has none."""
    joined = parts.join(truths.select("item_id", "value"), on="item_id", how="left", maintain_order="left")
    return joined["value"].cast(pl.Float64).fill_null(np.nan).to_numpy()


def people_of(votes: Votes, rows: np.ndarray, settled: np.ndarray, home: np.ndarray) -> People | None:
    """How well those who are named meet the levels of these rows themselves."""
    place = np.full(votes.items, -1, dtype=np.int64)
    place[rows] = np.arange(rows.size)
    mine = votes.where((votes.annotator >= 0) & (place[votes.item] >= 0))
    if mine.value.size == 0:
        return None
    item, grade = np.repeat(place[mine.item], mine.n), np.repeat(mine.value, mine.n)
    return calibration.people(item, grade, settled, home, lowest=_lowest(votes))


def _lowest(votes: Votes) -> float:
    return 0.0 if votes.question.low is None else votes.question.low


def proportions(study: Study, question: str, given: Given) -> np.ndarray:
    """The proportion that chose A (1 rather than 0) of each triplet: of the votes, or as published."""
    votes, parts = given.votes, given.parts
    if votes.value.size and not np.isin(votes.value, (0.0, 1.0)).all():
        raise UsageError(
            f"{question!r} has answers besides 1 (A) and 0 (B)", remedy="A forced choice is 1 or 0."
        )
    weight = np.bincount(votes.item, votes.n, minlength=parts.height)
    chose = np.bincount(votes.item, votes.n * votes.value, minlength=parts.height)
    published = _truth_of(parts, reading.truths(study, question, "published"))
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0, chose / weight, published)


def _with_contents(study: Study, parts: pl.DataFrame) -> pl.DataFrame:
    """The items with the content hash of each of their images, null where its file is not here."""
    files = dict(reading.images(study).select("image_id", "sha256").iter_rows())
    return parts.with_columns(
        pl.Series(f"sha_{end}", [files.get(key) for key in parts[end].to_list()], dtype=pl.String)
        for end in ("image_id", "image_b", "image_c")
    )


def usable(given: Given, settled: np.ndarray, without: Counter[str], question: str) -> np.ndarray:
    """The rows of graded pairs of two different images, reasons of the others counted."""
    pairs = given.parts
    two = pairs["image_b"].to_numpy()
    triplet = pairs["image_c"].to_numpy() > 0
    if triplet.any() or not (two > 0).any():
        raise UsageError(
            f"{question!r} is not about pairs of images",
            remedy="Graded pairs are needed (mode similarity_rating). Of W1KP's only a picture of both is "
            "known, not which two images it shows.",
        )
    control, _ = given.checks
    single = two == 0
    undecided = np.isnan(settled) & ~control & ~single
    one_picture = "the pair is known as one picture only: which two images it shows is unknown"
    _count(without, WITH_ITSELF, control)
    _count(without, one_picture, single & ~np.isnan(settled))
    _count(without, "no level: not judged, or the median lies between two levels", undecided)
    return np.flatnonzero(~control & ~single & ~undecided)


def judged(given: Given, proportion: np.ndarray, without: Counter[str]) -> np.ndarray:
    """Which rows are triplets that people chose in, reasons of the others counted."""
    triplets = given.parts
    whole = ((triplets["image_b"] > 0) & (triplets["image_c"] > 0)).to_numpy()
    a, b = given.checks
    control = whole & (a | b)
    unjudged = whole & ~control & np.isnan(proportion)
    _count(without, "not a reference with two images", ~whole)
    _count(without, REFERENCE_ITSELF, control)
    _count(without, "nobody whose vote counts has chosen", unjudged)
    return np.asarray(whole & ~control & ~unjudged)


def _count(without: Counter[str], reason: str, rows: np.ndarray) -> None:
    if rows.any():
        without[reason] += int(rows.sum())


def homes(study: Study, parts: pl.DataFrame) -> np.ndarray:
    """The prompt of each item: its own, or the one its first image answers; else the image."""
    prompt = _answered(study, "prompt_id")
    rows = parts.select("prompt_id", "image_id").iter_rows()
    return np.array([own or prompt.get(image, -image) for own, image in rows])


def systems_of(study: Study, parts: pl.DataFrame) -> np.ndarray:
    """The system of each item: its own, or the one that answered with its first image; else ""."""
    names = dict(reading.systems(study).select("system_id", "system").iter_rows())
    system = _answered(study, "system")
    rows = parts.select("system_id", "image_id").iter_rows()
    return np.array([names.get(own) or system.get(image, "") for own, image in rows])


def _answered(study: Study, column: str) -> dict[int, Any]:
    """A column of the answers by image."""
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    return dict(answers.select("image_id", column).iter_rows())


def why(without: Mapping[str, int], excluded: Exclusions) -> str:
    reasons = [f"{reason} ({n:,})" for reason, n in without.items()]
    if excluded.failed:
        reasons.append(f"annotators excluded who failed an attention check ({excluded.failed:,})")
    return "; ".join(reasons)
