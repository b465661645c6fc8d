"""What sightline variability --calibrate shows: cut-offs from graded pairs, distances by forced choices."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sightline.cli._output import Output, figure, quoted
from sightline.cli._progress import watched
from sightline.cli._scale import say_scale, say_without, scale_of, told
from sightline.errors import UsageError

if TYPE_CHECKING:
    from sightline.study.study import Study
    from sightline.variability.calibrate import LeftOut


def show_calibration(
    output: Output,
    study: Study,
    at: str,
    question: str,
    distances: list[str],
    named: str | None,
    seed: int,
) -> None:
    """Calibrate on what the question is about: graded pairs, or triplets of forced choices."""
    from sightline.variability.calibrate import is_about_triplets

    if is_about_triplets(study, question):
        _choices(output, study, at, question, distances, seed)
    elif len(distances) > 1:
        raise UsageError("graded pairs give the cut-offs of one distance", remedy="Give --distance once.")
    else:
        _grades(output, study, at, question, distances[0], named, seed)


def _grades(
    output: Output, study: Study, at: str, question: str, distance: str, named: str | None, seed: int
) -> None:
    from sightline.estimate import absent
    from sightline.rendering.tables import Column, Table
    from sightline.statistics.calibration import LEVELS
    from sightline.variability.calibrate import calibrate

    scale = scale_of(study, named, distance)
    with watched() as listener:
        found = calibrate(study, question, distance=distance, reference=scale, seed=seed, listener=listener)
    made, people = found.calibration, found.people
    cuts = made.cut_offs.values
    unknown = absent("only settled grades are known, not who gave them")
    accuracy = [
        (found.distance, figure(made.micro), figure(made.macro)),
        (
            "annotators",
            unknown if people is None else figure(people.micro),
            unknown if people is None else figure(people.macro),
        ),
        (
            "annotators, each against the others",
            unknown if people is None else figure(people.others),
            absent("not by level: the others may be of two minds"),
        ),
    ]
    tables = {
        "cut_offs": Table(
            [Column("level"), Column("from", "similarity from")],
            list(zip(LEVELS[1:], cuts, strict=True)),
            f"Cut-offs by {made.cut_offs.n:,} graded pairs",
        ),
        "accuracy": Table(
            [
                Column("who"),
                Column("micro", "micro accuracy", format="%", estimate=True),
                Column("macro", "macro accuracy", format="%", estimate=True),
            ],
            accuracy,
            f"Accuracy, {made.folds}-fold cross-validated",
        ),
        "confusion": Table(
            [Column("people"), *(Column(level) for level in LEVELS)],
            [(name, *counts) for name, counts in zip(LEVELS, made.confusion.tolist(), strict=True)],
            "Levels people gave (rows) and levels predicted (columns)",
        ),
    }
    output.show(
        tables,
        question=question,
        without=found.without,
        left_out=asdict(found.left_out),
        reference=told(scale),
    )
    say_without(output, found.without)
    _say_left_out(output, found.left_out)
    say_scale(output, scale)
    if people is not None:
        output.say(
            "An annotator's own vote is part of the grade it is held against; the last row is without it."
        )
    # Every digit: rounded, a cut-off just above the most similar pair would be within its reach.
    given = ",".join(repr(cut) for cut in cuts)
    wanted = f" --reference {quoted(named)}" if named else ""
    same = f"{quoted(at)} --distance {quoted(found.distance)}"
    output.next(f"sightline variability {same}{wanted} --reuse --cut-offs {given}")


def _choices(output: Output, study: Study, at: str, question: str, distances: list[str], seed: int) -> None:
    from sightline.estimate import absent
    from sightline.rendering.tables import Column, Table
    from sightline.variability.calibrate import check_encoders

    with watched() as listener:
        found = check_encoders(study, question, distances, seed=seed, listener=listener)
    tables = {
        "distances": Table(
            [
                Column("distance"),
                Column("score", "2AFC score", "higher", format="%", estimate=True),
                Column("accuracy", "accuracy", "higher", format="%", estimate=True),
            ],
            [(each.name, figure(each.score), figure(each.accuracy)) for each in found.rows],
            f"{found.triplets:,} forced choices",
        ),
        "comparisons": Table(
            [
                Column("one"),
                Column("other"),
                Column("difference", "difference of scores", format="+"),
                Column("p", "p (sign-flip)", format="p"),
                Column("adjusted", "p (Holm)", format="p"),
            ],
            [
                (each.one, each.other, each.difference.statistic, each.difference.p, each.adjusted)
                for each in found.comparisons
            ],
            "Are two distances different?",
        ),
        "fairness": Table(
            [
                Column("distance"),
                *(
                    Column(f"system_{system}", system or "(no system)", format="%")
                    for system in found.spreads[0].by_system
                ),
                Column("spread", format="%"),
                Column("p", "p (chance)", format="p"),
            ],
            [
                (
                    each.name,
                    *each.by_system.values(),
                    each.spread,
                    absent("a single system, or a single prompt of each") if each.p is None else each.p,
                )
                for each in found.spreads
            ],
            "Score by system: a fair distance does equally well on all",
        ),
    }
    output.show(
        tables,
        question=question,
        without=found.without,
        left_out=asdict(found.left_out),
        ties=found.ties,
    )
    say_without(output, found.without)
    _say_left_out(output, found.left_out)
    output.say(found.ties)
    best = max(found.rows[1:], key=lambda each: each.score.value or 0.0)
    output.next(
        f"sightline variability {quoted(at)} --distance {quoted(best.name)}", "the best distance here"
    )


def _say_left_out(output: Output, left_out: LeftOut) -> None:
    """Tell whose votes do not count."""
    if left_out.failed:
        output.say(f"Left out with all their votes: {left_out.failed:,} who failed an attention check.")
    if left_out.before:
        output.say(f"Left out before, by the owner or the last settlement: {left_out.before:,}.")
