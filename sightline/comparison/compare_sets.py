"""Between two sets of queries: do systems do better on one than on the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from sightline.comparison.values import values_by
from sightline.comparison.where import prompts_where
from sightline.errors import DataError, UsageError
from sightline.estimate import absent
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.intervals import negated
from sightline.statistics.query_sets import Improvement, improvements
from sightline.statistics.significance import benjamini_hochberg, holm
from sightline.study import reading
from sightline.study.groups import families_of
from sightline.study.study import Study
from sightline.verbs import argument, option, verb


@dataclass(frozen=True)
class Fall(Improvement):
    """The same where less is better: (m1 - m2) / m1, and the test that the first tends to be higher."""

    @property
    def relative(self) -> float | None:
        """How much lower the second mean is; minus infinite where only m1 is 0."""
        rise = super().relative
        return None if rise is None else -rise


@dataclass(frozen=True)
class Between:
    """One system on two sets of prompts by one measure; p adjusted over all rows of the table."""

    system: str
    by: str
    improvement: Improvement
    p_holm: float | None
    p_bh: float | None


@dataclass(frozen=True)
class SetComparison(Result):
    """The names of two sets of prompts, and what every system and measure makes of them.

    Where one value of a tag is set against all others, `untagged` prompts with a value have no such tag and
    are in neither set. `joined` prompts are one with another: a prompt and its rephrasings count once.
    """

    first: str
    second: str
    rows: Sequence[Between]
    untagged: int = 0
    where: str = ""
    joined: int = 0

    @property
    def notes(self) -> Sequence[str]:
        said = [f"Improvements are shown where {self.second} is better with p < .05; between ** p < .01."]
        if self.untagged:
            said.append(f"{self.untagged:,} prompts without this tag are in neither set.")
        if self.joined:
            said.append(
                f"{self.joined:,} prompts rephrase another or repeat it, and count with it: n counts "
                "originals, each with the mean of its wordings. Without the rephrasings: --where original"
            )
        return said

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("system"),
            Column("by", "measure"),
            Column("first", f"mean on {self.first}", estimate=True),
            Column("second", f"mean on {self.second}", estimate=True),
            Column("improvement", "relative improvement"),
            Column("p", format="p"),
            Column("p_holm", "p after Holm", format="p"),
            Column("p_bh", "p after BH", format="p"),
        ]
        rows = []
        for each in self.rows:
            change = each.improvement
            tested = (change.test.p, each.p_holm, each.p_bh)
            shown = [absent(change.test.reason or "not tested") if p is None else p for p in tested]
            rows.append((each.system, each.by, change.first, change.second, change.shown, *shown))
        kept = f" where {self.where}" if self.where else ""
        return {"": Table(columns, rows, f"From {self.first} to {self.second}{kept}")}


@verb("analyse")
def compare_sets(
    study: Study,
    sets: Annotated[
        str, argument("A tag and two of its values; TAG=FIRST is against all others.", "TAG=FIRST,SECOND")
    ],
    by: Annotated[
        str | Sequence[str],
        option("Compare by this question or measure; repeatable.", metavar="QUESTION|MEASURE"),
    ],
    where: Annotated[
        str,
        option("Only prompts for which this holds: TAG=VALUE, original, and, or, not.", metavar="TEXT"),
    ] = "",
) -> SetComparison:
    """Compare two sets of prompts: does every system do better on one than on the other?

    As ConQA tables it. Different prompts are not paired: a one-sided Mann-Whitney U test that values on the
    first set tend to be lower, or higher where less is better. A prompt and its rephrasings are one piece of
    evidence: they count once, with their mean.
    """
    first, second, groups, without = _two_sets(study, sets)
    lines, less, ranked = [], set(), None
    for name in [by] if isinstance(by, str) else by:
        basis = values_by(study, name, ranked)
        ranked = basis.ranked or ranked
        if basis.direction == "lower":
            less.add(basis.name)
        values = basis.values.sort("system_id", "prompt_id")
        lines.append(values.select("prompt_id", "system", "value", by=pl.lit(basis.name)))
    values = pl.concat(lines)
    whole = values.join(groups, on="prompt_id", maintain_order="left")
    if where:
        whole = whole.filter(pl.col("prompt_id").is_in(prompts_where(study, where)))
    if whole.is_empty():
        kept = f" where {where}" if where else ""
        raise DataError(f"no system has a value on prompts with {sets}{kept}")
    prompts = whole["prompt_id"].unique(maintain_order=True)
    whole, joined = _by_family(study, whole, prompts)
    better = pl.when(pl.col("by").is_in(list(less))).then(-pl.col("value")).otherwise(pl.col("value"))
    whole = whole.with_columns(value=better)
    cells = improvements(*(whole[column].to_list() for column in ("system", "by", "second", "value")))
    for key, cell in cells.items():
        if key[1] in less:
            cells[key] = Fall(negated(cell.first), negated(cell.second), cell.test)
    p = np.array([np.nan if each.test.p is None else each.test.p for each in cells.values()])
    rows = [
        Between(system, name, cell, *(None if np.isnan(q) else float(q) for q in adjusted))
        for (system, name), cell, *adjusted in zip(
            cells, cells.values(), holm(p), benjamini_hochberg(p), strict=True
        )
    ]
    untagged = values.join(without, on="prompt_id", how="semi")["prompt_id"].n_unique()
    return SetComparison(first, second, rows, untagged, where, joined)


def _by_family(study: Study, values: pl.DataFrame, prompts: pl.Series) -> tuple[pl.DataFrame, int]:
    """One value per family of prompts, set, system and measure; and how many prompts count with another."""
    families = pl.DataFrame({"prompt_id": prompts, "family": families_of(study, prompts)})
    known = values.join(families, on="prompt_id", maintain_order="left")
    cells = known.group_by("system", "by", "second", "family", maintain_order=True)
    sets = known.select("second", "family").unique().height
    return cells.agg(pl.col("value").mean()), len(prompts) - sets


def _two_sets(study: Study, sets: str) -> tuple[str, str, pl.DataFrame, pl.DataFrame]:
    """The names of the sets, which prompt is in which, and the prompts without the tag."""
    tag, _, listed = sets.partition("=")
    names = [name.strip() for name in listed.split(",")]
    if not tag or not listed or len(names) > 2 or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"cannot read {sets!r}",
            remedy="Write a tag and two of its values: kind=conceptual,descriptive",
        )
    chosen = [prompts_where(study, f"{tag}={name}") for name in names]
    tags = reading.tags(study).filter(pl.col("name") == tag)
    without = reading.prompts(study).select("prompt_id")
    without = without.clear() if len(chosen) == 2 else without.join(tags, on="prompt_id", how="anti")
    if len(chosen) == 1:
        names.append(f"not {names[0]}")
        chosen.append(tags.filter(~pl.col("prompt_id").is_in(chosen[0]))["prompt_id"].to_list())
    rows = [(prompt, bool(number)) for number, group in enumerate(chosen) for prompt in group]
    schema = {"prompt_id": pl.Int64, "second": pl.Boolean}
    return names[0], names[1], pl.DataFrame(rows, schema=schema, orient="row"), without
