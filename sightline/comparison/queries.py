"""Query analysis: what goes with a query being hard, by its words, tags and votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import polars as pl

from sightline.comparison.breakdown import main_tags
from sightline.comparison.values import Basis, values_by
from sightline.comparison.where import rephrasings
from sightline.errors import DataError
from sightline.estimate import Cell, Direction, Estimate, absent
from sightline.judging.charts import bars, categories_chart, validation_chart, validation_table
from sightline.judging.controls import controls_of
from sightline.judging.labels import QueryCategories, unanimous
from sightline.judging.round_people import RoundAnnotator, control_results
from sightline.language import wordnet
from sightline.language.abstraction import depths
from sightline.measures.rankings import relevance
from sightline.records import ImageKey
from sightline.rendering.blocks import Figure
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.statistics.correlation import Correlation, spearman
from sightline.statistics.intervals import mean_interval
from sightline.statistics.significance import benjamini_hochberg
from sightline.statistics.votes import CATEGORIES, agreement_categories
from sightline.study import reading
from sightline.study.relevance import rules
from sightline.study.study import Study
from sightline.study.writing.scenes import scenes
from sightline.verbs import option, verb

FEATURES = {
    "words": "words",
    "depth_least": "depth of the most abstract word",
    "depth_most": "depth of the most concrete word",
    "depth_mean": "mean depth of its words",
    "relevant": "relevant images known",
    "contested": "judged images on which votes differ",
}
"""The features of a query, with their headings in tables; `contested` is a proportion."""
MOST_KINDS = 25
SHOWN = 10
"""Queries that a terminal lists."""


@dataclass(frozen=True)
class FeatureCorrelation:
    """Spearman's rank correlation of a feature of queries with a system's values."""

    feature: str
    system: str
    correlation: Correlation
    p_bh: float | None


@dataclass(frozen=True)
class FeatureMean:
    """A feature over the queries with one value of a tag; `sd` is that of the queries themselves."""

    tag: str
    group: str
    feature: str
    mean: Estimate
    sd: float


@dataclass(frozen=True)
class VoteCategories:
    """How many judged images of the queries with one value of a tag fall into each category of agreement."""

    tag: str
    group: str
    counts: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.counts.values())


@dataclass(frozen=True)
class QueryAnalysis(Result):
    """The queries with their features, what correlates with their values, and everything split by tags.

    `queries` has one row per query: prompt_id, text, the features and `value`, the mean over systems.
    `by_query` counts the categories of agreement of each query, the least unanimous first, and `kinds` the
    judged images that show each kind of object, as far as scenes are known. `controls` are annotators whose
    answers to control items are known.
    """

    by: str
    direction: Direction
    queries: pl.DataFrame
    related: Sequence[FeatureCorrelation]
    described: Sequence[FeatureMean]
    agreed: Sequence[VoteCategories]
    by_query: Sequence[QueryCategories] = ()
    kinds: Sequence[tuple[str, int]] = ()
    controls: Sequence[RoundAnnotator] = ()
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """The significant correlations, the strongest first."""
        sure = [each for each in self.related if each.p_bh is not None and each.p_bh < 0.05]
        over = f"{self.by} over {self.queries.height:,} queries"
        if not sure:
            return f"No feature of a query correlates significantly with {over}."
        sure.sort(key=lambda each: -abs(each.correlation.value or 0))
        named = [f"{FEATURES[each.feature]} ({each.system}: {each.correlation.value:+.2f})" for each in sure]
        return f"Correlated with {over}: {', '.join(named[:4])}."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def tables(self) -> dict[str, Table]:
        made = {
            "related": self._related(),
            "described": self._described(),
            "agreed": self._agreed(),
            "queries": self._queries(),
            "kinds": self._kinds(),
            "controls": validation_table(self.controls),
        }
        return {name: table for name, table in made.items() if table.rows}

    def figures(self) -> dict[str, Figure]:
        """Agreement by query, what the judged images show, control items (ConQA, figures 4, 2 and 3)."""
        made = {}
        if self.by_query:
            rows = list(self.by_query)
            made["agreement"] = Figure(
                categories_chart(rows),
                categories_chart(rows, wide=False),
                "How far people agree on the judged images of each query, the least unanimous queries first.",
            )
        if self.kinds:
            shown = self.kinds[:MOST_KINDS]
            made["kinds"] = Figure(
                bars(shown, "judged images"),
                bars(shown, "judged images", wide=False),
                f"Judged images that show each kind of object, the {len(shown)} most frequent of "
                f"{len(self.kinds)} kinds.",
            )
        if self.controls:
            made["controls"] = Figure(
                validation_chart(self.controls),
                validation_chart(self.controls, wide=False),
                "Control items that each annotator passed and failed.",
            )
        return made

    @property
    def _features(self) -> list[str]:
        return list(dict.fromkeys(each.feature for each in self.related))

    def _related(self) -> Table:
        systems = list(dict.fromkeys(each.system for each in self.related))
        cells: dict[tuple[str, str], list[Cell]] = {
            (each.feature, each.system): [
                each.correlation,
                absent(each.correlation.reason or "not tested") if each.p_bh is None else each.p_bh,
            ]
            for each in self.related
        }
        columns = [Column("feature", "of a query")]
        for name in systems:
            columns += [Column(name, name, estimate=True), Column(f"{name} p_bh", "p after BH", format="p")]
        return Table(
            columns,
            [
                [FEATURES[name], *(cell for system in systems for cell in cells[name, system])]
                for name in self._features
            ],
            f"Spearman's rank correlation with {self.by} over queries; "
            "p after Benjamini and Hochberg for all of them",
        )

    def _described(self) -> Table:
        columns = [Column("queries"), Column("feature", "of a query"), Column("mean", estimate=True)]
        rows: list[list[Cell]] = [
            [f"{each.tag} {each.group}".strip(), FEATURES[name], each.mean, each.sd]
            for name in self._features
            for each in self.described
            if each.feature == name
        ]
        return Table(
            [*columns, Column("sd", "± sd")],
            rows,
            "Features of the queries: means over queries, and the spread of the queries themselves",
        )

    def _agreed(self) -> Table:
        columns = [Column("queries"), Column("images", "judged images")]
        columns += [Column(name, name.replace("_", " "), format="%") for name in CATEGORIES]
        rows: list[list[Cell]] = [
            [f"{each.tag} {each.group}".strip(), each.total, *(n / each.total for n in each.counts.values())]
            for each in self.agreed
        ]
        return Table(columns, rows, "Agreement of the votes on an image")

    def _kinds(self) -> Table:
        columns = [Column("kind", "kind of object"), Column("images", "judged images")]
        return Table(columns, [list(each) for each in self.kinds], "What the judged images show", SHOWN)

    def _queries(self) -> Table:
        features = self._features
        hardest = self.queries.sort("value", descending=self.direction == "lower", nulls_last=True)
        rows = [
            [absent("not known") if cell is None else cell for cell in row]
            for row in hardest.select("text", "value", *features).iter_rows()
        ]
        columns = [Column("query"), Column("value", f"mean {self.by}")]
        columns += [Column(name, FEATURES[name]) for name in features]
        return Table(columns, rows, "Hardest first", SHOWN)


@verb("analyse")
def queries(
    study: Study,
    by: Annotated[
        str,
        option(
            "Correlate with this measure with scores, or this question with truth.",
            metavar="MEASURE|QUESTION",
        ),
    ] = "ndcg@10",
    tags: Annotated[
        str | Sequence[str],
        option("Split by these tags of prompts, separated by commas.", metavar="TAGS", shown="the main ones"),
    ] = (),
    with_rephrasings: Annotated[
        bool, option("Count rephrasings as queries of their own; otherwise only originals are analysed.")
    ] = False,
) -> QueryAnalysis:
    """Find what goes with a query being hard.

    Length, depth of its words in WordNet, relevant images, agreement of votes: each is correlated with the
    values of every system, and split by tags such as descriptive against conceptual.
    """
    basis = values_by(study, by)
    if basis.values.is_empty():
        raise DataError(f"no query has a value of {basis.name}", remedy=f"sightline score STUDY {basis.name}")
    notes: list[str] = []
    if not with_rephrasings:
        basis = _originals(study, basis, notes)
    categories = _categories(study)
    if categories.is_empty():
        notes.append("There are no votes on relevance, so nothing can be said about agreement.")
    analysed = _queries(study, basis, categories, notes)
    words = [tags] if isinstance(tags, str) else tags
    chosen = [name.strip() for word in words for name in word.split(",") if name.strip()]
    groups = _groups(study, chosen or main_tags(study))
    return QueryAnalysis(
        basis.name,
        basis.direction,
        analysed,
        _related(analysed, basis),
        _described(analysed, groups),
        _agreed(categories.join(analysed, on="prompt_id", how="semi"), groups),
        _by_query(categories, analysed),
        _kinds(study, categories.join(analysed, on="prompt_id", how="semi")),
        _controls(study),
        notes,
    )


def _controls(study: Study) -> list[RoundAnnotator]:
    """How each annotator did on control items of relevance, the one with most of them first."""
    question = rules(study).relevance
    if question not in {asked.name for _, asked in reading.questions(study)}:
        return []
    votes, items, _ = reading.votes(study, question)
    known = controls_of(study, votes, items["item_id"].to_list())
    results = control_results(votes, known)[:, :2].tolist()
    people = [
        RoundAnnotator(each.name, passed=passed, failed=failed)
        for each, (passed, failed) in zip(votes.annotators, results, strict=True)
        if passed + failed
    ]
    return sorted(people, key=lambda each: (-each.passed - each.failed, each.name))


def _by_query(categories: pl.DataFrame, queries: pl.DataFrame) -> list[QueryCategories]:
    """The categories of agreement of each query, the least unanimous first."""
    counted = (
        categories.join(queries.select("prompt_id", "text"), on="prompt_id")
        .group_by("prompt_id", "text", maintain_order=True)
        .agg(*((pl.col("category") == name).sum().alias(name) for name in CATEGORIES))
    )
    rows = [QueryCategories("", key, text, list(counts)) for key, text, *counts in counted.iter_rows()]
    return sorted(rows, key=lambda row: (unanimous(row.counts), row.prompt_id))


def _kinds(study: Study, categories: pl.DataFrame) -> list[tuple[str, int]]:
    """How many judged images show each kind of object, the most frequent first."""
    judged = set(categories["image_id"].to_list())
    if not judged:
        return []
    names = reading.images(study).filter(pl.col("image_id").is_in(list(judged)))
    keys = {ImageKey(*row) for row in names.select("collection", "name").iter_rows()}
    counts: Counter[str] = Counter()
    for key, scene in scenes(study).items():
        if key in keys:
            counts.update({str(each["kind"]) for each in scene.get("objects", ()) if each.get("kind")})
    return sorted(counts.items(), key=lambda each: (-each[1], each[0]))


def _originals(study: Study, basis: Basis, notes: list[str]) -> Basis:
    """The values on queries that rephrase no other, unless there are none."""
    others = basis.values["prompt_id"].is_in(list(rephrasings(study)))
    if others.all():
        return basis
    if others.any():
        left = basis.values.filter(others)["prompt_id"].n_unique()
        notes.append(f"{left:,} rephrasings are left out; --with-rephrasings counts each as a query.")
    return replace(basis, values=basis.values.filter(~others))


def _queries(study: Study, basis: Basis, categories: pl.DataFrame, notes: list[str]) -> pl.DataFrame:
    values = basis.values.group_by("prompt_id").agg(pl.col("value").mean())
    queries = reading.prompts(study).join(values, on="prompt_id").sort("prompt_id")
    known = wordnet.find()
    if known is None:
        notes.append("WordNet is not installed, so nothing can be said about how abstract queries are.")
    texts = queries["text"].to_list()
    deep = [None if known is None else depths(text, known) for text in texts]
    min_rel = 1.0 if basis.measure is None else float(basis.measure.arguments.get("min_rel", 1.0))
    contested = categories.group_by("prompt_id").agg(
        (~pl.col("category").is_in(["fully_relevant", "fully_irrelevant"])).mean().alias("contested")
    )
    depth = ("depth_least", "depth_most", "depth_mean")
    return (
        queries.with_columns(
            pl.Series("words", [float(len(text.split())) for text in texts]),
            *(
                pl.Series(name, [None if each is None else each[place] for each in deep], pl.Float64)
                for place, name in enumerate(depth)
            ),
        )
        .join(_relevant(study, min_rel), on="prompt_id", how="left", maintain_order="left")
        .join(contested, on="prompt_id", how="left", maintain_order="left")
        .select("prompt_id", "suite", "ref", "text", *FEATURES, "value")
    )


def _relevant(study: Study, min_rel: float) -> pl.DataFrame:
    """How many images are known relevant to each prompt that has any truth of relevance."""
    try:
        known = relevance(study, rules(study))
    except DataError:
        return pl.DataFrame(schema={"prompt_id": pl.Int64, "relevant": pl.Float64})
    relevant = (pl.col("value") >= min_rel).sum().cast(pl.Float64).alias("relevant")
    return known.group_by("prompt_id").agg(relevant)


def _categories(study: Study) -> pl.DataFrame:
    """prompt_id, image_id and category of agreement of every judged pair of prompt and image.

    A vote above the middle of the scale says relevant, one below irrelevant, one in the middle unsure.
    """
    schema = {"prompt_id": pl.Int64, "image_id": pl.Int64, "category": pl.String}
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
    items = subjects.select("prompt_id", "image_id", "image_b", pl.Series("category", names, pl.String))
    kept = (pl.col("prompt_id") > 0) & (pl.col("image_id") > 0) & (pl.col("image_b") == 0)
    return items.filter(kept & pl.col("category").is_not_null()).select("prompt_id", "image_id", "category")


def _related(queries: pl.DataFrame, basis: Basis) -> list[FeatureCorrelation]:
    # A feature without any value would only add rows without a number.
    features = [name for name in FEATURES if queries[name].null_count() < queries.height]
    correlations = []
    for (system,), rows in basis.values.sort("system_id", "prompt_id").group_by(
        ["system"], maintain_order=True
    ):
        mine = rows.select("prompt_id", pl.col("value").alias("mine")).join(queries, on="prompt_id")
        values = mine["mine"].to_numpy()
        correlations += [(name, str(system), spearman(mine[name].to_numpy(), values)) for name in features]
    p = benjamini_hochberg([np.nan if each[2].p is None else each[2].p for each in correlations])
    return [
        FeatureCorrelation(*each, None if np.isnan(adjusted) else float(adjusted))
        for each, adjusted in zip(correlations, p, strict=True)
    ]


def _groups(study: Study, tags: Sequence[str]) -> pl.DataFrame:
    """prompt_id, tag, group; every prompt is also of the group without a name."""
    whole = reading.prompts(study).select("prompt_id", tag=pl.lit(""), group=pl.lit("all"))
    split = reading.tags(study).filter(pl.col("name").is_in(list(tags)))
    return pl.concat([whole, split.select("prompt_id", tag="name", group="value")])


def _described(queries: pl.DataFrame, groups: pl.DataFrame) -> list[FeatureMean]:
    means = []
    joined = groups.join(queries, on="prompt_id").sort("tag", "group", "prompt_id")
    for (tag, group), rows in joined.group_by(["tag", "group"], maintain_order=True):
        for name in FEATURES:
            values = rows[name].drop_nulls().to_numpy()
            if values.size:
                # ConQA prints the spread of the queries themselves, not that of a sample of them.
                spread = float(values.std())
                means.append(FeatureMean(str(tag), str(group), name, mean_interval(values), spread))
    return means


def _agreed(categories: pl.DataFrame, groups: pl.DataFrame) -> list[VoteCategories]:
    agreed = []
    joined = groups.join(categories, on="prompt_id").sort("tag", "group")
    for (tag, group), rows in joined.group_by(["tag", "group"], maintain_order=True):
        counted = dict(rows["category"].value_counts().iter_rows())
        counts = {name: int(counted.get(name, 0)) for name in CATEGORIES}
        agreed.append(VoteCategories(str(tag), str(group), counts))
    return agreed
