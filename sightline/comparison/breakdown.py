"""Breakdown: the means of every system, split by the values of a tag."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline.comparison.values import Basis, Grid, grid_of, values_by
from sightline.errors import UsageError, near
from sightline.estimate import (
    FEW,
    Cell,
    Direction,
    Estimate,
    direction_said,
    format_cell,
    format_n,
    format_number,
    plural,
    range_decimals,
)
from sightline.measures.rankings import Ranked
from sightline.rendering import charts
from sightline.rendering.blocks import Figure, HeatCell, HeatMap
from sightline.rendering.charts import Dot
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import ACCENT, Colour, system_colours
from sightline.statistics.crossed import MIN_RATERS, Variance
from sightline.statistics.intervals import mean_interval
from sightline.statistics.pooling import METHOD, partial_pooling
from sightline.study import listing, reading
from sightline.study.study import Study

MOST_GROUPS = 40
GROUPS = range(2, MOST_GROUPS + 1)
"""A tag with this many values is worth a breakdown."""
ENOUGH = 4
"""Prompts that a group needs to be called a weak spot."""
USUAL = ("skill", "category", "task", "style", "challenge")
"""What suites call the tag that says what a prompt asks of a system."""
MOST_SERIES_IN_DOTS = 4


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
        """Dots with intervals; none where systems are too many for them: see `blocks`."""
        palette = colours or system_colours(self.systems)
        drawn = set(self.groups[:MOST_GROUPS])
        dots = [
            Dot(each.group, each.pooled, each.system)
            for each in self.rows
            if each.pooled.value is not None and each.group in drawn
        ]
        # Systems that share the accent cannot be distinguished within a row of dots.
        distinct = len(self.systems) == 1 or all(palette[name] != ACCENT for name in self.systems)
        if not dots or not distinct or len(self.systems) > MOST_SERIES_IN_DOTS:
            return {}
        figure = Figure.of(
            lambda width: charts.dot_interval(
                dots, axis=self.by, direction=self.direction, domain=self._domain, colours=palette,
                width=width,
            ),
            f"Mean {self.by}{self._pooling}, with its 95 % interval for each {self.tag}. {self._more}",
            [(name, palette[name].name) for name in self.systems],
        )  # fmt: skip
        return {"means": figure}

    def blocks(self, colours: Mapping[str, Colour] | None = None) -> list[Figure | HeatMap]:
        """Dots with intervals, or a heat map where systems are too many for dots."""
        drawn = list(self.figures(colours).values())
        if drawn or all(each.pooled.value is None for each in self.rows):
            return [*drawn]
        return [self._heat_map()]

    def _heat_map(self) -> HeatMap:
        """A row for each of the more numerous, systems or groups, so that a phone need not scroll far."""
        down, across = self.groups[:MOST_GROUPS], self.systems
        means = {(each.group, each.system): each.pooled for each in self.rows}
        if len(across) > len(down):
            down, across = across, down
            means = {(system, group): mean for (group, system), mean in means.items()}
        known = [mean.value for mean in means.values() if mean.value is not None]
        low, high = self._domain or charts.extent(known)
        places = range_decimals(low, high)

        def cell(mean: Estimate | None) -> HeatCell:
            if mean is None or mean.value is None:
                return HeatCell("", reason="no value" if mean is None else mean.reason or "no value")
            part = min(1.0, max(0.0, (mean.value - low) / (high - low)))
            text = format_number(mean.value, decimals=places)
            return HeatCell(text, format_n(mean), round(4 + 46 * part, 1), few=mean.n < FEW)

        better = direction_said(self.direction)
        return HeatMap(
            f"Mean {self.by}{self._pooling}{f' ({better})' if better else ''} for each {self.tag}",
            "system" if down is not self.groups and set(down) <= set(self.systems) else self.tag,
            across,
            [(name, [cell(means.get((name, other))) for other in across]) for name in down],
            "The stronger the colour, the higher; n counts prompts, and numbers in italics rest on fewer "
            f"than {FEW}. {self._more}",
        )

    @property
    def _domain(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def _pooling(self) -> str:
        return ", partially pooled" if self.pooled else ""

    @property
    def _more(self) -> str:
        if len(self.groups) <= MOST_GROUPS:
            return "Every number with its interval is in the table below."
        return f"The first {MOST_GROUPS} of {len(self.groups)} values are drawn; all are in the table below."


def breakdown(study: Study, by: str | None, tag: str, ranked: Ranked | None = None) -> Breakdown:
    """The means of every system, split by the values of one tag."""
    basis = values_by(study, by, ranked)
    return breakdown_of(study, basis, tag, grid_of(study, basis))


def breakdown_of(study: Study, basis: Basis, tag: str, grid: Grid) -> Breakdown:
    """The same of the prompts of a grid that was made before; cells are over its raters too."""
    family = pl.DataFrame({"prompt_id": list(grid.prompts), "unit": grid.unit})
    joined = (
        _by_group(study, basis.values, tag).join(family, on="prompt_id")
        .group_by("group", "system_id", "system", "own", "unit", maintain_order=True)
        .agg(pl.col("value").mean())
        .sort("group", "system_id", "unit")
    )  # fmt: skip
    cells = {
        (str(group), str(system)): part
        for (group, system), part in joined.group_by(["group", "system"], maintain_order=True)
    }
    overall = {
        str(system): float(part["value"].mean())  # type: ignore[arg-type]
        for (system,), part in joined.group_by("system", "unit", maintain_order=True)
        .agg(pl.col("value").mean())
        .group_by(["system"], maintain_order=True)
    }
    rows, alone = [], []
    for system in overall:
        groups = {group: part for (group, name), part in cells.items() if name == system}
        values = [part["value"].to_numpy() for part in groups.values()]
        variances = [_variance(grid, str(part["own"][0]), part) for part in groups.values()]
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


def _by_group(study: Study, values: pl.DataFrame, tag: str) -> pl.DataFrame:
    """Values with their `group`: a tag of the prompt, or a setting that answers were made with.

    A system at one setting is shown under its `model`, if the settings name one and this tells systems apart,
    so that the settings of a model stand next to each other; `own` is its name.
    """
    tags, settings = reading.tags(study), listing.answer_settings(study)
    named = values.with_columns(own=pl.col("system"))
    if tag in tags["name"]:
        return named.join(
            tags.filter(pl.col("name") == tag).select("prompt_id", group="value"), on="prompt_id"
        )
    if tag not in settings["name"]:
        known = sorted({*tags["name"], *settings["name"]})
        raise UsageError(
            f"no prompt has a tag {tag!r}, and no answer such a setting", remedy=near(tag, known)
        )
    on = ["system_id", "prompt_id"]
    found = named.join(_setting(settings, tag).rename({"value": "group"}).unique(on), on=on)
    models = _setting(settings, "model").select("system_id", model="value").unique()
    cells = found.select("system_id", "group").unique().join(models, on="system_id")
    if tag == "model" or cells.select("model", "group").is_duplicated().any() or len(cells) != len(
        found.select("system_id", "group").unique()
    ):  # fmt: skip
        return found
    return found.join(models, on="system_id").with_columns(system=pl.col("model")).drop("model")


def _setting(settings: pl.DataFrame, name: str) -> pl.DataFrame:
    return settings.filter(pl.col("name") == name).select("system_id", "prompt_id", "value")


def _variance(grid: Grid, system: str, cell: pl.DataFrame) -> Variance | None:
    """The variance of a cell's mean over prompts and raters; None where there is no telling of raters."""
    if grid.panel is None or len(cell) < 2:
        return None
    units = np.zeros(len(grid.matrix), dtype=np.bool_)
    units[cell["unit"].to_numpy()] = True
    own = float(cell["value"].to_numpy().var(ddof=1)) / len(cell)
    return grid.panel.variance(own, list(grid.systems).index(system), units=units)


