"""Distributions: how the values of a measure are spread in systems, collections or tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Annotated, Any

import numpy as np
import polars as pl

from sightline.comparison.items import KEY, Scored, asked, chosen, scored, units_of
from sightline.comparison.measure_trust import labels
from sightline.errors import DataError, UsageError
from sightline.estimate import Cell, Direction, Estimate, absent
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import chart, layer, quantity_axis
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import Colour, system_colours
from sightline.statistics.distributions import DistributionGap, distribution_gap
from sightline.statistics.intervals import mean_interval
from sightline.statistics.significance import holm
from sightline.study import reading
from sightline.study.study import Study
from sightline.verbs import SEED, argument, option, verb

SURE = 0.05
POINTS = 120
"""Places at which a curve is drawn."""
MOST_CURVES = 8
MOST_BANDS = 2
BAND = (
    " The band holds 95 % of the time for the whole curve if values are independent (Dvoretzky, Kiefer and "
    "Wolfowitz)."
)
QUANTILES = {
    0.05: ("q05", "5 %"), 0.25: ("q25", "25 %"), 0.5: ("median", "median"), 0.75: ("q75", "75 %"),
    0.95: ("q95", "95 %"),
}  # fmt: skip


@dataclass(frozen=True)
class Group:
    """The values of one group."""

    name: str
    values: np.ndarray
    units: np.ndarray

    @property
    def mean(self) -> Estimate:
        """The mean over units, each the mean of its values, with its interval."""
        _, place = np.unique(self.units, return_inverse=True)
        return mean_interval(np.bincount(place, self.values) / np.bincount(place))


@dataclass(frozen=True)
class GroupGap:
    """Two groups, how differently they are distributed, and p of KS after Holm's correction."""

    first: str
    second: str
    gap: DistributionGap
    p_holm: float | None


@dataclass(frozen=True)
class Distributions(Result):
    """The values of a measure in every group, and every two groups against each other."""

    measure: str
    direction: Direction
    per: str
    drawn: str
    groups: Sequence[Group]
    gaps: Sequence[GroupGap]

    @property
    def sentence(self) -> str:
        sure = [each for each in self.gaps if each.p_holm is not None and each.p_holm < SURE]
        if not self.gaps:
            return f"There is one {self.per} alone: nothing to compare {self.measure} with."
        if not sure:
            return f"No two are distributed significantly differently by {self.measure}."
        most = max(sure, key=lambda each: each.gap.ks)
        return (
            f"{len(sure)} of {len(self.gaps)} pairs are distributed significantly differently by "
            f"{self.measure} after Holm's correction, most of all {most.first} and {most.second} "
            f"(KS {most.gap.ks:.2f})."
        )

    @property
    def notes(self) -> Sequence[str]:
        said = f"n of a mean counts {self.drawn}; p by relabelling {self.drawn}, for KS adjusted after Holm."
        if any(each.gap.p_ks is None for each in self.gaps):
            said += f" Without p: fewer than two {self.drawn} on a side."
        return [said]

    @property
    def next(self) -> Sequence[str]:
        return ("sightline trust STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("group", self.per), Column("images", "values"), Column("mean", estimate=True),
            *(Column(name, title, format=".4g") for name, title in QUANTILES.values()),
        ]  # fmt: skip
        rows: list[list[Cell]] = [
            [each.name, len(each.values), each.mean, *np.quantile(each.values, [*QUANTILES]).tolist()]
            for each in self.groups
        ]
        pairs = [
            Column("first"), Column("second"), Column("ks", "KS", format=".3f"), Column("p", format="p"),
            Column("p_holm", "p (Holm)", format="p"), Column("wasserstein", "Wasserstein", format=".4g"),
            Column("p_wasserstein", "its p", format="p"), Column("units", self.drawn),
        ]  # fmt: skip
        return {
            "": Table(columns, rows, f"{self.measure} by {self.per}"),
            "pairs": Table(pairs, [self._row(each) for each in self.gaps], "Every two, against each other"),
        }

    def _row(self, each: GroupGap) -> list[Cell]:
        gap = each.gap
        none = absent(f"fewer than two {self.drawn} on a side")
        p, adjusted, area = (none if p is None else p for p in (gap.p_ks, each.p_holm, gap.p_wasserstein))
        return [each.first, each.second, gap.ks, p, adjusted, gap.wasserstein, area, gap.units]

    def figures(self) -> dict[str, Figure]:
        """The cumulative distribution of every group; of one or two with a band that holds for all of it."""
        shown = list(self.groups)[:MOST_CURVES]
        colours = system_colours([each.name for each in shown])
        more = "" if len(shown) == len(self.groups) else f" The first {len(shown)} of {len(self.groups)}."
        figure = Figure.of(
            lambda width: _curves(shown, self.measure, colours, width),
            f"The proportion of values up to each place.{BAND if len(shown) <= MOST_BANDS else ''}{more}",
            [(each.name, colours[each.name].name) for each in shown],
        )
        return {"cumulative": figure}


