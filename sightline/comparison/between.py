"""Between two sets of queries: do systems do better on one than on the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline.comparison.compare import signed, tagged, values_by
from sightline.errors import DataError, UsageError
from sightline.statistics.query_sets import Improvement, improvements
from sightline.statistics.significance import benjamini_hochberg, holm
from sightline.study import reading
from sightline.study.study import Study


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
class Sets:
    """The names of two sets of prompts, and what every system and measure makes of them.

    Where one value of a tag is set against all others, `untagged` prompts with a value have no such tag and
    are in neither set.
    """

    first: str
    second: str
    rows: Sequence[Between]
    untagged: int = 0


def between(study: Study, by: str | Sequence[str], sets: str) -> Sets:
    """Whether systems do better on one set of prompts than on another, as ConQA tables it.

    `sets` is `tag=first,second`, or `tag=first` for that value against all others of the tag. Different
    prompts are not paired: one-sided Mann-Whitney U that values on the first set tend to be lower, or higher
    where less is better.
    """
    first, second, groups, untold = _two_sets(study, sets)
    lines, less, ranked = [], set(), None
    for name in [by] if isinstance(by, str) else by:
        basis = values_by(study, name, ranked)
        ranked = basis.ranked or ranked
        if basis.direction == "lower":
            less.add(basis.name)
        told = basis.values.sort("system_id", "prompt_id")
        lines.append(told.select("prompt_id", "system", "value", by=pl.lit(basis.name)))
    values = pl.concat(lines)
    whole = values.join(groups, on="prompt_id", maintain_order="left")
    if whole.is_empty():
        raise DataError(f"no system has a value on prompts with {sets}")
    better = pl.when(pl.col("by").is_in(list(less))).then(-pl.col("value")).otherwise(pl.col("value"))
    whole = whole.with_columns(value=better)
    found = improvements(*(whole[column].to_list() for column in ("system", "by", "second", "value")))
    for key, cell in found.items():
        if key[1] in less:
            found[key] = Fall(signed(cell.first, -1), signed(cell.second, -1), cell.test)
    p = np.array([np.nan if each.test.p is None else each.test.p for each in found.values()])
    rows = [
        Between(system, name, cell, *(None if np.isnan(q) else float(q) for q in adjusted))
        for (system, name), cell, *adjusted in zip(
            found, found.values(), holm(p), benjamini_hochberg(p), strict=True
        )
    ]
    return Sets(first, second, rows, values.join(untold, on="prompt_id", how="semi")["prompt_id"].n_unique())


def _two_sets(study: Study, sets: str) -> tuple[str, str, pl.DataFrame, pl.DataFrame]:
    """The names of the sets, which prompt is in which, and the prompts of which nobody said it."""
    tag, _, told = sets.partition("=")
    names = [name.strip() for name in told.split(",")]
    if not tag or not told or len(names) > 2 or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"cannot read {sets!r}",
            remedy="Write a tag and two of its values: --between kind=conceptual,descriptive",
        )
    chosen = [tagged(study, f"{tag}={name}") for name in names]
    tags = reading.tags(study).filter(pl.col("name") == tag)
    untold = reading.prompts(study).select("prompt_id")
    untold = untold.clear() if len(chosen) == 2 else untold.join(tags, on="prompt_id", how="anti")
    if len(chosen) == 1:
        names.append(f"not {names[0]}")
        chosen.append(tags.filter(~pl.col("prompt_id").is_in(chosen[0]))["prompt_id"].to_list())
    rows = [(prompt, bool(number)) for number, group in enumerate(chosen) for prompt in group]
    schema = {"prompt_id": pl.Int64, "second": pl.Boolean}
    return names[0], names[1], pl.DataFrame(rows, schema=schema, orient="row"), untold
