"""Breakdown: the means of every system, split by the values of a tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from sightline.comparison.values import Basis, Grid, grid_of, values_by
from sightline.errors import UsageError, near
from sightline.estimate import Cell, Direction, Estimate, direction_said, format_cell, plural
from sightline.measures.rankings import Ranked
from sightline.rendering import charts
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, Colour, system_colours
from sightline.statistics.crossed import MIN_RATERS, Variance
from sightline.statistics.intervals import mean_interval
from sightline.statistics.pooling import METHOD, partial_pooling
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
    """One system's mean over the prompts with one value of a tag, and drawn to its mean over all of them.

    The fewer prompts a group has, the more it is `pooled`: the extremes among many small groups are mostly
    luck.
    """

    group: str
    system: str
    mean: Estimate
    pooled: Estimate


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
    notes: Sequence[str] = ()

    @property
    def pooled(self) -> bool:
        """Whether any mean is partially pooled: there are groups enough."""
        return any(each.pooled.method.startswith(METHOD) for each in self.rows)

    @property
    def sentence(self) -> str:
        """The weakest group of a system after pooling, and whether it is below the system's own mean."""
        sign = -1.0 if self.direction == "lower" else 1.0
        known = [each for each in self.rows if each.pooled.value is not None and each.mean.n >= ENOUGH]
        if self.direction == "none" or not known:
            return ""
        worst = min(known, key=lambda each: sign * (each.pooled.value or 0.0))
        limit = worst.pooled.high if sign > 0 else worst.pooled.low
        overall = self.overall[worst.system]
        spot = (
            f"{worst.system} on {worst.group}: {format_cell(worst.pooled)}"
            f"{' after partial pooling' if self.pooled else ''}, over {plural(worst.mean.n, 'prompt')}; "
            f"overall {overall:.2f}"
        )
        if limit is not None and sign * limit < sign * overall:
            return f"The weakest spot among groups of {ENOUGH} or more prompts is {spot}."
        return f"No group is significantly below its system's own mean; the lowest is {spot}."

    @property
    def groups(self) -> list[str]:
        return list(dict.fromkeys(each.group for each in self.rows))

    @property
    def systems(self) -> list[str]:
        return list(dict.fromkeys(each.system for each in self.rows))

    def tables(self) -> dict[str, Table]:
        """One row per group and one column per system, or the other way round where systems are many."""
        means = {(each.group, each.system): each.pooled for each in self.rows}
        first, down, across = Column("group", self.tag), self.groups, self.systems
        if len(across) > len(down):
            first, down, across = Column("system"), across, down
            means = {(system, group): mean for (group, system), mean in means.items()}
        columns = [first, *(Column(f"mean_{name}", name, self.direction, estimate=True) for name in across)]
        rows: list[list[Cell]] = [[each, *(means.get((each, name)) for name in across)] for each in down]
        return {"": Table(columns, rows, f"{self._title}{', partially pooled' if self.pooled else ''}")}

    def long_table(self) -> Table:
        """One row per group and system, with both means where groups are enough to pool."""
        columns = [
            Column("group", self.tag), Column("system"), Column("n"),
            Column("mean", f"mean {self.by}", self.direction, estimate=True),
            *([Column("pooled", "partially pooled", self.direction, estimate=True)] if self.pooled else []),
        ]  # fmt: skip
        rows: list[list[Cell]] = [
            [each.group, each.system, each.mean.n, each.mean, *([each.pooled] if self.pooled else [])]
            for each in self.rows
        ]
        return Table(columns, rows, f"{self._title}{'' if self.pooled else ' (too few groups to pool)'}")

    @property
    def _title(self) -> str:
        return f"Mean {self.by} with 95 % intervals for each {self.tag}"

    def figures(self, colours: Mapping[str, Colour] | None = None) -> dict[str, Figure]:
        """Dots with intervals, or a heat map where systems are too many for dots."""
        palette = colours or system_colours(self.systems)
        drawn = set(self.groups[:MOST_GROUPS])
        dots = [
            Dot(each.group, each.pooled, each.system)
            for each in self.rows
            if each.pooled.value is not None and each.group in drawn
        ]
        if not dots:
            return {}
        more = "Every number with its n is in the table below."
        if len(self.groups) > MOST_GROUPS:
            more = (
                f"The first {MOST_GROUPS} of {len(self.groups)} values are drawn; all are in the table below."
            )
        drawn_in = ", partially pooled" if self.pooled else ""
        domain = None if self.low is None or self.high is None else (self.low, self.high)
        # Systems that share the accent cannot be distinguished within a row of dots.
        distinct = len(self.systems) == 1 or all(palette[name] != ACCENT for name in self.systems)
        if distinct and len(self.systems) <= MOST_SERIES_IN_DOTS:
            figure = Figure.of(
                lambda width: charts.dot_interval(
                    dots, axis=self.by, direction=self.direction, domain=domain, colours=palette, width=width
                ),
                f"Mean {self.by}{drawn_in}, with its 95 % interval for each {self.tag}. {more}",
                [(name, palette[name].name) for name in self.systems],
            )
            return {"means": figure}
        better = direction_said(self.direction)
        figure = Figure.of(
            lambda width: charts.heatmap(
                dots, axis=self.by, direction=self.direction, domain=domain, width=width
            ),
            f"Mean {self.by}{drawn_in}{f' ({better})' if better else ''}: the stronger the colour, the "
            f"higher. {more}",
        )
        if min(len(drawn), len(self.systems)) > MOST_COLUMNS_ON_A_PHONE:
            figure = replace(figure, narrow=None, scrolls=True)
        return {"means": figure}