def _curves(groups: Sequence[Group], axis: str, colours: dict[str, Colour], width: int) -> dict[str, Any]:
    rows = []
    for number, each in enumerate(groups, 1):
        ordered = np.sort(each.values)
        places = np.unique(np.linspace(0, len(ordered) - 1, min(POINTS, len(ordered))).round().astype(int))
        # Each name at a height of its own, so that none covers another.
        named = places[np.abs((places + 1) / len(ordered) - number / (len(groups) + 1)).argmin()]
        half = float(np.sqrt(np.log(2 / 0.05) / (2 * len(ordered))))
        for place in places.tolist():
            share = (place + 1) / len(ordered)
            rows.append({
                "x": float(ordered[place]), "y": share, "low": max(0.0, share - half),
                "high": min(1.0, share + half), "series": each.name, "colour": colours[each.name].light,
                "name": each.name if place == named else "",
            })  # fmt: skip
    y = quantity_axis("proportion of values", "none", (0, 1), 5)
    shared = {
        "x": {"field": "x", **quantity_axis(axis, "none", None)},
        "color": {"field": "colour", "scale": None, "type": "nominal"},
        "detail": {"field": "series", "type": "nominal"},
    }
    band = {**shared, "y": {**y, "field": "low"}, "y2": {"field": "high"}}
    line = {**shared, "y": {**y, "field": "y"}}
    layers = [
        layer("line", line, strokeWidth=2, interpolate="step-after"),
        layer("text", {**line, "text": {"field": "name"}}, align="left", dx=8, dy=10),
    ]
    if len(groups) <= MOST_BANDS:
        fill = {**band, "fill": band["color"]}
        layers.insert(0, layer("area", fill, opacity=0.15, interpolate="step-after"))
    names = ", ".join(each.name for each in groups)
    return chart(rows, layers, width, 240, f"Cumulative distributions of {axis} for {names}, with bands.")


@verb("analyse")
def distributions(
    study: Study,
    measure: Annotated[str, argument("Look at the values of this measure or question.", "MEASURE|QUESTION")],
    *,
    per: Annotated[
        str,
        option(
            "Split by system, collection, suite, words, or a tag of prompts or images.",
            metavar="TAG",
            shown="system; collection where nothing is an answer",
        ),
    ] = "",
    seed: Annotated[int, SEED] = 0,
) -> Distributions:
    """Compare how values are distributed: between systems, collections or tags.

    Quantiles of each group, and for every two the Kolmogorov-Smirnov and the Wasserstein distance with p by
    relabelling prompts, or images that answer none.
    """
    what = _scored(study, measure)
    per = per or ("system" if _answered(study, what) else "collection")
    column, names = labels(study, per)
    frame = _values(study, what, column)
    units = units_of(study)
    # Images are drawn where one of them answers no prompt.
    by_image = "image_id" in what.on and not (frame["prompt_id"] > 0).all()
    unit, of_unit = ("image_id", units.of_image) if by_image else ("prompt_id", units.of_prompt)
    frame = frame.filter(pl.col(column).is_in(list(names))).with_columns(
        group=pl.col(column).replace_strict(names, default="", return_dtype=pl.String),
        unit=pl.col(unit).replace(of_unit),
    )
    groups = [
        Group(name, own["value"].to_numpy(), own["unit"].to_numpy())
        for name in dict.fromkeys(names.values())
        if len(own := frame.filter(pl.col("group") == name))
    ]
    if not groups:
        raise DataError(f"no value of {what.name} belongs to any {per}", where=study.name)
    found = [
        (one.name, other.name, distribution_gap(one.values, other.values, one.units, other.units, seed=seed))
        for one, other in combinations(groups, 2)
    ]
    adjusted = holm(np.array([np.nan if gap.p_ks is None else gap.p_ks for *_, gap in found]))
    gaps = [
        GroupGap(*each, None if np.isnan(p) else float(p)) for each, p in zip(found, adjusted, strict=True)
    ]
    drawn = units.images if by_image else "prompts"
    return Distributions(what.name, what.direction, per, drawn, groups, gaps)


def _scored(study: Study, name: str) -> Scored:
    questions = [each.name for _, each in reading.questions(study)]
    if name in questions:
        found = asked(study, name)
        if not found:
            raise DataError(f"{name} has no truth yet", where=study.name, remedy="sightline truth STUDY")
        return found[0]
    (first, *more) = chosen(scored(study, name), name, questions)
    if more:
        listed = ", ".join(each.name for each in (first, *more))
        raise UsageError(f"{name} was scored with several parameters", remedy=f"Name one of {listed}.")
    return first


def _answered(study: Study, what: Scored) -> bool:
    """Whether any image that has a value is an answer."""
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null())
    return "image_id" not in what.on or bool(
        what.scores["image_id"].is_in(answers["image_id"].implode()).any()
    )


def _values(study: Study, what: Scored, column: str) -> pl.DataFrame:
    """Values with the columns of the key, 0 where there is none; an image stands once for each answer it is.

    Split by something of images, one that answers nothing counts too.
    """
    scores = what.scores.select(*what.on, "value").filter(pl.col("value").is_finite())
    missing = [pl.lit(0, pl.Int64).alias(name) for name in KEY if name not in what.on]
    if "image_id" not in what.on or set(what.on) == set(KEY):
        return scores.with_columns(missing)
    answers = reading.answers(study).filter(pl.col("image_id").is_not_null()).select(KEY).unique()
    joined = answers.join(scores, on=list(what.on)).sort(KEY)
    if column != "image_id" or "prompt_id" in what.on:
        return joined
    alone = scores.join(answers, on="image_id", how="anti").with_columns(missing).select(joined.columns)
    return pl.concat([joined.unique("image_id", keep="first", maintain_order=True), alone])
