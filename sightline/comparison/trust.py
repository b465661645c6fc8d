"""Trust: how well does each automatic measure agree with people?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

import polars as pl

from sightline import registry
from sightline.comparison.compare import scores_by_system
from sightline.errors import DataError, UsageError
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.correlation import Correlation, clustered_spearman
from sightline.study import reading, rollup
from sightline.study.study import Study
from sightline.verbs import option, verb


@dataclass(frozen=True)
class MeasureTrust:
    """A measure against a question: Spearman's rank correlation over what both have a value for."""

    measure: str
    kind: str
    direction: str
    question: str
    correlation: Correlation


@dataclass(frozen=True)
class Trust(Result):
    """Every measure against every question that speaks of the same things."""

    rows: Sequence[MeasureTrust]

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

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
    """Tell how well each measure agrees with people.

    Spearman's rank correlation of scores with truth. A measure of which lower is better agrees with people if
    it is negative. Where a prompt has several images, the interval comes from resampling whole prompts.
    """
    measures = [row for row in reading.measures(study).iter_rows(named=True) if row["values"]]
    if not measures:
        raise DataError("nothing is scored yet", where=study.name, remedy="sightline score STUDY")
    names = [question] if question else [asked.name for _, asked in reading.questions(study)]
    parts = [(row, *part) for row in measures for part in _parts(study, row)]
    found = []
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
            both = means.join(both.unique(on, keep="first").select(kept), on=on)
            if both.is_empty():
                continue
            correlation = clustered_spearman(both["value"], both["truth"], both["prompt_id"])
            found.append(MeasureTrust(short, str(row["kind"]), str(row["direction"]), name, correlation))
    if not found:
        raise DataError(
            "no measure and no truth speak of the same things",
            where=study.name,
            remedy="Settle judgements (sightline truth) and score images (sightline score).",
        )
    return Trust(found)


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
