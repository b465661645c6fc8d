"""Breakdown: the means of every system, split by the values of a tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import polars as pl

from sightline.comparison.compare import values_by
from sightline.estimate import Cell, Direction, Estimate, direction_said, format_cell
from sightline.measures.rankings import Ranked
from sightline.rendering import charts
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, Colour, system_colours
from sightline.statistics.intervals import mean_interval, within
from sightline.study import reading
from sightline.study.study import Study

GROUPS = range(2, 17)
"""A tag with this many values is worth a breakdown."""
ENOUGH = 4
"""Prompts that a group needs to be called a weak spot."""
MOST_GROUPS = 40
MOST_SERIES_IN_DOTS = 4
MOST_COLUMNS_ON_A_PHONE = 9


@dataclass(frozen=True)
class GroupMean:
    """One system's mean over the prompts with one value of a tag."""

    group: str
    system: str
    mean: Estimate


@dataclass(frozen=True)
class Breakdown(Result):
    """Every system's mean for each value of a tag, and its mean over all prompts."""

    tag: str
    by: str
    direction: Direction
    rows: Sequence[GroupMean]
    overall: Mapping[str, float]
    low: float | None = None
    high: float | None = None

    @property
    def sentence(self) -> str:
        """The worst group of a system that lies significantly below its own mean, if there is one."""
        sign = -1.0 if self.direction == "lower" else 1.0
        weak = []
        for each in self.rows:
            end = each.mean.high if sign > 0 else each.mean.low
            below = end is not None and sign * end < sign * self.overall[each.system]
            if each.mean.value is not None and each.mean.n >= ENOUGH and below:
                weak.append((sign * each.mean.value, each))
        if not weak:
            return f"No group of {ENOUGH} or more prompts is significantly below its system's own mean."
        worst = min(weak, key=lambda each: each[0])[1]
        return (
            f"The weakest spot among groups of {ENOUGH} or more prompts is {worst.system} on {worst.group}: "
            f"{format_cell(worst.mean)} over {worst.mean.n}; overall {self.overall[worst.system]:.2f}."
        )

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(each.group for each in self.rows))

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(each.system for each in self.rows))

    def tables(self) -> dict[str, Table]:
        """One row per group and one column per system, or the other way round where systems are many."""
        means = {(each.group, each.system): each.mean for each in self.rows}
        first, down, across = Column("group", self.tag), self.groups, self.systems
        if len(across) > len(down):
            first, down, across = Column("system"), across, down
            means = {(system, group): mean for (group, system), mean in means.items()}
        columns = [first, *(Column(f"mean_{name}", name, self.direction, estimate=True) for name in across)]
        rows: list[list[Cell]] = [[each, *(means.get((each, name)) for name in across)] for each in down]
        return {"": Table(columns, rows, f"Mean {self.by} for each {self.tag}")}

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """Dots with intervals, or a heat map where systems are too many for dots."""
        palette = colours or system_colours(self.systems)
        drawn = set(self.groups[:MOST_GROUPS])
        dots = [
            Dot(each.group, each.mean, each.system)
            for each in self.rows
            if each.mean.value is not None and each.group in drawn
        ]
        if not dots:
            return {}
        more = "Every number with its n is in the table below."
        if len(self.groups) > MOST_GROUPS:
            more = (
                f"The first {MOST_GROUPS} of {len(self.groups)} values are drawn; all are in the table below."
            )
        domain = None if self.low is None or self.high is None else (self.low, self.high)
        # Systems that share the accent cannot be distinguished within a row of dots.
        distinct = len(self.systems) == 1 or all(palette[name] != ACCENT for name in self.systems)
        if distinct and len(self.systems) <= MOST_SERIES_IN_DOTS:
            figure = Figure.of(
                lambda width: charts.dot_interval(
                    dots, axis=self.by, direction=self.direction, domain=domain, colours=palette, width=width
                ),
                f"Mean {self.by} with its interval for each {self.tag}. {more}",
                [(name, palette[name].name) for name in self.systems],
            )
            return {"means": figure}
        better = direction_said(self.direction)
        figure = Figure.of(
            lambda width: charts.heatmap(
                dots, axis=self.by, direction=self.direction, domain=domain, width=width
            ),
            f"Mean {self.by}{f' ({better})' if better else ''}: the stronger the colour, the higher. {more}",
        )
        if min(len(drawn), len(self.systems)) > MOST_COLUMNS_ON_A_PHONE:
            figure = replace(figure, narrow=None, scrolls=True)
        return {"means": figure}


def breakdown(study: Study, by: str | None, tag: str, ranked: Ranked | None = None) -> Breakdown:
    """The means of every system, split by the values of one tag."""
    basis = values_by(study, by, ranked)
    tags = reading.tags(study).filter(pl.col("name") == tag).select("prompt_id", group="value")
    joined = basis.values.join(tags, on="prompt_id").sort("group", "system_id")
    rows = [
        GroupMean(
            str(group), str(system), within(mean_interval(values["value"].to_numpy()), basis.low, basis.high)
        )
        for (group, system), values in joined.group_by(["group", "system"], maintain_order=True)
    ]
    overall = dict(basis.values.group_by("system").agg(pl.col("value").mean()).iter_rows())
    return Breakdown(tag, basis.name, basis.direction, rows, overall, basis.low, basis.high)


def main_tags(study: Study) -> list[str]:
    """Tags with a few values, those with the fewest first: what a breakdown can be made by."""
    tags = reading.tags(study)
    if tags.is_empty():
        return []
    sizes = tags.group_by("name").agg(pl.col("value").n_unique().alias("values"), pl.len().alias("n"))
    total = len(reading.prompts(study))
    # A split says how the data was divided for learning, nothing about the prompts.
    fits = sizes.filter(
        pl.col("values").is_in(list(GROUPS)) & (pl.col("n") >= 0.5 * total) & (pl.col("name") != "split")
    )
    return [str(name) for name in fits.sort("values", "name")["name"]]
