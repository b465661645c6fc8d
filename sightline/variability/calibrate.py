"""Calibrate: hold distances against people, by pairs they graded or choices they made beside a reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError
from sightline.records import Votes
from sightline.statistics import calibration, choices
from sightline.statistics.calibration import LEVELS, Calibration, People
from sightline.statistics.choices import Checked, Compared, Spread
from sightline.statistics.reference import Reference
from sightline.study import reading
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.reference import refuse_other
from sightline.variability.set_distances import configured, distances_to_first

FOLDS = 5
BESIDE_ITSELF = "attention check: an image beside itself"
REFERENCE_ITSELF = "attention check: A or B is the reference itself"


@dataclass(frozen=True)
class LeftOut:
    """How many annotators do not count, with all their votes on the question.

    `failed` an attention check: an image beside itself not called the same, or, being the reference, not
    chosen. `before` are those whom the owner or the last settlement had left out already.
    """

    failed: int
    before: int


@dataclass(frozen=True)
class Graded:
    """Cut-offs of a distance from pairs that people graded, and how far they hold, beside people's own.

    `people`, over the same pairs, is None where the study holds settled grades without their votes.
    """

    question: str
    distance: str
    reference: Reference | None
    calibration: Calibration
    people: People | None
    without: Mapping[str, int]
    left_out: LeftOut


@dataclass(frozen=True)
class Chosen:
    """Distances on people's forced choices: the oracle first, every two compared, and fairness to systems."""

    question: str
    triplets: int
    rows: Sequence[Checked]
    comparisons: Sequence[Compared]
    spreads: Sequence[Spread]
    without: Mapping[str, int]
    left_out: LeftOut
    ties: str = choices.TIES


def is_about_triplets(study: Study, question: str) -> bool:
    """Whether a question was asked about a reference with two images, or about pairs of images."""
    parts = _subjects(study, question)
    return bool((parts["image_c"] > 0).any())


def calibrate(
    study: Study,
    question: str,
    *,
    distance: str,
    reference: Reference | None = None,
    seed: int = 0,
    listener: Listener | None = None,
) -> Graded:
    """Cut-offs for levels of similarity from graded pairs, with five-fold cross-validated accuracy.

    The grade of a pair is the median of its votes with the two highest points as one; control pages do not
    count, nor people who failed an attention check or whom the last settlement left out. Pairs of one prompt
    stay in one fold.
    """
    measure = configured(distance)
    if reference is not None:
        refuse_other(reference, measure)
    given = _counting(study, question)
    pairs = given.parts
    without: Counter[str] = Counter()
    settled = _levels(study, question, given)
    kept = _usable(pairs, settled, without, question)
    groups = [
        tuple(pairs.row(int(row), named=True)[f"sha_{end}"] for end in ("image_id", "image_b"))
        for row in kept
    ]
    found, reasons = distances_to_first(study, measure, groups, listener=listener)
    known = np.flatnonzero(np.isfinite(found[:, 0])) if found.size else np.zeros(0, dtype=np.int64)
    without.update(str(reason) for reason in reasons if reason is not None)
    if known.size < 4 * FOLDS:
        raise DataError(
            f"{known.size} graded pairs have their images here, too few for cut-offs",
            where=study.name,
            remedy=_why(without, given.left_out) or f"At least {4 * FOLDS} pairs are needed.",
        )
    values = found[known, 0]
    similarity = 1 - (reference.normalise(values) if reference is not None else values)
    rows = kept[known]
    home = _homes(study, pairs)[rows]
    folds = min(FOLDS, np.unique(home).size)
    if folds < 2:
        home, folds = rows, FOLDS
    result = calibration.calibrate(similarity, settled[rows], home, folds=folds, seed=seed)
    people = _people(given.votes, rows, settled[rows], home)
    return Graded(question, measure.short, reference, result, people, dict(without), given.left_out)


