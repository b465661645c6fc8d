"""Calibrate: compare distances with people, by pairs they graded or forced choices they made."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, absent
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics import calibration, choices
from sightline.statistics.calibration import LEVELS, Calibration, People
from sightline.statistics.choices import DistanceScore, ScoreDifference, Spread
from sightline.statistics.reference import Reference
from sightline.study.running.progress import Listener
from sightline.study.study import Study
from sightline.variability.judged import (
    Exclusions,
    Given,
    counting,
    homes,
    is_about_triplets,
    judged,
    levels,
    people_of,
    proportions,
    systems_of,
    usable,
    why,
)
from sightline.variability.scale import REFERENCE, missing_notes, reference_facts, reference_notes, scale_of
from sightline.variability.set_distances import configured, distances_to_first
from sightline.verbs import SEED, argument, option, verb

FOLDS = 5


@dataclass(frozen=True)
class PairCalibration(Result):
    """Cut-offs of a distance from pairs that people graded, and how accurate they are, next to people's own.

    `people`, over the same pairs, is None where the study has settled grades without their votes. `grades`
    says which these are, `named` is the reference as it was given.
    """

    question: str
    distance: str
    reference: Reference | None
    calibration: Calibration
    people: People | None
    without: Mapping[str, int]
    excluded: Exclusions
    grades: Sequence[str] = ()
    named: str = ""

    @property
    def notes(self) -> Sequence[str]:
        said = [*missing_notes(self.without), *self.excluded.said(), *self.grades]
        said += reference_notes(self.reference)
        if self.people is not None:
            said.append(
                "An annotator's own vote is part of the grade it is compared with, except in the last row."
            )
        return said

    @property
    def next(self) -> Sequence[str]:
        # Every digit: rounded, a cut-off just above the most similar pair would be within its reach.
        cuts = ",".join(map(repr, self.calibration.cut_offs.values))
        reference = f" --reference {shlex.quote(self.named)}" if self.named else ""
        scale = f"--distance {shlex.quote(self.distance)}{reference} --cut-offs {cuts}"
        return (f"sightline variability STUDY {scale}",)

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
        return {
            "distances": Table(
                [Column("distance"), score, accuracy],
                [(each.name, each.score, each.accuracy) for each in self.rows],
                f"{self.triplets:,} forced choices",
            ),
            "comparisons": _comparisons(self.comparisons, "scores"),
            "fairness": _fairness(self.spreads, "Score"),
        }


@dataclass(frozen=True)
class DistanceAccuracy:
    """A distance on graded pairs: its cut-offs, and how often they give the level that people gave."""

    name: str
    calibration: Calibration


@dataclass(frozen=True)
class PairComparison(Result):
    """Distances on the same graded pairs, every two compared, and fairness to systems.

    `people` is how often single annotators gave the grade, None where their votes are not known.
    """

    question: str
    pairs: int
    rows: Sequence[DistanceAccuracy]
    people: People | None
    comparisons: Sequence[ScoreDifference]
    spreads: Sequence[Spread]
    without: Mapping[str, int]
    excluded: Exclusions
    grades: Sequence[str] = ()

    @property
    def notes(self) -> Sequence[str]:
        said = [*missing_notes(self.without), *self.excluded.said(), *self.grades]
        return [*said, "Cut-offs are fitted to each distance; a reference would not change its accuracy."]

    @property
    def next(self) -> Sequence[str]:
        best = max(self.rows, key=lambda each: each.calibration.micro.value or 0.0)
        return (f"sightline calibrate STUDY {self.question} --distance {shlex.quote(best.name)}",)

    def facts(self) -> dict[str, Any]:
        """The question, and what was excluded."""
        return {"question": self.question, "without": dict(self.without), "excluded": asdict(self.excluded)}

    def tables(self) -> dict[str, Table]:
        columns = [Column("who")]
        columns += [
            Column(name, f"{name} accuracy", "higher", format="%", estimate=True)
            for name in ("micro", "macro")
        ]
        columns += [Column(f"from_{name}", f"{name} from") for name in LEVELS[1:]]
        none: Cell = absent("people give grades, not distances")
        rows: list[tuple[Cell, ...]] = [
            (each.name, each.calibration.micro, each.calibration.macro, *each.calibration.cut_offs.values)
            for each in self.rows
        ]
        if self.people is not None:
            rows.append(("annotators", self.people.micro, self.people.macro, *[none] * len(LEVELS[1:])))
        folds = self.rows[0].calibration.folds
        title = f"Accuracy on {self.pairs:,} graded pairs, {folds}-fold cross-validated, and cut-offs"
        return {
            "distances": Table(columns, rows, title),
            "comparisons": _comparisons(self.comparisons, "micro accuracies"),
            "fairness": _fairness(self.spreads, "Micro accuracy"),
        }


def _comparisons(found: Sequence[ScoreDifference], what: str) -> Table:
    """Every two distances, and whether they differ."""
    columns = [
        Column("one"),
        Column("other"),
        Column("difference", f"difference of {what}", format="+"),
        Column("p", "p (sign-flip)", format="p"),
        Column("adjusted", "p after Holm", format="p"),
    ]
    rows = [
        (each.one, each.other, each.difference.statistic, each.difference.p, each.adjusted) for each in found
    ]
    return Table(columns, rows, "Are two distances different?")


def _fairness(found: Sequence[Spread], what: str) -> Table:
    """What a distance achieves on each system's images."""
    alone = absent("a single system, or a single prompt of each")
    columns = [
        Column("distance"),
        *(Column(f"system_{name}", name or "(no system)", format="%") for name in found[0].by_system),
        Column("spread", format="%"),
        Column("p", "p (chance)", format="p"),
    ]
    rows = [
        (each.name, *each.by_system.values(), each.spread, alone if each.p is None else each.p)
        for each in found
    ]
    return Table(columns, rows, f"{what} by system: a fair distance does equally well on all")


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
            "Calibrate this distance (sightline list distance); several are compared with each other.",
            metavar="DISTANCE",
            shown="that of the reference, else of the study's scale, else the best that runs here",
        ),
    ] = (),
    reference: Annotated[str | Reference | None, REFERENCE] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> PairCalibration | PairComparison | ChoiceCalibration:
    """Calibrate distances on people's judgements.

    Graded pairs give the cut-offs of levels, with accuracy cross-validated in five folds, the pairs of one
    prompt in one fold; the grade of a pair is its truth, or the median of its votes with the two highest
    points as one. Forced choices give each distance its 2AFC score and accuracy on the same triplets. Control
    items do not count, nor do annotators who failed an attention check or whom the last settlement excluded.
    """
    several = [distance] if isinstance(distance, str) else list(dict.fromkeys(distance))
    if is_about_triplets(study, question):
        if reference is not None:
            raise UsageError("forced choices need no scale", remedy="Leave --reference out.")
        usual = [] if several else [scale_of(study, None, None).distance]
        return _calibrate_choices(study, question, several or usual, seed, listener)
    if len(several) > 1:
        if reference is not None:
            raise UsageError(
                "a reference is of one distance", remedy="Give --distance once, or no --reference."
            )
        return _compare_pairs(study, question, several, seed, listener)
    scale = scale_of(study, several[0] if several else None, reference)
    read = _graded(study, question, [scale.distance], listener)
    ((name, similarity),) = read.similarity.items()
    if scale.reference is not None:
        similarity = 1 - scale.reference.normalise(1 - similarity)
    made, people = read.calibrated(similarity, seed), read.people()
    named = reference if isinstance(reference, str) else ""
    excluded, grades = read.given.excluded, read.given.said(question)
    return PairCalibration(
        question, name, scale.reference, made, people, read.without, excluded, grades, named
    )


