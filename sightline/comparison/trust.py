"""Trust: how well does each automatic measure agree with people?"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from sightline.comparison.items import asked, chosen, scored, truths_of, units_of
from sightline.comparison.measure_trust import (
    GroupTrust,
    HeldOut,
    MeasureDifference,
    MeasureTrust,
    all_matched,
    grouped,
    labels,
    on_splits,
    tested,
    trusted,
)
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Estimate, absent, format_cell, plural
from sightline.extension import IMPORTED
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, system_colours
from sightline.statistics.levels import LEVELS, Level
from sightline.study import reading
from sightline.study.study import Study
from sightline.verbs import SEED, option, verb

MOST_ROWS = 6
"""Measures of a question that a report shows; the command shows all."""
MOST_QUESTIONS = 4
"""Questions that a chart can show next to each other."""
SURE = 0.05
FIGURES = {"spearman": "SRoCC", "kendall": "KRoCC", "plcc": "PLCC", "rmse": "RMSE"}
HEADINGS = {**FIGURES, "accuracy": "pairs right"}


@dataclass(frozen=True)
class Trust(Result):
    """Every measure against every question about the same things, the strongest correlation first."""

    rows: Sequence[MeasureTrust]
    differences: Sequence[MeasureDifference] = ()
    per: str = ""
    groups: Sequence[GroupTrust] = ()
    splits: int = 0
    held_out: Sequence[HeldOut] = ()
    against: str = ""

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    @property
    def best(self) -> dict[str, MeasureTrust]:
        """The measure that follows people most closely on each question, of those with a direction if any."""
        found: dict[str, MeasureTrust] = {}
        known = [each for each in self.rows if each.correlation.value is not None]
        directed = {each.question for each in known if each.direction != "none"}
        for each in known:
            counts = each.direction != "none" or each.question not in directed
            if counts and (each.question not in found or each.agreement > found[each.question].agreement):
                found[each.question] = each
        return found

    @property
    def sentence(self) -> str:
        """Whether a measure can stand in for people, and which comes closest."""
        if not self.best:
            return ""

        def named(rows: Sequence[MeasureTrust]) -> str:
            parts = [
                f"{each.measure} for {each.question} ({format_cell(each.correlation)} {each.level})"
                for each in rows
            ]
            return "; ".join(parts)

        if all(each.kind == "question" for each in self.rows):
            return "; ".join(_between_questions(each) for each in self.rows) + "."
        able = [each for each in self.rows if each.stands_in]
        if not able:
            closest = named(list(self.best.values()))
            return f"None of these can stand in for people here; the closest: {closest}."
        rest = [each for name, each in self.best.items() if name not in {one.question for one in able}]
        like = able[0].drawn if able[0].drawn == "images" else "prompts"
        text = f"Close enough to people to stand in for them on {like} like these: {named(able)}."
        return text + (f" None is for the other questions; the closest: {named(rest)}." if rest else "")

    @property
    def notes(self) -> Sequence[str]:
        found = [self._about_levels(), self._about_pairs(), self._about_directions()]
        for each in self.rows:
            if each.reversed:
                better, worse = each.reversed[0]
                others = len(each.reversed) - 1
                more = f" (and {others} more pair{'s' if others > 1 else ''})" if others else ""
                found.append(
                    f"Warning: {each.measure} contradicts people's order of systems on {each.question}: "
                    f"they put {better} above {worse}, it does the opposite{more}."
                )
            elif each.simpson:
                pool = each.levels["pooled"].spearman.value or 0.0
                found.append(
                    f"Warning: {each.measure} and {each.question} correlate by {pool:+.2f} over all items, "
                    f"but by {each.correlation.value:+.2f} {each.level}: it tells prompts apart, not answers."
                )
        sure = sum(each.p_holm is not None and each.p_holm < SURE for each in self.differences)
        if self.differences:
            of = f"{sure} of {len(self.differences)} differences between measures"
            found.append(f"{of} are significant after Holm's correction.")
        return [note for note in found if note]

    @property
    def brief(self) -> Trust:
        """The same with the strongest measures of each question, and those that contradict people, alone."""
        counts: dict[str, int] = {}
        rows = []
        for each in self._headline_rows:
            counts[each.question] = counts.get(each.question, 0) + 1
            if counts[each.question] <= MOST_ROWS or each.reversed:
                rows.append(each)
        return replace(self, rows=rows)

    @property
    def _headline_rows(self) -> list[MeasureTrust]:
        """Those within prompts where there are any: the others are about prompts, not about answers."""
        within = [each for each in self.rows if each.level == "within prompts"]
        return within or list(self.rows)

    def _about_levels(self) -> str:
        if any(each.level == "within prompts" for each in self.rows):
            return (
                "The headline is within prompts: does the measure order the answers to one prompt as people "
                "do? n counts prompts."
            )
        drawn = {each.drawn for each in self.rows}
        if drawn & {"images", "references"}:
            more = " (the images made from one count as one)" if "references" in drawn else ""
            return (
                f"The headline is pooled: the images answer no prompt. n counts {' and '.join(drawn)}{more}."
            )
        return "The headline is pooled: no prompt has several answers with different truth. n counts prompts."

    def _about_directions(self) -> str:
        """Imported measures of which nobody said what is better are never the closest, however close."""
        open_ = {each.measure for each in self.rows if each.direction == "none"}
        imported = sum(name.endswith(IMPORTED) for name in open_)
        if not imported or all(each.measure in open_ for each in self.rows):
            return ""
        return (
            f"Of {plural(imported, 'imported measure')} the direction is not known, which excludes "
            "them from the finding. Say it: sightline import with --replace --option direction=higher"
        )

    def _about_pairs(self) -> str:
        """Why pairs of systems may be wrong though the order is right."""
        between = [each.levels[LEVELS[-1]].accuracy.value for each in self.rows if LEVELS[-1] in each.levels]
        if all(value is None or value == 1 for value in between):
            return ""
        return (
            "System pairs right: a pair is right if people and the measure call the same system better, or "
            "if no difference is significant by either. A pair that only one of them tells apart is wrong, "
            "even where the means are in the same order."
        )

    def figures(self) -> dict[str, Figure]:
        """Each headline correlation as a dot with its interval, one series per question."""
        known = [each for each in self._headline_rows if each.correlation.value is not None]
        questions = list(dict.fromkeys(each.question for each in known))
        if not known or len(questions) > MOST_QUESTIONS:
            return {}
        dots = [
            Dot(each.measure, each.correlation, each.question if len(questions) > 1 else "") for each in known
        ]
        colours = system_colours(questions)
        if len(questions) == 1:
            colours = dict.fromkeys((dot.label for dot in dots), ACCENT)
        figure = Figure.of(
            lambda width: dot_interval(
                dots,
                axis=f"Spearman's rank correlation with people, {known[0].level}",
                domain=(-1, 1),
                colours=colours,
                width=width,
            ),
            "1 agrees fully with people, 0 not at all, −1 is the opposite. Measures of which lower is better "
            "should correlate negatively. A dot without a line has too few "
            f"{known[0].drawn} for an interval.",
            [(name, colours[name].name) for name in questions] if len(questions) > 1 else (),
        )
        return {"correlations": figure}

    def tables(self) -> dict[str, Table]:
        found = {"": self._main(), "levels": self._levels()}
        if self.groups:
            found["groups"] = self._groups()
        if self.held_out:
            found["held_out"] = self._held_out()
        if self.differences:
            found["differences"] = self._differences()
        return found

    def _main(self) -> Table:
        seen = {level for each in self.rows for level in each.levels}
        headlines = {each.level for each in self.rows}
        same = next(iter(headlines)) if len(headlines) == 1 else ""
        columns = [
            Column("question"),
            Column("measure"),
            Column("kind", "target", detail=True),
            Column("direction"),
            Column("level", detail=bool(same)),
            Column("spearman", f"{same}: Spearman, 95 % interval".removeprefix(": "), estimate=True),
            *(
                Column(
                    level.replace(" ", "_"), level, format=".2f", detail=level == same or level not in seen
                )
                for level in LEVELS
            ),
            Column("system_pairs", "system pairs right", format="%", detail=LEVELS[-1] not in seen),
            Column("reversed", "system pairs reversed", detail=True),
        ]
        return Table(columns, [_row(each) for each in self.rows], "Measures against people")

    def _levels(self) -> Table:
        columns = [
            Column("question"), Column("measure"), Column("level"), Column("items"),
            *(Column(name, title, estimate=True) for name, title in HEADINGS.items()),
        ]  # fmt: skip
        rows: list[list[Cell]] = [
            [each.question, each.measure, level, each.levels[level].items, *_figures(each.levels[level])]
            for each in self.rows
            for level in LEVELS
            if level in each.levels
        ]
        return Table(columns, rows, "Every statistic at every level", most=len(LEVELS))

    def _groups(self) -> Table:
        columns = [
            Column("question"), Column("measure"), Column("group", self.per), Column("level"),
            Column("items"), *(Column(name, title, estimate=True) for name, title in FIGURES.items()),
        ]  # fmt: skip
        rows: list[list[Cell]] = [
            [each.question, each.measure, each.group, own.level, own.items, *_figures(own)[:-1]]
            for each in self.groups
            for own in [each.level]
        ]
        return Table(columns, rows, f"Measures against people for each {self.per}")

    def _held_out(self) -> Table:
        columns = [Column("question"), Column("measure"), Column("n", "held-out prompts or images")]
        for name, title in FIGURES.items():
            columns += [Column(name, title, format=".3f"), Column(f"{name}_sd", "SD", format=".3f")]
        rows: list[list[Cell]] = []
        for each in self.held_out:
            pairs = zip(each.means, each.spreads, strict=True)
            rows.append([each.question, each.measure, each.n, *(cell for pair in pairs for cell in pair)])
        return Table(columns, rows, f"On held-out prompts: mean and SD over {self.splits} splits, 80 to 20")

    def _differences(self) -> Table:
        columns = [
            Column("question"), Column("level"), Column("first"), Column("second"),
            Column("difference", "first follows people more closely by", format="+", estimate=True),
            Column("p", format="p", detail=True), Column("p_holm", "p (Holm)", format="p"),
        ]  # fmt: skip
        rows = [
            [each.question, each.level, each.first, each.second, each.difference, each.p, each.p_holm]
            for each in self.differences
        ]
        return Table(columns, rows, "Differences between measures", most=5)


@verb("analyse")
def trust(
    study: Study,
    question: Annotated[
        str | None,
        option("Compare with the truth of this question.", metavar="QUESTION", shown="every question"),
    ] = None,
    *,
    against: Annotated[
        str,
        option("Set this question or measure against it.", metavar="QUESTION|MEASURE", shown="every measure"),
    ] = "",
    per: Annotated[
        str,
        option(
            "Split by the values of this tag of prompts or images, or by system, suite, words or collection.",
            metavar="TAG",
        ),
    ] = "",
    splits: Annotated[
        int, option("Repeat this many grouped 80/20 splits, with all measures combined too.", least=0)
    ] = 0,
    seed: Annotated[int, SEED] = 0,
) -> Trust:
    """Set measures against people's judgement: can one stand in for them?

    Correlations within prompts (the headline: are the answers to one prompt ordered as people order them?),
    pooled, within systems and between systems, with 95 % intervals over prompts where simulation shows that
    they hold. Measures are tested against each other at the headline level by sign flips, adjusted after
    Holm. A measure of which lower is better agrees with people if its correlation is negative.
    """
    home = shlex.quote(str(study.home))
    questions = {each.name: each for _, each in reading.questions(study)}
    names = [reading.question(study, question)[1].name] if question else [*questions]
    # Before any score is read or ranking measured: where there is no truth, nothing can be related.
    if all(reading.newest_settlement(study, name) is None for name in names):
        raise DataError(
            f"{question} has no truth yet" if question else "no question has truth yet",
            where=study.name,
            remedy=f"sightline truth {home}",
        )
    if against in questions:
        if not question or question == against:
            raise UsageError(
                f"{against} is a question: it needs another one to be set against",
                remedy=f"sightline trust {home} --question {_other(questions, against)} --against {against}",
            )
        measures = asked(study, against)
    else:
        measures = scored(study, against)
        if not measures:
            raise DataError("nothing is scored yet", where=study.name, remedy=_instead(study, [*questions]))
        measures = chosen(measures, against, [*questions]) if against else measures
    label = labels(study, per) if per else None
    units = units_of(study)
    systems = dict(reading.systems(study).select("system_id", "system").iter_rows())
    rows: list[MeasureTrust] = []
    differences: list[MeasureDifference] = []
    groups: list[GroupTrust] = []
    held: list[HeldOut] = []
    for name in names:
        truths = truths_of(study, name)
        pairs = all_matched(study, truths, measures, units)
        made = [trusted(each, on, name, questions[name].direction, systems) for each, on in pairs]
        rows += made
        differences += tested(made, [on for _, on in pairs], seed)
        if label is not None:
            groups += grouped(made, [on for _, on in pairs], label)
        if splits:
            held += on_splits(made, [on for _, on in pairs], splits, seed)
    if not rows:
        raise DataError(
            "no measure and no truth are about the same things",
            where=study.name,
            remedy=f"Aggregate judgements (sightline truth {home}), and score"
            f" images (sightline score {home}).",
        )
    rows.sort(key=lambda each: (each.question, -each.agreement))
    return Trust(rows, differences, per, groups, splits, held, against)


def _instead(study: Study, questions: Sequence[str]) -> str:
    """What to run where nothing is scored: score, or set one question against another."""
    home = shlex.quote(str(study.home))
    known = [name for name in questions if reading.newest_settlement(study, name) is not None]
    if len(known) < 2:
        return f"sightline score {home} MEASURE"
    first, second, *_ = map(shlex.quote, known)
    return (
        f"Score the images: sightline score {home} MEASURE. Or set one question against another: "
        f"sightline trust {home} --question {first} --against {second}"
    )


def _other(questions: Iterable[str], than: str) -> str:
    return next((name for name in questions if name != than), "QUESTION")


def _between_questions(each: MeasureTrust) -> str:
    rest = [
        f"{own.spearman.value:.2f} {name}"
        for name, own in each.levels.items()
        if name != each.level and own.spearman.value is not None
    ]
    others = f" ({', '.join(rest)})" if rest else ""
    by = f"{format_cell(each.correlation)} {each.level}{others}"
    text = f"{each.measure} and {each.question} correlate by {by}"
    return text if each.stands_in else f"{text}: one cannot stand in for the other"


def _row(each: MeasureTrust) -> list[Cell]:
    between = each.levels.get(LEVELS[-1])
    none = absent("does not apply: too few answers or systems to tell apart")
    return [
        each.question, each.measure, each.kind.replace("_", " "), each.direction, each.level,
        each.correlation,
        *(_value(each.levels[level].spearman) if level in each.levels else none for level in LEVELS),
        none if between is None else _value(between.accuracy),
        len(each.reversed),
    ]  # fmt: skip


def _value(estimate: Estimate) -> Cell:
    return absent(estimate.reason or "") if estimate.value is None else estimate.value


def _figures(level: Level) -> list[Estimate]:
    return [level.spearman, level.kendall, level.plcc, level.rmse, level.accuracy]
