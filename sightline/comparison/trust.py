"""Trust: how well does each automatic measure agree with people?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import polars as pl

from sightline import registry
from sightline.comparison.values import scores_by_system
from sightline.errors import DataError, UsageError
from sightline.estimate import Direction, format_cell
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, system_colours
from sightline.statistics.correlation import Correlation, clustered_spearman
from sightline.study import reading, rollup
from sightline.study.study import Study
from sightline.verbs import option, verb

MOST_QUESTIONS = 4
"""Questions that a chart can show next to each other."""


@dataclass(frozen=True)
class MeasureTrust:
    """A measure against a question: Spearman's rank correlation over what both have a value for."""

    measure: str
    kind: str
    direction: Direction
    question: str
    correlation: Correlation


@dataclass(frozen=True)
class Trust(Result):
    """Every measure against every question about the same things, the strongest correlation first."""

    rows: Sequence[MeasureTrust]

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    @property
    def sentence(self) -> str:
        """The measure that follows people best on each question."""
        best: dict[str, MeasureTrust] = {}
        for each in self.rows:
            size = abs(each.correlation.value or 0)
            if size > abs(best[each.question].correlation.value or 0) if each.question in best else size:
                best[each.question] = each
        named = [
            f"{each.measure} for {each.question} ({format_cell(each.correlation)})" for each in best.values()
        ]
        return f"Most correlated with people: {'; '.join(named)}." if named else ""

    def figures(self) -> dict[str, Figure]:
        """Each correlation as a dot with its interval, one series per question."""
        known = [each for each in self.rows if each.correlation.value is not None]
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
                axis="Spearman's rank correlation with people",
                domain=(-1, 1),
                colours=colours,
                width=width,
            ),
            "1 agrees fully with people, 0 not at all, −1 is the opposite. Measures of which lower is better "
            "should correlate negatively.",
            [(name, colours[name].name) for name in questions] if len(questions) > 1 else (),
        )
        return {"correlations": figure}

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("question"),
            Column("measure"),
            Column("kind", "target"),
            Column("direction"),
            Column("spearman", "Spearman, 95 % interval", estimate=True),
        ]
        rows = [
            (each.question, each.measure, each.kind.replace("_", " "), each.direction, each.correlation)
            for each in self.rows
        ]
        return {"": Table(columns, rows, "Measures against people")}


@verb("analyse")
def trust(
    study: Study,
    question: Annotated[
        str | None,
        option("Compare with the truth of this question.", metavar="QUESTION", shown="every question"),
    ] = None,
) -> Trust:
    """Correlate measures with people's judgement.

    Spearman's rank correlation of scores with truth. A measure of which lower is better agrees with people if
    it is negative. Where a prompt has several images, the interval comes from resampling whole prompts.
    """
    measures = [row for row in reading.measures(study).iter_rows(named=True) if row["values"]]
    if not measures:
        raise DataError("nothing is scored yet", where=study.name, remedy="sightline score STUDY")
    names = [question] if question else [asked.name for _, asked in reading.questions(study)]
    parts = [(row, *part) for row in measures for part in _parts(study, row)]
    rows = []
    for name in names:
        images = rollup.of_answers(study, name)
        pairs = rollup.by_system(study, name)
        prompts = rollup.by_prompt(study, name)
        if prompts.is_empty():
            continue
        for row, short, scores in parts:
            on, truth = {
                "of_prompt": (["prompt_id"], prompts),
                "of_image": (["image_id"], images),
                "of_answer": (["prompt_id", "image_id"], images),
            }.get(str(row["kind"]), (["prompt_id", "system_id"], pairs))
            kept = list(dict.fromkeys([*on, "prompt_id"]))
            asked = truth.select([*kept, pl.col("value").alias("truth")])
            both = asked.join(scores.select([*on, "value"]), on=on)
            # An image that answered several prompts counts once, with the mean of what people said of it.
            means = both.group_by(on, maintain_order=True).agg(
                pl.col("truth").mean(), pl.col("value").first()
            )
            both = means.join(both.unique(on, keep="first").select(kept), on=on).sort(on)
            if both.is_empty():
                continue
            correlation = clustered_spearman(both["value"], both["truth"], both["prompt_id"])
            rows.append(MeasureTrust(short, str(row["kind"]), row["direction"], name, correlation))
    if not rows:
        raise DataError(
            "no measure and no truth are about the same things",
            where=study.name,
            remedy="Aggregate judgements (sightline truth) and score images (sightline score).",
        )
    return Trust(sorted(rows, key=lambda each: (each.question, -abs(each.correlation.value or 0))))


def _parts(study: Study, measure: Mapping[str, object]) -> list[tuple[str, pl.DataFrame]]:
    """What a measure is called, and its values: as one, or by engine where each has a scale of its own.

    Rankings are measured as they stand, since what is kept may be older.
    """
    kept = reading.scores(study, str(measure["identity"])).filter(pl.col("value").is_not_null())
    try:
        chosen = registry.find_measure(str(measure["measure"]))
    except UsageError:
        return [(str(measure["measure"]), kept)]  # scored by an extension that is not installed here
    if chosen.spec.kind != "of_ranking":
        return [(chosen.short, kept)]
    values = scores_by_system(study, str(chosen))
    engines = values["system"].unique().sort().to_list()
    if chosen.spec.details["rests_on"] != "run" or len(engines) < 2:
        return [(chosen.short, values)]
    return [(f"{chosen.short} of {name}", values.filter(pl.col("system") == name)) for name in engines]