@dataclass(frozen=True)
class _Graded:
    """Graded pairs: their rows among the items, levels and prompts, and their similarity by each distance."""

    given: Given
    rows: np.ndarray
    level: np.ndarray
    home: np.ndarray
    folds: int
    similarity: Mapping[str, np.ndarray]
    without: Mapping[str, int]

    def calibrated(self, similarity: np.ndarray, seed: int) -> Calibration:
        return calibration.calibrate(similarity, self.level, self.home, folds=self.folds, seed=seed)

    def people(self) -> People | None:
        return people_of(self.given.votes, self.rows, self.level, self.home)


def _graded(study: Study, question: str, distances: Sequence[str], listener: Listener | None) -> _Graded:
    """The graded pairs that all of these distances can compare."""
    measures = [configured(each) for each in distances]
    given = counting(study, question)
    without: Counter[str] = Counter()
    settled = levels(study, question, given)
    kept = usable(given, settled, without, question)
    groups = given.parts[kept].select("sha_image_id", "sha_image_b").rows()
    found: dict[str, np.ndarray] = {}
    known = np.ones(kept.size, dtype=bool)
    for measure in measures:
        values, reasons = distances_to_first(study, measure, groups, listener=listener)
        without.update(
            str(reason) for reason, is_known in zip(reasons, known, strict=True) if reason and is_known
        )
        known &= np.isfinite(values).any(axis=1)
        found[measure.short] = values[:, 0] if values.shape[1] else np.full(kept.size, np.nan)
    if known.sum() < 4 * FOLDS:
        raise DataError(
            f"{known.sum()} graded pairs have their images here, too few for cut-offs",
            where=study.name,
            remedy=why(without, given.excluded) or f"At least {4 * FOLDS} pairs are needed.",
        )
    rows = kept[known]
    home = homes(study, given.parts)[rows]
    folds = min(FOLDS, np.unique(home).size)
    if folds < 2:
        home, folds = rows, FOLDS
    similarity = {name: 1 - values[known] for name, values in found.items()}
    return _Graded(given, rows, settled[rows], home, folds, similarity, dict(without))


