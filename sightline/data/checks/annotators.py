"""Annotators who copy others, answer too fast, or judged some systems and not others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sightline.data.checks import Material, answers_by, blocks, few, gathered
from sightline.extension import check
from sightline.records import Finding
from sightline.statistics.crossed import Panel
from sightline.statistics.pace import Timed, too_fast

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

    votes = material.scan("judgements").with_row_index("place").filter(pl.col("annotator").is_not_null())
    people = gathered(
        votes.group_by("question", "annotator").agg(
            pl.col("place").min(),
            pl.col("repetition").min(),
            (pl.col("value").min() != pl.col("value").max()).alias("varied"),
        )
    ).sort("place")
    for (question,), rows in people.group_by(["question"], maintain_order=True):
        varied = rows.filter("varied").sort("repetition", "place")["annotator"].to_list()
        of = votes.filter((pl.col("question") == question) & pl.col("annotator").is_in(varied))
        of = of.select("annotator", "item_id", "repetition", "value")
        pairs = _suspects(of, varied, least, same, chance)
        if pairs:
            yield Finding(
                f"pairs of annotators with the same votes on {question} beyond chance",
                len(pairs),
                few(pairs),
                "Are they one person, or did one copy the other? Count their votes once.",
            )


def _suspects(
    votes: pl.LazyFrame, people: Sequence[str], least: int, same: float, chance: float
) -> list[str]:
    import polars as pl
    from scipy.sparse import csr_array, triu
    from scipy.special import betainc

    if len(people) < 3:
        return []
    place = {name: number for number, name in enumerate(people)}
    shared, agreed = (csr_array((len(people), len(people))) for _ in range(2))
    for some in blocks(votes, key="item_id"):
        rows = gathered(votes.filter(some))
        latest = rows.sort("repetition", maintain_order=True)
        latest = latest.unique(["annotator", "item_id"], keep="last", maintain_order=True)
        who = np.array([place[name] for name in latest["annotator"]], dtype=np.int64)
        shared += _together(who, latest["item_id"].rank("dense").to_numpy(), len(people))
        choice = latest.select(pl.struct("item_id", "value").rank("dense")).to_series().to_numpy()
        agreed += _together(who, choice, len(people))
    first, second, common = _pairs(triu(shared, k=1))
    equal_first, equal_second, equal_count = _pairs(triu(agreed, k=1))
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


def _together(who: np.ndarray, what: np.ndarray, people: int) -> Any:
    """How many things each two people share, as a sparse table."""
    from scipy.sparse import csr_array

    places = (who, what.astype(np.int64) - 1)
    table = csr_array((np.ones(len(who)), places), shape=(people, int(what.max(initial=0))))
    return table @ table.T


def _pairs(shared: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pairs of people with how many things they share, in order of the first and then the second."""
    rows = shared.tocsr()
    rows.sort_indices()
    pairs = rows.tocoo()
    return pairs.row.astype(np.int64), pairs.col.astype(np.int64), pairs.data