def breakdown(study: Study, by: str | None, tag: str, ranked: Ranked | None = None) -> Breakdown:
    """The means of every system, split by the values of one tag."""
    basis = values_by(study, by, ranked)
    return breakdown_of(study, basis, tag, grid_of(study, basis))


def breakdown_of(study: Study, basis: Basis, tag: str, grid: Grid) -> Breakdown:
    """The same of the prompts of a grid that was made before; cells are over its raters too."""
    names = reading.tags(study)["name"].unique().sort().to_list()
    if tag not in names:
        raise UsageError(f"no prompt has a tag {tag!r}", remedy=near(tag, names))
    tags = reading.tags(study).filter(pl.col("name") == tag).select("prompt_id", group="value")
    family = pl.DataFrame({"prompt_id": list(grid.prompts), "unit": grid.unit})
    joined = (
        basis.values.join(tags, on="prompt_id").join(family, on="prompt_id")
        .group_by("group", "system_id", "system", "unit", maintain_order=True).agg(pl.col("value").mean())
        .sort("group", "system_id", "unit")
    )  # fmt: skip
    cells = {
        (str(group), str(system)): part
        for (group, system), part in joined.group_by(["group", "system"], maintain_order=True)
    }
    overall = {
        str(system): float(part["value"].mean())  # type: ignore[arg-type]
        for (system,), part in joined.unique(["system", "unit"], maintain_order=True).group_by(
            ["system"], maintain_order=True
        )
    }
    rows, alone = [], []
    for system in overall:
        groups = {group: part for (group, name), part in cells.items() if name == system}
        values = [part["value"].to_numpy() for part in groups.values()]
        variances = [_variance(grid, system, part) for part in groups.values()]
        pooled = partial_pooling(values, low=basis.low, high=basis.high, raters=variances)
        for group, own, variance, each in zip(groups, values, variances, pooled, strict=True):
            mean = mean_interval(own, low=basis.low, high=basis.high, variance=variance)
            rows.append(GroupMean(group, system, mean, each))
            if variance is not None and variance.rater_df < MIN_RATERS - 1:
                alone.append(f"{system} on {group}")
    order = {group: number for number, group in enumerate(dict.fromkeys(group for group, _ in cells))}
    rows.sort(key=lambda each: order[each.group])
    few = f"Intervals are over prompts alone where fewer than three raters judged: {', '.join(alone)}."
    notes = [note for note in (grid.raters.said, few if alone else "") if note]
    return Breakdown(tag, basis.name, basis.direction, rows, overall, basis.low, basis.high, notes)


def _variance(grid: Grid, system: str, cell: pl.DataFrame) -> Variance | None:
    """The variance of a cell's mean over prompts and raters; None where there is no telling of raters."""
    if grid.panel is None or len(cell) < 2:
        return None
    units = np.zeros(len(grid.matrix), dtype=np.bool_)
    units[cell["unit"].to_numpy()] = True
    own = float(cell["value"].to_numpy().var(ddof=1)) / len(cell)
    return grid.panel.variance(own, list(grid.systems).index(system), units=units)


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
