"""Between two sets of queries: do systems do better on one than on the other?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline.errors import DataError, UsageError
from sightline.stages.compare import tagged, values_by
from sightline.statistics.query_sets import Improvement, improvements
from sightline.statistics.significance import benjamini_hochberg, holm
from sightline.store import reading
from sightline.store.study import Study


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
    """The names of two sets of prompts, and what every system and measure makes of them."""

    first: str
    second: str
    rows: Sequence[Between]


def between(study: Study, by: str | Sequence[str], sets: str) -> Sets:
    """Whether systems do better on one set of prompts than on another, as ConQA tables it.

    `sets` is `tag=first,second`, or `tag=first` for that value against all others of the tag. Different
    prompts are not paired: one-sided Mann-Whitney U that values on the first set tend to be lower.
    """
    first, second, groups = _two_sets(study, sets)
    lines = []
    for name in [by] if isinstance(by, str) else by:
        basis = values_by(study, name)
        told = basis.values.join(groups, on="prompt_id").sort("system_id", "prompt_id")
        lines.append(told.select("system", "second", "value", by=pl.lit(basis.name)))
    whole = pl.concat(lines)
    if whole.is_empty():
        raise DataError(f"no system has a value on prompts with {sets}")
    found = improvements(*(whole[column].to_list() for column in ("system", "by", "second", "value")))
    p = np.array([np.nan if each.test.p is None else each.test.p for each in found.values()])
    rows = [
        Between(system, name, cell, *(None if np.isnan(q) else float(q) for q in adjusted))
        for (system, name), cell, *adjusted in zip(
            found, found.values(), holm(p), benjamini_hochberg(p), strict=True
        )
    ]
    return Sets(first, second, rows)


def _two_sets(study: Study, sets: str) -> tuple[str, str, pl.DataFrame]:
    tag, _, told = sets.partition("=")
    names = [name.strip() for name in told.split(",")]
    if not tag or not told or len(names) > 2 or not all(names) or len(set(names)) < len(names):
        raise UsageError(
            f"cannot read {sets!r}",
            remedy="Write a tag and two of its values: --between kind=conceptual,descriptive",
        )
    chosen = [tagged(study, f"{tag}={name}") for name in names]
    tags = reading.tags(study).filter(pl.col("name") == tag)
    if len(chosen) == 1:
        names.append(f"not {names[0]}")
        chosen.append(tags.filter(~pl.col("prompt_id").is_in(chosen[0]))["prompt_id"].to_list())
    rows = [(prompt, bool(number)) for number, group in enumerate(chosen) for prompt in group]
    schema = {"prompt_id": pl.Int64, "second": pl.Boolean}
    return names[0], names[1], pl.DataFrame(rows, schema=schema, orient="row")