@check(severity="warning", source="Thorpe et al. 1996; Ratcliff 1993", licence="Apache-2.0", version=2)
def annotators_too_fast(
    material: Material, *, fastest: int = 400, share: float = 0.1, least: int = 10
) -> Iterator[Finding]:
    """Annotators of whose timed judgements at least `share` took less than `fastest` milliseconds.

    Even to say whether a picture holds an animal, and nothing else, takes people some 400 ms with the
    movement of the hand; reading a prompt takes longer. Annotators with fewer than `least` timed judgements
    are not blamed, nor is a single slip of the finger. Also those whose median on a question is below a
    quarter of their panel's: the screening rule `speed` would exclude them.
    """
    import polars as pl

    votes = material.scan("judgements").with_row_index("place")
    votes = votes.filter(pl.col("annotator").is_not_null() & pl.col("took_ms").is_not_null())
    # How often each time was taken: the same medians as of all judgements, and far fewer rows.
    timed = gathered(
        votes.group_by("question", "annotator", "took_ms").agg(pl.len().alias("n"), pl.col("place").min())
    ).sort("place")
    hasty = (
        timed.group_by("annotator", maintain_order=True)
        .agg(
            pl.col("n").sum().alias("votes"),
            pl.col("n").filter(pl.col("took_ms") < fastest).sum().alias("fast"),
            _median(),
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
    yield from _out_of_pace(timed, least)


def _median() -> pl.Expr:
    """The median of `took_ms`, each counted `n` times."""
    import polars as pl

    taken = pl.col("took_ms").repeat_by("n").explode()
    return taken.median().alias("middle")


def _out_of_pace(timed: pl.DataFrame, least: int) -> Iterator[Finding]:
    import polars as pl

    for (question,), rows in timed.group_by(["question"], maintain_order=True):
        people = (
            rows.group_by("annotator", maintain_order=True)
            .agg(_median(), pl.col("n").sum())
            .filter(pl.col("n") >= least)
        )
        names = people["annotator"].to_list()
        panels = [name.partition("/")[0] for name in names]
        columns = zip(panels, people["middle"].to_list(), people["n"].to_list(), strict=True)
        found = list(too_fast([Timed(*each) for each in columns]))
        if found:
            yield Finding(
                f"annotators who answered {question} much faster than their panel",
                len(found),
                few(f"{names[index]}: {reason}" for index, reason in found),
                'Exclude them with the screening rule "speed" in study.toml, or look at what they answered.',
            )


@check(severity="warning", source="Sightline", licence="Apache-2.0")
def annotators_confounded(material: Material) -> Iterator[Finding]:
    """Systems that were judged by different people: a difference may be one between the people.

    Two systems are confounded with annotators where the proportions of their judgements by the same people
    overlap by less than half, and by less than a third of what assigning people at random would give.
    `compare` then names no winner. Anonymous judgements and pairs of images are not looked at.
    """
    import polars as pl

    for (question,), rows in _of_generators(material).group_by(["question"], maintain_order=True):
        systems = sorted(rows["system"].unique())
        ranks = [pl.col(name).rank("dense").cast(pl.Int64) - 1 for name in ("system", "annotator")]
        system, rater = (column.to_numpy() for column in rows.select(ranks))
        votes = rows["n"].to_numpy()
        system, rater = np.repeat(system, votes), np.repeat(rater, votes)
        nothing = np.zeros(0, dtype=np.int64)
        panel = Panel(nothing, system, nothing, rater, nothing.astype(np.float64))
        people = [set(rows.filter(pl.col("system") == name)["annotator"]) for name in systems]
        mixed = [pair for pair in combinations(range(len(systems)), 2) if panel.confounded(*pair)]
        examples = (
            f"{systems[a]} and {systems[b]}: {len(people[a])} annotators and {len(people[b])} others, "
            f"{len(people[a] & people[b])} judged both"
            for a, b in mixed
        )
        if mixed:
            yield Finding(
                f"pairs of systems whose {question} was judged by different annotators",
                len(mixed),
                few(examples),
                "Have the same annotators judge all systems: until then a difference between these systems "
                "may be one between annotators, and compare names no winner.",
            )


def _of_generators(material: Material) -> pl.DataFrame:
    """How many judgements of each question each named annotator gave on what each generator answered."""
    import polars as pl

    columns = ["question", "system", "annotator"]
    votes = material.scan("judgements").with_row_index("place")
    named = votes.filter(pl.col("annotator").is_not_null() & (pl.col("image_b") == 0))
    named = named.select("place", "question", "annotator", "prompt_id", "system_id", "image_id")
    direct = named.filter((pl.col("system_id") > 0) & (pl.col("prompt_id") > 0)).drop("prompt_id", "image_id")
    direct = direct.join(material.systems.lazy().select("system_id", "system"), on="system_id")
    found = [_cast(gathered(direct), columns)]
    answers = answers_by(material, "generator").filter(pl.col("image_id").is_not_null())
    answers = answers.select("prompt_id", "system", "image_id")
    images = named.filter((pl.col("system_id") == 0) & (pl.col("image_id") > 0))
    asked, alone = images.filter(pl.col("prompt_id") > 0), images.filter(pl.col("prompt_id") == 0)
    for some in blocks(asked, answers):
        given = gathered(answers.filter(some)).unique()
        found.append(_cast(gathered(asked.filter(some)).join(given, on=["prompt_id", "image_id"]), columns))
    for some in blocks(alone, key="image_id"):
        given = gathered(answers.filter(some)).unique()
        judged = gathered(alone.filter(some)).drop("prompt_id")
        found.append(_cast(judged.join(given, on="image_id"), columns))
    counted = pl.concat(found).group_by(columns).agg(pl.col("n").sum(), pl.col("place").min())
    return counted.sort("place")


def _cast(votes: pl.DataFrame, columns: list[str]) -> pl.DataFrame:
    import polars as pl

    return votes.group_by(columns).agg(pl.len().cast(pl.Int64).alias("n"), pl.col("place").min())
