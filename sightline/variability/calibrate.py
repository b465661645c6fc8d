"""Calibrate: compare distances with people, by pairs they graded or forced choices they made."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError
from sightline.estimate import absent
from sightline.records import Votes
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics import calibration, choices
from sightline.statistics.calibration import LEVELS, Calibration, People
from sightline.statistics.choices import DistanceScore, ScoreDifference, Spread
from sightline.statistics.reference import Reference
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.scale import REFERENCE, missing_notes, reference_facts, reference_notes, scale_of
from sightline.variability.set_distances import best_distance, configured, distances_to_first
from sightline.verbs import SEED, argument, option, verb

FOLDS = 5
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


@dataclass(frozen=True)
class PairCalibration(Result):
    """Cut-offs of a distance from pairs that people graded, and how accurate they are, next to people's own.

    `people`, over the same pairs, is None where the study has settled grades without their votes. `named` is
    the reference as it was given.
    """

    question: str
    distance: str
    reference: Reference | None
    calibration: Calibration
    people: People | None
    without: Mapping[str, int]
    excluded: Exclusions
    named: str = ""

    @property
    def notes(self) -> Sequence[str]:
        said = [*missing_notes(self.without), *self.excluded.said(), *reference_notes(self.reference)]
        if self.people is not None:
            said.append(
                "An annotator's own vote is part of the grade it is compared with, except in the last row."
            )
        return said

    @property
    def next(self) -> Sequence[str]:
        # Every digit: rounded, a cut-off just above the most similar pair would be within its reach.
        cut = repr(self.calibration.cut_offs.values[-1])
        reference = f" --reference {shlex.quote(self.named)}" if self.named else ""
        return (f"sightline reuse STUDY --distance {shlex.quote(self.distance)}{reference} --cut-off {cut}",)

    def facts(self) -> dict[str, Any]:
        """The question, the reference, and what was excluded."""
        made = {"question": self.question, "without": dict(self.without), "excluded": asdict(self.excluded)}
        return {**made, "reference": reference_facts(self.reference)}

    def tables(self) -> dict[str, Table]:
        made = self.calibration
        unknown = absent("only settled grades are known, not who gave them")
        people = self.people or People(unknown, unknown, unknown)
        accuracy = [
            (self.distance, made.micro, made.macro),
            ("annotators", people.micro, people.macro),
            (
                "annotators, each against the others",
                people.others,
                absent("not by level: the others may disagree"),
            ),
        ]
        columns = [Column("who")]
        columns += [
            Column(name, f"{name} accuracy", format="%", estimate=True) for name in ("micro", "macro")
        ]
        confusion = zip(LEVELS, made.confusion.tolist(), strict=True)
        return {
            "cut_offs": Table(
                [Column("level"), Column("from", "similarity from")],
                list(zip(LEVELS[1:], made.cut_offs.values, strict=True)),
                f"Cut-offs by {made.cut_offs.n:,} graded pairs",
            ),
            "accuracy": Table(columns, accuracy, f"Accuracy, {made.folds}-fold cross-validated"),
            "confusion": Table(
                [Column("people"), *(Column(level) for level in LEVELS)],
                [(name, *counts) for name, counts in confusion],
                "Levels given by people (rows) and predicted levels (columns)",
            ),
        }


@dataclass(frozen=True)
class ChoiceCalibration(Result):
    """Distances on people's forced choices: the oracle first, every two compared, and fairness to systems."""

    question: str
    triplets: int
    rows: Sequence[DistanceScore]
    comparisons: Sequence[ScoreDifference]
    spreads: Sequence[Spread]
    without: Mapping[str, int]
    excluded: Exclusions

    @property
    def notes(self) -> Sequence[str]:
        return [*missing_notes(self.without), *self.excluded.said(), choices.TIES]

    @property
    def next(self) -> Sequence[str]:
        best = max(self.rows[1:], key=lambda each: each.score.value or 0.0)
        return (f"sightline variability STUDY --distance {shlex.quote(best.name)}",)

    def facts(self) -> dict[str, Any]:
        """The question, and what was excluded."""
        made = {"question": self.question, "without": dict(self.without), "excluded": asdict(self.excluded)}
        return {**made, "ties": choices.TIES}

    def tables(self) -> dict[str, Table]:
        score = Column("score", "2AFC score", "higher", format="%", estimate=True)
        accuracy = Column("accuracy", "accuracy", "higher", format="%", estimate=True)
        systems = self.spreads[0].by_system
        alone = absent("a single system, or a single prompt of each")
        return {
            "distances": Table(
                [Column("distance"), score, accuracy],
                [(each.name, each.score, each.accuracy) for each in self.rows],
                f"{self.triplets:,} forced choices",
            ),
            "comparisons": Table(
                [
                    Column("one"),
                    Column("other"),
                    Column("difference", "difference of scores", format="+"),
                    Column("p", "p (sign-flip)", format="p"),
                    Column("adjusted", "p after Holm", format="p"),
                ],
                [
                    (each.one, each.other, each.difference.statistic, each.difference.p, each.adjusted)
                    for each in self.comparisons
                ],
                "Are two distances different?",
            ),
            "fairness": Table(
                [
                    Column("distance"),
                    *(Column(f"system_{name}", name or "(no system)", format="%") for name in systems),
                    Column("spread", format="%"),
                    Column("p", "p (chance)", format="p"),
                ],
                [
                    (each.name, *each.by_system.values(), each.spread, alone if each.p is None else each.p)
                    for each in self.spreads
                ],
                "Score by system: a fair distance does equally well on all",
            ),
        }


