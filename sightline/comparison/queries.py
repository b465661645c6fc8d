"""Query analysis: what goes with a query being hard, as far as its words, tags and votes tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sightline.comparison.compare import Basis, TagMean, breakdown, main_tags, values_by
from sightline.errors import DataError
from sightline.estimate import Estimate
from sightline.language import wordnet
from sightline.language.abstraction import depths
from sightline.measures.rankings import relevance
from sightline.statistics.correlation import Correlation, spearman
from sightline.statistics.intervals import mean_interval
from sightline.statistics.significance import benjamini_hochberg
from sightline.statistics.votes import CATEGORIES, agreement_categories
from sightline.study import reading
from sightline.study.relevance import rules
from sightline.study.study import Study

FEATURES = {
    "words": "words",
    "depth_least": "depth of the most abstract word",
    "depth_most": "depth of the most concrete word",
    "depth_mean": "mean depth of its words",
    "relevant": "relevant images known",
    "contested": "share of its judged images on which votes differ",
}
"""What is told of a query, and how it is called in tables."""


@dataclass(frozen=True)
class Related:
    """How a feature of queries goes with a system's values: Spearman's rank correlation over queries."""

    feature: str
    system: str
    correlation: Correlation
    p_bh: float | None


@dataclass(frozen=True)
class Described:
    """A feature over the queries with one value of a tag; `sd` is that of the queries themselves."""

    tag: str
    group: str
    feature: str
    mean: Estimate
    sd: float | None


@dataclass(frozen=True)
class Agreed:
    """How many judged images of the queries with one value of a tag fall into each category of agreement."""

    tag: str
    group: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class QueryAnalysis:
    """The queries with their features, what goes with their values, and everything split by tags.

    `queries` has a row a query: prompt_id, text, the features and `value`, the mean over systems. `notes` say
    what could not be told and why.
    """

    by: str
    direction: str
    queries: pl.DataFrame
    related: Sequence[Related]
    described: Sequence[Described]
    agreed: Sequence[Agreed]
    breakdowns: dict[str, list[TagMean]]
    notes: Sequence[str]


def query_analysis(study: Study, by: str, tags: Sequence[str] | None = None) -> QueryAnalysis:
    """What goes with the values of a measure (or question): length, depth in WordNet, tags, agreement.

    `tags` are those to split by, by default the study's main ones.
    """
    basis = values_by(study, by)
    if basis.values.is_empty():
        raise DataError(f"no query has a value of {basis.name}", remedy=f"sightline score STUDY {basis.name}")
    notes: list[str] = []
    categories = _categories(study)
    if categories.is_empty():
        notes.append("No votes on relevance are here, so that nothing is said about agreement.")
    queries = _queries(study, basis, categories, notes)
    chosen = main_tags(study) if tags is None else list(tags)
    groups = _groups(study, chosen)
    return QueryAnalysis(
        basis.name,
        basis.direction,
        queries,
        _related(queries, basis),
        _described(queries, groups),
        _agreed(categories.join(queries, on="prompt_id", how="semi"), groups),
        {tag: breakdown(study, by, tag, basis.ranked) for tag in chosen},
        notes,
    )


def _queries(study: Study, basis: Basis, categories: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    values = basis.values.group_by("prompt_id").agg(pl.col("value").mean())
    queries = reading.prompts(study).join(values, on="prompt_id").sort("prompt_id")
    known = wordnet.find()
    if known is None:
        notes.append("WordNet is not here, so that nothing is said about how abstract queries are.")
    texts = queries["text"].to_list()
    found = [None if known is None else depths(text, known) for text in texts]
    level = 1.0 if basis.measure is None else float(basis.measure.arguments.get("level", 1.0))
    contested = categories.group_by("prompt_id").agg(
        (~pl.col("category").is_in(["fully_relevant", "fully_irrelevant"])).mean().alias("contested")
    )
    depth = ("depth_least", "depth_most", "depth_mean")
    return (
        queries.with_columns(
            pl.Series("words", [float(len(text.split())) for text in texts]),
            *(
                pl.Series(name, [None if each is None else each[place] for each in found], pl.Float64)
                for place, name in enumerate(depth)
            ),
        )
        .join(_relevant(study, level), on="prompt_id", how="left", maintain_order="left")
        .join(contested, on="prompt_id", how="left", maintain_order="left")
        .select("prompt_id", "suite", "ref", "text", *FEATURES, "value")
    )


def _relevant(study: Study, level: float) -> pl.DataFrame:
    """How many images are known relevant to each prompt that has any truth of relevance."""
    try:
        told = relevance(study, rules(study))
    except DataError:
        return pl.DataFrame(schema={"prompt_id": pl.Int64, "relevant": pl.Float64})
    return told.group_by("prompt_id").agg((pl.col("value") >= level).sum().cast(pl.Float64).alias("relevant"))


def _categories(study: Study) -> pl.DataFrame:
    """prompt_id and category of agreement of every judged pair of prompt and image.

    A vote above the middle of the scale says relevant, one below irrelevant, one in the middle unsure.
    """
    schema = {"prompt_id": pl.Int64, "category": pl.String}
    question = rules(study).relevance
    if question not in {asked.name for _, asked in reading.questions(study)}:
        return pl.DataFrame(schema=schema)
    votes, subjects, _ = reading.votes(study, question)
    if not votes.items:
        return pl.DataFrame(schema=schema)
    votes = votes.where(~votes.control)
    low = votes.value.min(initial=np.inf) if votes.question.low is None else votes.question.low
    high = votes.value.max(initial=-np.inf) if votes.question.high is None else votes.question.high
    side = np.sign(votes.value - (low + high) / 2)
    yes, no, unsure = (
        np.bincount(votes.item, weights=votes.n * (side == each), minlength=votes.items)
        for each in (1, -1, 0)
    )
    place = agreement_categories(yes, no, unsure)
    names = [CATEGORIES[each] if each >= 0 else None for each in place.tolist()]
    told = subjects.select("prompt_id", "image_id", "image_b", pl.Series("category", names, pl.String))
    kept = (pl.col("prompt_id") > 0) & (pl.col("image_id") > 0) & (pl.col("image_b") == 0)
    return told.filter(kept & pl.col("category").is_not_null()).select("prompt_id", "category")


def _related(queries: pl.DataFrame, basis: Basis) -> list[Related]:
    # A column that nothing is known of would only add rows without a number.
    told = [name for name in FEATURES if queries[name].null_count() < queries.height]
    found = []
    for (system,), rows in basis.values.sort("system_id", "prompt_id").group_by(
        ["system"], maintain_order=True
    ):
        mine = rows.select("prompt_id", pl.col("value").alias("mine")).join(queries, on="prompt_id")
        values = mine["mine"].to_numpy()
        found += [(name, str(system), spearman(mine[name].to_numpy(), values)) for name in told]
    p = benjamini_hochberg([np.nan if each[2].p is None else each[2].p for each in found])
    return [
        Related(*each, None if np.isnan(adjusted) else float(adjusted))
        for each, adjusted in zip(found, p, strict=True)
    ]


def _groups(study: Study, tags: Sequence[str]) -> pl.DataFrame:
    """prompt_id, tag, group; every prompt is also of the group without a name."""
    whole = reading.prompts(study).select("prompt_id", tag=pl.lit(""), group=pl.lit("all"))
    split = reading.tags(study).filter(pl.col("name").is_in(list(tags)))
    return pl.concat([whole, split.select("prompt_id", tag="name", group="value")])


def _described(queries: pl.DataFrame, groups: pl.DataFrame) -> list[Described]:
    found = []
    joined = groups.join(queries, on="prompt_id").sort("tag", "group", "prompt_id")
    for (tag, group), rows in joined.group_by(["tag", "group"], maintain_order=True):
        for name in FEATURES:
            values = rows[name].drop_nulls().to_numpy()
            if values.size:
                # ConQA prints the spread of the queries themselves, not that of a sample of them.
                spread = float(values.std())
                found.append(Described(str(tag), str(group), name, mean_interval(values), spread))
    return found


def _agreed(categories: pl.DataFrame, groups: pl.DataFrame) -> list[Agreed]:
    found = []
    joined = groups.join(categories, on="prompt_id").sort("tag", "group")
    for (tag, group), rows in joined.group_by(["tag", "group"], maintain_order=True):
        counted = dict(rows["category"].value_counts().iter_rows())
        counts = {name: int(counted.get(name, 0)) for name in CATEGORIES}
        found.append(Agreed(str(tag), str(group), counts))
    return found
