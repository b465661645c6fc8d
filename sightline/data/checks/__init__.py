"""Integrity rules: what can be wrong with a study's data; here is what all of them share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from sightline.records import Question

if TYPE_CHECKING:
    import polars as pl

FEW = 5
"""How many examples a finding shows."""
BLOCK = 100_000
"""Rows that a rule compares with each other at once, where it looks at one prompt or item at a time."""


class Material(Protocol):
    """What an integrity rule looks at: the study as frames, each read when first asked for.

    Ids are those of the study; 0 stands for "not part of it" in judgements and truths.
    """

    @property
    def prompts(self) -> pl.DataFrame:
        """prompt_id, suite, ref, text."""

    @property
    def tags(self) -> pl.DataFrame:
        """prompt_id, name, value."""

    @property
    def systems(self) -> pl.DataFrame:
        """system_id, system, kind, answers."""

    @property
    def answers(self) -> pl.DataFrame:
        """system_id, system, prompt_id, position, image_id, sha256, score, seed, failure."""

    @property
    def images(self) -> pl.DataFrame:
        """image_id, collection, name, sha256, width, height, defect."""

    @property
    def questions(self) -> Sequence[Question]:
        """Every question, the newest version of each."""

    @property
    def relevance(self) -> str:
        """The question whose truth says which images are relevant: [score] relevance in study.toml."""

    @property
    def judgements(self) -> pl.DataFrame:
        """question, annotator, prompt_id, system_id, image_id, value, n; latest revisions, none skipped.

        Also item_id, repetition, took_ms, and `system_b` and `image_b`: the second side of a pair.
        """

    @property
    def truths(self) -> pl.DataFrame:
        """question, rule, prompt_id, system_id, image_id, value, low, high."""

    def scores(self, measure: str) -> pl.DataFrame:
        """prompt_id, system_id, image_id, value, reason of a measure the rule declares."""

    def scan(self, name: str, measure: str = "") -> pl.LazyFrame:
        """The answers, images, judgements, truths, or "scores" of a measure, read as they are asked for.

        A rule that filters or counts these needs no more memory for a million rows than for a thousand.
        """


def few(examples: Iterable[str]) -> list[str]:
    """The first examples, no more than a reader takes in at a glance."""
    return list(islice(examples, FEW))


def short(text: str, most: int = 60) -> str:
    """A text cut to a length that fits a line."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def gathered(rows: pl.LazyFrame) -> pl.DataFrame:
    """The rows of a scan that are left after its filters, in their order; the others go by."""
    return rows.collect(engine="streaming")


def answers_by(material: Material, kind: str) -> pl.LazyFrame:
    """The answers of generators, or of retrievers."""
    import polars as pl

    systems = material.systems.filter(kind=kind)["system_id"].to_list()
    return material.scan("answers").filter(pl.col("system_id").is_in(systems))


def blocks(*tables: pl.LazyFrame, key: str | pl.Expr = "prompt_id") -> Iterator[pl.Expr]:
    """Conditions that divide the rows of tables by a key, in its order, into blocks that fit into memory."""
    import polars as pl

    value = pl.col(key) if isinstance(key, str) else key
    counted = pl.concat(gathered(rows.group_by(value.alias("key")).len()) for rows in tables)
    sizes = counted.group_by("key").agg(pl.col("len").sum()).drop_nulls().sort("key")
    block = (sizes["len"].cum_sum() - 1) // BLOCK
    ends = (
        sizes.with_columns(block=block)
        .group_by("block", maintain_order=True)
        .agg(pl.col("key").first().alias("low"), pl.col("key").last().alias("high"))
    )
    return (value.is_between(pl.lit(low), pl.lit(high)) for _, low, high in ends.iter_rows())


def prompt_examples(material: Material, ids: Iterable[int]) -> list[str]:
    """Prompts as a reader finds them: suite, id and wording."""
    rows = _first(material.prompts.lazy(), "prompt_id", ids).select("suite", "ref", "text").iter_rows()
    return [f"{suite}/{ref}: {short(text)}" for suite, ref, text in rows]


def image_examples(material: Material, ids: Iterable[int]) -> list[str]:
    """Images as a reader finds them: collection and name."""
    rows = _first(material.scan("images"), "image_id", ids).select("collection", "name").iter_rows()
    return [f"{collection}/{name}" for collection, name in rows]


def _first(table: pl.LazyFrame, key: str, ids: Iterable[int]) -> pl.DataFrame:
    """The rows of the first ids, each once, in their order."""
    import polars as pl

    wanted = pl.Series(key, list(islice(dict.fromkeys(ids), FEW)), dtype=pl.Int64)
    found = gathered(table.filter(pl.col(key).is_in(wanted.to_list())))
    return wanted.to_frame().join(found, on=key, maintain_order="left")


def off_by_a_hair() -> pl.Expr:
    """How far a value that went through single precision may miss an end."""
    import polars as pl

    return 1e-6 * pl.max_horizontal(pl.lit(1.0), pl.col("value").abs())


def outside(material: Material, rows: pl.LazyFrame) -> pl.DataFrame:
    """Of rows with `question` and `value`: those whose value is off the question's scale, with its ends."""
    import polars as pl

    schema = {"question": pl.String, "scale_low": pl.Float64, "scale_high": pl.Float64}
    ends = pl.DataFrame([(q.name, q.low, q.high) for q in material.questions], schema=schema, orient="row")
    below = (pl.col("value") < pl.col("scale_low") - off_by_a_hair()).fill_null(False)
    above = (pl.col("value") > pl.col("scale_high") + off_by_a_hair()).fill_null(False)
    joined = rows.join(ends.lazy(), on="question", how="inner", maintain_order="left")
    return gathered(joined.filter(below | above))


def item_examples(material: Material, rows: pl.DataFrame) -> list[str]:
    """What judgements or truths are about, as a reader finds it: prompt, system and image by their names."""
    shown = []
    items = rows.select("prompt_id", "system_id", "image_id").unique(maintain_order=True).head(FEW)
    for prompt, system, image in items.iter_rows():
        parts = prompt_examples(material, [prompt]) if prompt else []
        if system:
            parts.append(f"by {material.systems.filter(system_id=system)['system'][0]}")
        if image:
            parts += image_examples(material, [image])
        shown.append(", ".join(parts))
    return shown
