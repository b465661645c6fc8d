"""The answers that show prompts on a page: counted for all prompts, read for those that are shown."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sightline.errors import DataError
from sightline.measures.rankings import relevance
from sightline.report.album import Album
from sightline.study import blocks, rollup
from sightline.study.blocks import Block
from sightline.study.relevance import rules
from sightline.study.study import Study

MOST = 8
"""Images of a system and prompt that are ever shown of a search engine's ranking."""
_NO_VALUE = pl.lit(None, pl.Float64).alias("value")
_SET = ["prompt_id", "system_id"]


@dataclass(frozen=True)
class ShownAnswers:
    """Answers as `read` gives them for a block of prompts; of all together only numbers are held."""

    study: Study
    read: Callable[[Block], pl.DataFrame]

    @cached_property
    def _numbers(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        counts, values = [], []
        for block in blocks.blocks(self.study):
            part = self.read(block)
            files = pl.col("sha256").count().cast(pl.Int64).alias("files")
            counts.append(part.group_by(_SET).agg(files).sort(_SET))
            values.append(part.select(*_SET, "value").drop_nulls("value"))
        return pl.concat(counts), pl.concat(values)

    @property
    def counts(self) -> pl.DataFrame:
        """How many answers of each system to each prompt have a file here: prompt_id, system_id, files."""
        return self._numbers[0]

    @property
    def values(self) -> pl.DataFrame:
        """What is known of each answer: prompt_id, system_id, value."""
        return self._numbers[1]

    def first(self, prompts: Collection[int], each: int) -> dict[int, pl.DataFrame]:
        """The first answers of every system to each of these prompts."""
        chosen = pl.Series(list(prompts), dtype=pl.Int64).implode()
        found: dict[int, pl.DataFrame] = {}
        for block in blocks.blocks(self.study, prompts):
            some = self.read(block).filter(pl.col("prompt_id").is_in(chosen)).sort(*_SET, "position")
            some = some.group_by(_SET, maintain_order=True).head(each)
            found |= {int(str(key)): part for (key,), part in some.group_by(["prompt_id"])}
        return found

    def side(self, album: Album, prompts: Collection[int], each: int, part: float) -> int | None:
        """The side at which the first pictures of these prompts take their part of the room, if any does."""
        chosen = pl.Series(list(prompts), dtype=pl.Int64).implode()
        sets = self.counts.filter(pl.col("prompt_id").is_in(chosen) & (pl.col("files") > 0))
        ends = sets["files"].clip(upper_bound=each).cum_sum()

        def content(number: int) -> str:
            at = int(ends.search_sorted(number, side="right"))
            prompt, system, _ = sets.row(at)
            own = self.read(Block(prompt, prompt)).filter(pl.col("system_id") == system).drop_nulls("sha256")
            return str(own.sort("position")["sha256"][number - (ends[at - 1] if at else 0)])

        return album.side(int(ends[-1]) if len(ends) else 0, content, part)


def judged(study: Study, question: str) -> ShownAnswers:
    """The answers that a question has a truth of, with it."""
    return ShownAnswers(study, lambda block: rollup.answers_in(study, question, block))


def unjudged(study: Study) -> ShownAnswers:
    """All answers, with no value."""
    return ShownAnswers(study, lambda block: blocks.answers(study, block).with_columns(_NO_VALUE))


def ranked(study: Study) -> ShownAnswers:
    """The first answers of search engines with what is known of their relevance."""
    try:
        known = relevance(study, rules(study))
    except DataError:  # engines may be ranked by a measure that needs no relevance
        known = None

    def read(block: Block) -> pl.DataFrame:
        answers = blocks.answers(study, block, "retriever").drop_nulls("image_id")
        first = answers.sort(*_SET, "position").group_by(_SET, maintain_order=True).head(MOST)
        if known is None:
            return first.with_columns(_NO_VALUE)
        return first.drop("score").join(known, on=["prompt_id", "image_id"], how="left")

    return ShownAnswers(study, read)