def check_encoders(
    study: Study,
    question: str,
    distances: Sequence[str],
    *,
    seed: int = 0,
    listener: Listener | None = None,
) -> Chosen:
    """2AFC score and accuracy of every distance on the same triplets, with tests between them.

    The share that chose A is that of the votes that count, or the published one where there are no votes.
    """
    measures = [configured(each) for each in dict.fromkeys(distances)]
    given = _counting(study, question)
    triplets = given.parts
    share = _shares(study, question, given)
    without: Counter[str] = Counter()
    columns = [triplets[f"sha_{end}"].to_list() for end in ("image_id", "image_b", "image_c")]
    groups = list(zip(*columns, strict=True))
    keep = _judged(triplets, share, without)
    both: dict[str, np.ndarray] = {}
    for measure in measures:
        found, reasons = distances_to_first(study, measure, groups, listener=listener)
        both[measure.short] = found
        for row, reason in enumerate(reasons):
            if reason is not None and keep[row]:
                without[reason] += 1
                keep[row] = False
    if not keep.any():
        raise DataError(
            "no judged triplet has its three images here",
            where=study.name,
            remedy=_why(without, given.left_out) or "Import the folders of images that the triplets name.",
        )
    told = {name: (found[keep, 0], found[keep, 1]) for name, found in both.items()}
    home = _homes(study, triplets)[keep]
    systems = _systems(study, triplets)[keep]
    spreads = [
        choices.spread(name, choices.agreement(a, b, share[keep]), systems, home, seed=seed)
        for name, (a, b) in told.items()
    ]
    best = choices.spread(choices.ORACLE, choices.oracle(share[keep]), systems, home, seed=seed)
    return Chosen(
        question,
        int(keep.sum()),
        choices.check(told, share[keep], home, seed=seed),
        choices.compare(told, share[keep], home, seed=seed),
        [best, *spreads],
        dict(without),
        given.left_out,
    )


def _subjects(study: Study, question: str) -> pl.DataFrame:
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
    """The votes that count, numbered by the rows of `parts`: all subjects with the contents of their images.

    `asked` tells whether there are votes at all, be they of people left out.
    """

    votes: Votes
    parts: pl.DataFrame
    left_out: LeftOut
    asked: bool


def _counting(study: Study, question: str) -> _Given:
    votes, voted, _ = reading.votes(study, question)
    parts = _with_contents(study, _subjects(study, question))
    place = {subject: row for row, subject in enumerate(parts["item_id"].to_list())}
    rows = np.array([place[subject] for subject in voted["item_id"].to_list()], dtype=np.int64)
    votes = replace(votes, item=rows[votes.item] if rows.size else votes.item, items=parts.height)
    before = _left_out(study, question, votes)
    wrong = _wrong(votes, parts)
    failed = set(votes.annotator[wrong & (votes.annotator >= 0)].tolist()) - set(before)
    # Who has no vote on this question was not left out of it.
    known = set(votes.annotator.tolist()) & set(before)
    usual = ~votes.control
    counted = votes.where(usual & ~np.isin(votes.annotator, [*before, *failed]))
    return _Given(counted, parts, LeftOut(len(failed), len(known)), bool(usual.any()))


def _wrong(votes: Votes, parts: pl.DataFrame) -> np.ndarray:
    """The votes that fail an attention check, be it marked as a control or not.

    Source: W1KP (Tang et al. 2024), whose workers are dropped for one.
    """
    a, b = _beside_itself(parts)
    triplet = parts["image_c"].to_numpy() > 0
    # Where both A and B are the reference neither choice is wrong.
    right = np.where(a & ~b & triplet, 1.0, np.where(b & ~a & triplet, 0.0, np.nan))
    if votes.question.high is not None:
        right = np.where(a & ~triplet, votes.question.high, right)
    expected = right[votes.item]
    return np.asarray(~np.isnan(expected) & (votes.value != expected))


