"""Compare: which system is better, by how much, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline import registry
from sightline.errors import DataError, UsageError, near
from sightline.judging import rollup
from sightline.statistics import comparison
from sightline.statistics.intervals import Interval, mean_interval
from sightline.store import reading
from sightline.store.study import Study


@dataclass(frozen=True)
class Placed:
    """A system with its mean and the ranks that the tests leave open."""

    system: str
    mean: Interval
    best_rank: int
    worst_rank: int


@dataclass(frozen=True)
class Versus:
    """First minus second over the prompts both answered."""

    first: str
    second: str
    difference: Interval
    p: float | None
    p_adjusted: float | None
    significant: bool


@dataclass(frozen=True)
class Compared:
    """The systems on one question or measure, best first."""

    by: str
    direction: str
    prompts: int
    systems: Sequence[Placed]
    pairs: Sequence[Versus]
    where: str = ""


def compare(study: Study, by: str | None = None, *, where: str = "", seed: int = 0) -> Compared:
    """Compare all systems by the truth of a question or the scores of a measure.

    `where` keeps the prompts with a tag, as in `where="skill=counting"`. Differences are paired by prompt;
    p-values come from sign flips and are adjusted after Holm for all pairs.
    """
    values, name, direction = values_by(study, by)
    if where:
        values = values.filter(pl.col("prompt_id").is_in(tagged(study, where)))
    if values["system_id"].n_unique() < 1:
        raise DataError(f"no system has a value of {name}" + (f" where {where}" if where else ""))
    matrix, prompts, systems = rollup.matrix(values)
    sign = -1.0 if direction == "lower" else 1.0
    found = comparison.compare(matrix * sign, seed=seed)
    placed = [
        Placed(systems[s.system], _signed(s.mean, sign), s.best_rank, s.worst_rank) for s in found.standings
    ]
    pairs = [
        Versus(
            systems[pair.first],
            systems[pair.second],
            _signed(pair.difference, sign),
            pair.p,
            pair.p_adjusted,
            pair.significant,
        )
        for pair in found.pairs
    ]
    return Compared(name, direction, len(prompts), placed, pairs, where)


def values_by(study: Study, by: str | None) -> tuple[pl.DataFrame, str, str]:
    """A system's value on each prompt by a question or a measure, its name and direction."""
    questions = {asked.name: asked for _, asked in reading.questions(study)}
    settled = reading.about_systems(study)
    if by is None:
        if not settled:
            raise DataError(
                "there is no truth to compare by",
                where=study.name,
                remedy="Settle judgements first: sightline truth",
            )
        by = settled[0]
    if by in questions:
        if by not in settled:
            raise DataError(f"{by} has no truth about systems yet", remedy="sightline truth STUDY")
        return rollup.by_system(study, by), by, questions[by].direction
    names = {str(row["measure"]).partition("(")[0] for row in reading.measures(study).iter_rows(named=True)}
    if by.partition("(")[0].partition("@")[0] not in names:
        raise UsageError(
            f"there is neither a question nor a scored measure called {by!r}",
            remedy=near(by, [*settled, *names]),
        )
    return scores_by_system(study, by), by, registry.find_measure(by).spec.direction


def scores_by_system(study: Study, measure: str) -> pl.DataFrame:
    """A system's mean score on each prompt."""
    configured = registry.find_measure(measure)
    scores = reading.scores(study, configured.identity).filter(pl.col("value").is_not_null())
    kind = configured.spec.kind
    if kind in ("of_image_set", "of_ranking"):
        systems = reading.systems(study).select("system_id", "system")
        return scores.join(systems, on="system_id").select("prompt_id", "system_id", "system", "value")
    on = {"of_image": ["image_id"], "of_answer": ["prompt_id", "image_id"]}.get(kind)
    if on is None:
        raise UsageError(f"{measure} is a measure of a prompt: it does not tell systems apart")
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    return (
        answers.drop("score")
        .join(scores.select([*on, "value"]), on=on)
        .group_by("prompt_id", "system_id", "system")
        .agg(pl.col("value").mean())
        .sort("prompt_id", "system_id")
    )


def tagged(study: Study, where: str) -> list[int]:
    """The prompts with a tag, written `name=value`."""
    name, separator, value = where.partition("=")
    tags = reading.tags(study)
    if not separator:
        raise UsageError(f"cannot read {where!r}", remedy="Write a tag and its value: --where skill=counting")
    known = tags.filter(pl.col("name") == name)
    if known.is_empty():
        raise UsageError(f"no prompt has a tag {name!r}", remedy=near(name, tags["name"].unique().to_list()))
    found = known.filter(pl.col("value") == value)["prompt_id"].to_list()
    if not found:
        raise UsageError(
            f"no prompt has {name} = {value!r}", remedy=near(value, known["value"].unique().to_list())
        )
    return [int(prompt) for prompt in found]


@dataclass(frozen=True)
class Cell:
    """One system's mean over the prompts with one value of a tag."""

    group: str
    system: str
    mean: Interval


def breakdown(study: Study, by: str, tag: str) -> list[Cell]:
    """The means of every system, split by the values of one tag."""
    values, _, _ = values_by(study, by)
    tags = (
        reading.tags(study).filter(pl.col("name") == tag).select("prompt_id", pl.col("value").alias("group"))
    )
    joined = values.join(tags, on="prompt_id")
    return [
        Cell(str(group), str(system), mean_interval(np.asarray(rows["value"])))
        for (group, system), rows in joined.sort("group", "system_id").group_by(
            ["group", "system"], maintain_order=True
        )
    ]


def _signed(interval: Interval, sign: float) -> Interval:
    if sign > 0 or interval.value is None:
        return interval
    low, high = interval.low, interval.high
    return Interval(
        -interval.value,
        None if high is None else -high,
        None if low is None else -low,
        interval.n,
        interval.method,
        interval.reason,
    )
