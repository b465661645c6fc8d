"""Answers, truths and scores of some prompts at a time, for results that have one number per prompt or image.

What is kept of a block is small; its rows are not kept, so that memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

from sightline.study import reading
from sightline.study.reading import Readable

if TYPE_CHECKING:
    import polars as pl


class Block(NamedTuple):
    """Prompts by id, from the first to the last."""

    first: int
    last: int


def blocks(study: Readable, having: Collection[int] | None = None) -> list[Block]:
    """All prompts in their order, in blocks of about ROWS answers; only those `having` one of these.

    There is at least one block, maybe empty.
    """
    import polars as pl

    sizes = reading.frame(
        study,
        "SELECT p.id, (SELECT count(*) FROM answer a WHERE a.prompt_id = p.id) FROM prompt p ORDER BY p.id",
        "prompt_id:int n:int",
    )
    part = (sizes["n"] + 1).cum_sum() // reading.ROWS
    if having is not None:
        wanted = part.filter(sizes["prompt_id"].is_in(list(having))).unique()
        sizes, part = sizes.filter(part.is_in(wanted.to_list())), part.filter(part.is_in(wanted.to_list()))
    ends = sizes.with_columns(part=part).group_by("part", maintain_order=True)
    ranges = ends.agg(pl.col("prompt_id").first().alias("first"), pl.col("prompt_id").last().alias("last"))
    return [Block(first, last) for _, first, last in ranges.iter_rows()] or [Block(0, -1)]


def answers(study: Readable, block: Block, kind: str | None = None) -> pl.DataFrame:
    """The answers to these prompts, with the columns and in the order of `reading.answers`."""
    query, columns = reading.ANSWERS
    query = query.replace(" WHERE ", " WHERE a.prompt_id BETWEEN :first AND :last AND ")
    return _read(study, query, columns, block, kind=kind or "")


def answers_to(study: Readable, prompt_id: int, kind: str | None = None) -> pl.DataFrame:
    """The same of one prompt."""
    return answers(study, Block(prompt_id, prompt_id), kind)


def truths(study: Readable, question: str, block: Block) -> pl.DataFrame:
    """The truth of a question about these prompts, their answers, and images by themselves that are answers.

    One row per item that is no pair, from the strongest settlement that covers it; values may be null.
    """
    import polars as pl

    # What stands on the left of CROSS JOIN SQLite goes through first: items of prompts, not all truths.
    parts = "t.item_id, s.prompt_id, s.system_id, s.image_id, s.image_b, s.system_b, t.value, t.n"
    settled = "s.image_b = 0 AND s.system_b = 0 AND t.item_id = s.id AND t.settlement_id = :settlement"
    query = (
        f"SELECT {parts} FROM item s CROSS JOIN truth t "
        f"WHERE s.prompt_id BETWEEN :first AND :last AND {settled} "
        f"UNION SELECT {parts} FROM answer a CROSS JOIN item s CROSS JOIN truth t "
        "WHERE a.prompt_id BETWEEN :first AND :last AND s.prompt_id = 0 AND s.system_id = 0 "
        f"AND s.image_id = a.image_id AND {settled} ORDER BY 1"
    )
    columns = (
        "item_id:int prompt_id:int system_id:int image_id:int image_b:int system_b:int value:float n:int"
    )
    found = [
        _read(study, query, columns, block, settlement=settlement)
        for settlement in reading.counting_settlements(study, question) or [0]
    ]
    return pl.concat(found).unique("item_id", keep="first", maintain_order=True).sort("item_id")


def scores(study: Readable, identity: str, kind: str, block: Block) -> pl.DataFrame:
    """The scores by a measure of images or of answers, of what answers these prompts now."""
    of_image = (
        "SELECT DISTINCT :kind, c.inputs, c.prompt_id, c.system_id, c.image_id, c.value, c.reason "
        "FROM answer a CROSS JOIN score c WHERE a.prompt_id BETWEEN :first AND :last "
        "AND c.measure_id = :measure AND c.prompt_id = 0 AND c.system_id = 0 AND c.image_id = a.image_id "
        "ORDER BY 5"
    )
    of_answer = (
        "SELECT :kind, c.inputs, c.prompt_id, c.system_id, c.image_id, c.value, c.reason FROM score c "
        "WHERE c.measure_id = :measure AND c.prompt_id BETWEEN :first AND :last ORDER BY 3, 4, 5"
    )
    query = of_image if kind == "of_image" else of_answer
    measure = reading.measure_id(study, identity)
    stored = _read(study, query, reading.SCORES, block, measure=measure, kind=kind)
    return reading.current_scores(study, stored).drop("kind", "inputs")


def _read(study: Readable, query: str, columns: str, block: Block, **values: object) -> pl.DataFrame:
    """Rows that are not remembered: they are read again rather than held."""
    import polars as pl

    found: Iterator[pl.DataFrame] = reading.frames(
        study, query, columns, first=block.first, last=block.last, **values
    )
    return pl.concat(found)
