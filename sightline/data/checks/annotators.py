"""Annotators who copy others or answer too fast."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from sightline.data.checks import few
from sightline.extension import check
from sightline.records import Finding, Material

if TYPE_CHECKING:
    import polars as pl


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def annotators_copying(
    material: Material, *, least: int = 20, same: float = 0.98, chance: float = 0.001
) -> Iterator[Finding]:
    """Pairs of annotators whose votes agree on at least `same` of `least` or more common items, by no chance.

    How often two honest annotators agree is taken from all other pairs of the panel: with p the proportion of
    equal votes among theirs, k or more of n equal ones have the binomial probability P(X >= k; n, p), which
    times the number of pairs compared must be below `chance`. Items differ in how easy they are, which
    makes equal votes on all of them rarer than p to the power of n (the geometric mean is below the
    arithmetic one), so the rule errs towards silence. It is silent too where a panel has but one pair, and
    about annotators of one value, who are reported by the rule judgements_one_value.
    """
    import polars as pl

    named = material.judgements.filter(pl.col("annotator").is_not_null())
    for (question,), rows in named.group_by(["question"], maintain_order=True):
        latest = rows.sort("repetition").unique(["annotator", "item_id"], keep="last", maintain_order=True)
        pairs = _suspects(latest, least, same, chance)
        if pairs:
            yield Finding(
                f"pairs of annotators with the same votes on {question} beyond chance",
                len(pairs),
                few(pairs),
                "Are they one person, or did one copy the other? Count their votes once.",
            )


def _suspects(votes: pl.DataFrame, least: int, same: float, chance: float) -> list[str]:
    import polars as pl
    from scipy.special import betainc

    varied = votes.filter(pl.col("value").n_unique().over("annotator") > 1)
    people = varied["annotator"].unique(maintain_order=True).to_list()
    if len(people) < 3:
        return []
    place = {name: number for number, name in enumerate(people)}
    who = np.array([place[name] for name in varied["annotator"]], dtype=np.int64)
    first, second, common = _together(who, varied["item_id"].rank("dense").to_numpy())
    choice = varied.select(pl.struct("item_id", "value").rank("dense")).to_series().to_numpy()
    equal_first, equal_second, equal_count = _together(who, choice)
    equal = np.zeros(len(common))
    at = np.searchsorted(first * len(people) + second, equal_first * len(people) + equal_second)
    equal[at] = equal_count
    others = common.sum() - common
    # How often the other pairs agree; the pair itself must not vouch for itself.
    p = np.divide(equal.sum() - equal, others, out=np.ones(len(common)), where=others > 0)
    looked = common >= least
    alike = np.flatnonzero(looked & (equal >= same * common) & (equal > 0))
    n, k = common[alike], equal[alike]
    # P(X >= k) of a binomial as an incomplete beta function: scipy.stats would take a second to load.
    found = alike[betainc(k, n - k + 1, p[alike]) * looked.sum() < chance]
    return [
        f"{people[first[n]]} and {people[second[n]]}: {equal[n]:.0f} of {common[n]:.0f} alike, "
        f"other pairs {p[n]:.0%}"
        for n in found[np.argsort(-common[found], kind="stable")]
    ]


def _together(who: np.ndarray, what: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of people with how many things they share, in order of the first and then the second."""
    from scipy.sparse import csr_array, triu

    table = csr_array((np.ones(len(who)), (who, what.astype(np.int64) - 1)))
    shared = triu(table @ table.T, k=1).tocsr()
    shared.sort_indices()
    pairs = shared.tocoo()
    return pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data


@check(severity="warning", source="Thorpe et al. 1996; Ratcliff 1993", licence="Apache-2.0")
def annotators_too_fast(
    material: Material, *, fastest: int = 400, share: float = 0.1, least: int = 10
) -> Iterator[Finding]:
    """Annotators of whose timed judgements at least `share` took less than `fastest` milliseconds.

    Even to say whether a picture holds an animal, and nothing else, takes people some 400 ms with the
    movement of the hand; reading a prompt takes longer. Annotators with fewer than `least` timed judgements
    are not blamed, nor is a single slip of the finger.
    """
    import polars as pl

    timed = material.judgements.filter(pl.col("annotator").is_not_null() & pl.col("took_ms").is_not_null())
    hasty = (
        timed.group_by("annotator", maintain_order=True)
        .agg(
            pl.len().alias("votes"),
            (pl.col("took_ms") < fastest).sum().alias("fast"),
            pl.col("took_ms").median().alias("middle"),
        )
        .filter(
            (pl.col("votes") >= least) & (pl.col("fast") >= share * pl.col("votes")) & (pl.col("fast") > 1)
        )
        .sort("fast", descending=True, maintain_order=True)
    )
    if not hasty.is_empty():
        examples = (
            f"{who}: {fast} of {votes} below {fastest} ms, median {middle:g} ms"
            for who, votes, fast, middle in hasty.iter_rows()
        )
        yield Finding(
            f"annotators who judged faster than people can ({fastest} ms)",
            hasty.height,
            few(examples),
            "Look at their answers to control items; leave their votes out if they did not look.",
        )