@verb("measure")
def calibrate(
    study: Study,
    question: Annotated[
        str, argument("The question that people answered about pairs or triplets.", "QUESTION")
    ],
    *,
    distance: Annotated[
        str | Sequence[str],
        option(
            "Calibrate this distance (sightline list distance); on forced choices several are compared.",
            metavar="DISTANCE",
            shown="that of the reference file, else the best that runs here",
        ),
    ] = (),
    reference: Annotated[str | Reference | None, REFERENCE] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> PairCalibration | ChoiceCalibration:
    """Calibrate distances on people's judgements.

    Graded pairs give the cut-offs of levels: the grade of a pair is the median of its votes with the two
    highest points as one, and accuracy is cross-validated in five folds, with the pairs of one prompt in one
    fold. Forced choices give each distance its 2AFC score and accuracy on the same triplets. Control items do
    not count, nor do annotators who failed an attention check or whom the last settlement excluded.
    """
    several = [distance] if isinstance(distance, str) else list(distance)
    if _is_about_triplets(study, question):
        if reference is not None:
            raise UsageError("forced choices need no scale", remedy="Leave --reference out.")
        return _calibrate_choices(study, question, several or [best_distance()], seed, listener)
    if len(several) > 1:
        raise UsageError("graded pairs give the cut-offs of one distance", remedy="Give --distance once.")
    chosen, scale = scale_of(study, several[0] if several else None, reference)
    made = _calibrate_pairs(study, question, chosen, scale, seed, listener)
    return replace(made, named=reference if isinstance(reference, str) else "")


def _is_about_triplets(study: Study, question: str) -> bool:
    """Whether a question was asked about a reference with two images, or about pairs of images."""
    return bool((_items(study, question)["image_c"] > 0).any())


def _calibrate_pairs(
    study: Study,
    question: str,
    distance: str,
    reference: Reference | None,
    seed: int,
    listener: Listener | None,
) -> PairCalibration:
    """Cut-offs for levels of similarity from graded pairs, with five-fold cross-validated accuracy."""
    measure = configured(distance)
    given = _counting(study, question)
    pairs = given.parts
    without: Counter[str] = Counter()
    settled = _levels(study, question, given)
    kept = _usable(pairs, settled, without, question)
    groups = pairs[kept].select("sha_image_id", "sha_image_b").rows()
    distances, reasons = distances_to_first(study, measure, groups, listener=listener)
    known = np.flatnonzero(np.isfinite(distances).any(axis=1))
    without.update(str(reason) for reason in reasons if reason is not None)
    if known.size < 4 * FOLDS:
        raise DataError(
            f"{known.size} graded pairs have their images here, too few for cut-offs",
            where=study.name,
            remedy=_why(without, given.excluded) or f"At least {4 * FOLDS} pairs are needed.",
        )
    values = distances[known, 0]
    similarity = 1 - (reference.normalise(values) if reference is not None else values)
    rows = kept[known]
    home = _homes(study, pairs)[rows]
    folds = min(FOLDS, np.unique(home).size)
    if folds < 2:
        home, folds = rows, FOLDS
    result = calibration.calibrate(similarity, settled[rows], home, folds=folds, seed=seed)
    people = _people(given.votes, rows, settled[rows], home)
    return PairCalibration(question, measure.short, reference, result, people, dict(without), given.excluded)


def _calibrate_choices(
    study: Study, question: str, distances: Sequence[str], seed: int, listener: Listener | None
) -> ChoiceCalibration:
    """2AFC score and accuracy of every distance on the same triplets, with tests between them.

    The proportion that chose A is that of the votes that count, or the published one where there are none.
    """
    measures = [configured(each) for each in dict.fromkeys(distances)]
    given = _counting(study, question)
    triplets = given.parts
    proportion = _proportions(study, question, given)
    without: Counter[str] = Counter()
    groups = triplets.select("sha_image_id", "sha_image_b", "sha_image_c").rows()
    keep = _judged(triplets, proportion, without)
    both: dict[str, np.ndarray] = {}
    for measure in measures:
        both[measure.short], reasons = distances_to_first(study, measure, groups, listener=listener)
        for row, reason in enumerate(reasons):
            if reason is not None and keep[row]:
                without[reason] += 1
                keep[row] = False
    if not keep.any():
        raise DataError(
            "no judged triplet has its three images here",
            where=study.name,
            remedy=_why(without, given.excluded) or "Import the folders of images that the triplets name.",
        )
    pairs = {name: (distances[keep, 0], distances[keep, 1]) for name, distances in both.items()}
    chose = proportion[keep]
    home = _homes(study, triplets)[keep]
    systems = _systems(study, triplets)[keep]
    spreads = [
        choices.spread(name, choices.agreement(a, b, chose), systems, home, seed=seed)
        for name, (a, b) in pairs.items()
    ]
    best = choices.spread(choices.ORACLE, choices.oracle(chose), systems, home, seed=seed)
    return ChoiceCalibration(
        question,
        int(keep.sum()),
        choices.check(pairs, chose, home, seed=seed),
        choices.compare(pairs, chose, home, seed=seed),
        [best, *spreads],
        dict(without),
        given.excluded,
    )


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
class _Given:
    """The votes that count, numbered by the rows of `parts`: all items with the contents of their images.

    `asked` says whether there are votes at all, even of excluded annotators.
    """

    votes: Votes
    parts: pl.DataFrame
    excluded: Exclusions
    asked: bool


def _counting(study: Study, question: str) -> _Given:
    votes, voted, _ = reading.votes(study, question)
    parts = _with_contents(study, _items(study, question))
    place = {item: row for row, item in enumerate(parts["item_id"].to_list())}
    rows = np.array([place[item] for item in voted["item_id"].to_list()], dtype=np.int64)
    votes = replace(votes, item=rows[votes.item] if rows.size else votes.item, items=parts.height)
    before = _excluded(study, question, votes)
    wrong = _wrong(votes, parts)
    failed = set(votes.annotator[wrong & (votes.annotator >= 0)].tolist()) - set(before)
    # Annotators without a vote on this question were not excluded from it.
    known = set(votes.annotator.tolist()) & set(before)
    usual = ~votes.control
    counted = votes.where(usual & ~np.isin(votes.annotator, [*before, *failed]))
    return _Given(counted, parts, Exclusions(len(failed), len(known)), bool(usual.any()))


def _wrong(votes: Votes, parts: pl.DataFrame) -> np.ndarray:
    """The votes that fail an attention check, be it marked as a control or not.

    Source: W1KP (Tang et al. 2024), whose workers are dropped for one.
    """
    a, b = _with_itself(parts)
    triplet = parts["image_c"].to_numpy() > 0
    # Where both A and B are the reference neither choice is wrong.
    right = np.where(a & ~b & triplet, 1.0, np.where(b & ~a & triplet, 0.0, np.nan))
    if votes.question.high is not None:
        right = np.where(a & ~triplet, votes.question.high, right)
    expected = right[votes.item]
    return np.asarray(~np.isnan(expected) & (votes.value != expected))


def _with_itself(parts: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Whether the first image of each item is its second (A), and its third (B), by key or by content."""

    def same(end: str) -> np.ndarray:
        equal = (pl.col("image_id") == pl.col(end)) | (pl.col("sha_image_id") == pl.col(f"sha_{end}"))
        return parts.select((equal.fill_null(False) & (pl.col(end) > 0)).alias("same"))["same"].to_numpy()

    return same("image_b"), same("image_c")


def _excluded(study: Study, question: str, votes: Votes) -> list[int]:
    """The numbers of the annotators whom the owner or the newest settlement excluded."""
    owner = reading.annotators(study)["left_out"].to_list()
    settlement = reading.newest_settlement(study, question)
    notes = reading.settlement_notes(study, settlement) if settlement is not None else {}
    named = {str(row[0]) for row in notes.get("left_out", ())}
    # A settlement names people by their name, with the panel where two panels have the same name.
    return [
        number
        for number, key in enumerate(votes.annotators)
        if owner[number] is not None or {key.name, f"{key.panel}/{key.name}"} & named
    ]


def _levels(study: Study, question: str, given: _Given) -> np.ndarray:
    """The level of every item, NaN where there is none."""
    votes, parts = given.votes, given.parts
    lowest = _lowest(votes)
    if given.asked:
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


def _people(votes: Votes, rows: np.ndarray, settled: np.ndarray, home: np.ndarray) -> People | None:
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


def _proportions(study: Study, question: str, given: _Given) -> np.ndarray:
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


def _usable(pairs: pl.DataFrame, settled: np.ndarray, without: Counter[str], question: str) -> np.ndarray:
    """The rows of graded pairs of two different images, reasons of the others counted."""
    two = pairs["image_b"].to_numpy()
    triplet = pairs["image_c"].to_numpy() > 0
    if triplet.any() or not (two > 0).any():
        raise UsageError(
            f"{question!r} is not about pairs of images",
            remedy="Graded pairs are needed (mode similarity_rating). Of W1KP's only a picture of both is "
            "known, not which two images it shows.",
        )
    control, _ = _with_itself(pairs)
    single = two == 0
    undecided = np.isnan(settled) & ~control & ~single
    one_picture = "the pair is known as one picture only: which two images it shows is unknown"
    _count(without, WITH_ITSELF, control)
    _count(without, one_picture, single & ~np.isnan(settled))
    _count(without, "no level: not judged, or the median lies between two levels", undecided)
    return np.flatnonzero(~control & ~single & ~undecided)


def _judged(triplets: pl.DataFrame, proportion: np.ndarray, without: Counter[str]) -> np.ndarray:
    """Which rows are triplets that people chose in, reasons of the others counted."""
    whole = ((triplets["image_b"] > 0) & (triplets["image_c"] > 0)).to_numpy()
    a, b = _with_itself(triplets)
    control = whole & (a | b)
    unjudged = whole & ~control & np.isnan(proportion)
    _count(without, "not a reference with two images", ~whole)
    _count(without, REFERENCE_ITSELF, control)
    _count(without, "nobody whose vote counts has chosen", unjudged)
    return np.asarray(whole & ~control & ~unjudged)


def _count(without: Counter[str], reason: str, rows: np.ndarray) -> None:
    if rows.any():
        without[reason] += int(rows.sum())


def _homes(study: Study, parts: pl.DataFrame) -> np.ndarray:
    """The prompt of each item: its own, or the one its first image answers; else the image."""
    prompt = _answered(study, "prompt_id")
    rows = parts.select("prompt_id", "image_id").iter_rows()
    return np.array([own or prompt.get(image, -image) for own, image in rows])


def _systems(study: Study, parts: pl.DataFrame) -> np.ndarray:
    """The system of each item: its own, or the one that answered with its first image; else ""."""
    names = dict(reading.systems(study).select("system_id", "system").iter_rows())
    system = _answered(study, "system")
    rows = parts.select("system_id", "image_id").iter_rows()
    return np.array([names.get(own) or system.get(image, "") for own, image in rows])


def _answered(study: Study, column: str) -> dict[int, Any]:
    """A column of the answers by image."""
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    return dict(answers.select("image_id", column).iter_rows())


def _why(without: Mapping[str, int], excluded: Exclusions) -> str:
    reasons = [f"{reason} ({n:,})" for reason, n in without.items()]
    if excluded.failed:
        reasons.append(f"annotators excluded who failed an attention check ({excluded.failed:,})")
    return "; ".join(reasons)