def _beside_itself(parts: pl.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Whether the first image of each subject is its second (A), and its third (B), by key or by content."""

    def same(end: str) -> np.ndarray:
        told = (pl.col("image_id") == pl.col(end)) | (pl.col("sha_image_id") == pl.col(f"sha_{end}"))
        return parts.select((told.fill_null(False) & (pl.col(end) > 0)).alias("same"))["same"].to_numpy()

    return same("image_b"), same("image_c")


def _left_out(study: Study, question: str, votes: Votes) -> list[int]:
    """The numbers of those whom the owner or the newest settlement left out."""
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
    """The level of every subject, NaN where there is none."""
    votes, parts = given.votes, given.parts
    lowest = _lowest(votes)
    if given.asked:
        found = np.full(parts.height, np.nan)
        item, grade = np.repeat(votes.item, votes.n), np.repeat(votes.value, votes.n)
        told = calibration.settle_levels(item, grade, lowest=lowest)
        found[: told.size] = told
        return found
    truth = dict(reading.truths(study, question).select("item_id", "value").iter_rows())
    told_by = [truth.get(subject) for subject in parts["item_id"].to_list()]
    value = np.array([np.nan if each is None else each for each in told_by]) - lowest
    value = np.minimum(value, len(LEVELS) - 1)
    return np.where(value == np.round(value), value, np.nan)


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


def _shares(study: Study, question: str, given: _Given) -> np.ndarray:
    """The share that chose A (1 rather than 0) of each triplet: of the votes, or as published."""
    votes, parts = given.votes, given.parts
    if votes.value.size and not np.isin(votes.value, (0.0, 1.0)).all():
        raise UsageError(
            f"{question!r} has answers besides 1 (A) and 0 (B)", remedy="A forced choice is 1 or 0."
        )
    weight = np.bincount(votes.item, votes.n, minlength=parts.height)
    chose = np.bincount(votes.item, votes.n * votes.value, minlength=parts.height)
    truths = reading.truths(study, question, "published").select("item_id", "value")
    told = dict(truths.iter_rows())
    told_by = [told.get(subject) for subject in parts["item_id"].to_list()]
    published = np.array([np.nan if each is None else each for each in told_by], dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where(weight > 0, chose / weight, published)


def _with_contents(study: Study, parts: pl.DataFrame) -> pl.DataFrame:
    """The subjects with the content hash of each of their images, null where its file is not here."""
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
    control, _ = _beside_itself(pairs)
    single = two == 0
    undecided = np.isnan(settled) & ~control & ~single
    for rows, reason in (
        (control, BESIDE_ITSELF),
        (
            single & ~np.isnan(settled),
            "the pair is known as one picture only: which two images it shows is not told",
        ),
        (undecided, "no level: not judged, or the median lies between two levels"),
    ):
        if rows.any():
            without[reason] += int(rows.sum())
    return np.flatnonzero(~control & ~single & ~undecided)


def _judged(triplets: pl.DataFrame, share: np.ndarray, without: Counter[str]) -> np.ndarray:
    """Which rows are triplets that people chose in, reasons of the others counted."""
    whole = ((triplets["image_b"] > 0) & (triplets["image_c"] > 0)).to_numpy()
    a, b = _beside_itself(triplets)
    control = whole & (a | b)
    unjudged = whole & ~control & np.isnan(share)
    for rows, reason in (
        (~whole, "not a reference with two images"),
        (control, REFERENCE_ITSELF),
        (unjudged, "nobody whose vote counts has chosen"),
    ):
        if rows.any():
            without[reason] += int(rows.sum())
    return np.asarray(whole & ~control & ~unjudged)


def _homes(study: Study, parts: pl.DataFrame) -> np.ndarray:
    """The prompt of each subject: told, or the one its first image answers; else the image stands for it."""
    answered = reading.answers(study).filter(pl.col("image_id").is_not_null())
    prompt = dict(answered.select("image_id", "prompt_id").iter_rows())
    return np.array(
        [
            told or prompt.get(image, -image)
            for told, image in parts.select("prompt_id", "image_id").iter_rows()
        ]
    )


def _systems(study: Study, parts: pl.DataFrame) -> np.ndarray:
    """The system of each subject: told, or the one that answered with its first image; "" if nobody did."""
    names = dict(reading.systems(study).select("system_id", "system").iter_rows())
    answered = reading.answers(study).filter(pl.col("image_id").is_not_null())
    by = dict(answered.select("image_id", "system").iter_rows())
    rows = parts.select("system_id", "image_id").iter_rows()
    return np.array([names.get(told) or by.get(image, "") for told, image in rows])


def _why(without: Mapping[str, int], left_out: LeftOut) -> str:
    reasons = [f"{reason} ({n:,})" for reason, n in without.items()]
    if left_out.failed:
        reasons.append(f"annotators left out who failed an attention check ({left_out.failed:,})")
    return "; ".join(reasons)