def _compare_pairs(
    study: Study, question: str, distances: Sequence[str], seed: int, listener: Listener | None
) -> PairComparison:
    """Cross-validated accuracy of every distance on the same graded pairs, with tests between them."""
    read = _graded(study, question, distances, listener)
    rows = [DistanceAccuracy(name, read.calibrated(each, seed)) for name, each in read.similarity.items()]
    right = {each.name: (each.calibration.predicted == read.level).astype(np.float64) for each in rows}
    systems = systems_of(study, read.given.parts)[read.rows]
    return PairComparison(
        question,
        read.rows.size,
        rows,
        read.people(),
        choices.compare_scores(right, read.home, seed=seed),
        [choices.spread(name, each, systems, read.home, seed=seed) for name, each in right.items()],
        read.without,
        read.given.excluded,
        read.given.said(question),
    )


def _calibrate_choices(
    study: Study, question: str, distances: Sequence[str], seed: int, listener: Listener | None
) -> ChoiceCalibration:
    """2AFC score and accuracy of every distance on the same triplets, with tests between them.

    The proportion that chose A is that of the votes that count, or the published one where there are none.
    """
    measures = [configured(each) for each in dict.fromkeys(distances)]
    given = counting(study, question)
    triplets = given.parts
    proportion = proportions(study, question, given)
    without: Counter[str] = Counter()
    groups = triplets.select("sha_image_id", "sha_image_b", "sha_image_c").rows()
    keep = judged(given, proportion, without)
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
            remedy=why(without, given.excluded) or "Import the folders of images that the triplets name.",
        )
    pairs = {name: (distances[keep, 0], distances[keep, 1]) for name, distances in both.items()}
    chose = proportion[keep]
    home = homes(study, triplets)[keep]
    systems = systems_of(study, triplets)[keep]
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