def main_tags(study: Study) -> list[str]:
    """Tags worth a breakdown: those that suites use for it first, then those with the most groups.

    A group counts if it has ENOUGH prompts: many values of one prompt each say less than a few of many.
    """
    tags = reading.tags(study)
    if tags.is_empty():
        return []
    groups = tags.group_by("name", "value").len()
    sizes = groups.group_by("name").agg(
        values=pl.len(), n=pl.col("len").sum(), enough=(pl.col("len") >= ENOUGH).sum()
    )
    total = len(reading.prompts(study))
    # A split says how the data was divided for learning, nothing about the prompts.
    fits = sizes.filter(
        pl.col("values").is_in(list(GROUPS))
        & ((pl.col("values") < 17) | (pl.col("values") * 2 <= pl.col("n")))
        & (pl.col("n") >= 0.5 * total)
        & (pl.col("name") != "split")
    )
    rows = [(str(name), int(enough)) for name, enough in fits.select("name", "enough").iter_rows()]
    return [name for name, _ in sorted(rows, key=_how_telling)]


def _how_telling(row: tuple[str, int]) -> tuple[int, int, str]:
    name, enough = row
    return _usual(name), -enough, name


def _usual(name: str) -> int:
    """The place of a tag's name among the usual ones, in the singular or the plural."""
    known = [*USUAL]
    for word in (name.lower(), name.lower().removesuffix("s"), name.lower().removesuffix("ies") + "y"):
        if word in known:
            return known.index(word)
    return len(known)
