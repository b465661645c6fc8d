"""Rerank: the first answers of an engine in the order of a measure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import Configured
from sightline.rendering.tables import Column, Table
from sightline.study import reading, scores
from sightline.study.running.calls import Task, compute
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.ranking import (
    REPLACE,
    SYSTEM,
    StoredRankings,
    as_rankings,
    empty_results,
    engines,
    reasons_table,
    refuse_name,
    store_rankings,
)
from sightline.verbs import argument, option, verb

if TYPE_CHECKING:
    import polars as pl

BATCH = 32
PAGE = 2_000
"""Pairs that are looked up at once."""


@dataclass(frozen=True)
class Reranking(StoredRankings):
    """The reranked answers of an engine; `without` counts the images without a value, by reason."""

    of: str
    measure: str
    first: int
    computed: int
    without: Mapping[str, int] = field(default_factory=dict)

    def tables(self) -> dict[str, Table]:
        columns = [Column(name) for name in ("system", "prompts", "answers", "computed")]
        row = (self.system, self.prompts, self.answers, self.computed)
        tables = {"systems": Table(columns, [row], f"{self.of}, its first {self.first} by {self.measure}")}
        if self.without:
            tables["without"] = reasons_table(self.without, "Why images have no value")
        return tables


@verb("collect")
def rerank(
    study: Study,
    system: Annotated[str, argument(SYSTEM, "SYSTEM")],
    of: Annotated[str, argument("The engine whose answers are reranked.", "ENGINE")],
    measure: Annotated[
        str, option("Sort by this measure: see sightline list of_answer.", "--by", metavar="MEASURE")
    ],
    *,
    first: Annotated[int, option("Rerank this many of the engine's first answers.", least=1)] = 128,
    replace: Annotated[bool, REPLACE] = False,
    listener: Listener | None = None,
) -> Reranking:
    """Sort the first answers of a search engine by a measure.

    The new rankings are stored as the answers of another system. Values are stored as scores of the study
    batch by batch: a run that was stopped resumes, and what `score` has computed is not computed again.
    Images without a value follow those with one, and those after the first ones follow them, both in the
    engine's order; their scores, which decrease by 1 per place below the lowest value, only encode that
    order.

    \b
    sightline rerank my-study closer words --by colour_match --first 128
    """
    chosen = registry.find_measure(measure)
    if chosen.spec.kind != "of_answer":
        raise UsageError(
            f"{chosen.name} is a measure {chosen.spec.kind.replace('_', ' ')}, not of an answer",
            remedy="sightline list of_answer",
        )
    if chosen.spec.direction == "none":
        raise UsageError(f"{chosen.name} has no direction to sort by", remedy="sightline list of_answer")
    if first < 1:
        raise UsageError(f"first is {first}", remedy="Rerank 1 answer or more.")
    refuse_name(study, system)
    if system == of:
        raise UsageError(f"{system!r} cannot replace its own answers", remedy="Choose another name.")
    chosen.require()
    known = engines(study, [of])
    head = known.answers.filter(known.answers["rank"] <= first)
    if head["sha256"].null_count() == head.height:
        raise DataError(
            f"none of the images that {of} answered with has its file in the study",
            remedy="Import the image files: the measure reads them.",
        )
    computed, values = _values(study, chosen, head, listener)
    sign = -1.0 if chosen.spec.direction == "lower" else 1.0
    rows, reasons = _ordered(known.answers, values, first, sign)
    stored = store_rankings(
        study,
        system,
        known.collection,
        {"reranked": of, "by": str(chosen), "first": first, "collection": known.collection},
        as_rankings(study, rows),
        by="rerank",
        path=f"{system} from {of}",
        replace=replace,
        empty=empty_results(study, [of]),
    )
    return Reranking(*stored, of, str(chosen), first, computed, reasons)


def _values(
    study: Study, measure: Configured, head: pl.DataFrame, listener: Listener | None
) -> tuple[int, pl.DataFrame]:
    """How many were computed, and prompt_id, image_id, worth, reason: the measure's value of each pair."""
    measure_id = scores.register(study, measure)
    pairs = head.filter(head["sha256"].is_not_null()).select("prompt_id", "image_id", "sha256")
    meter = Meter(measure.short, pairs.height, listener)
    computed = 0
    for start in range(0, pairs.height, PAGE):
        items = scores.answer_items(study, pairs[start : start + PAGE].rows())
        todo, copies = scores.known(study, measure_id, items)
        scores.write(study, measure_id, copies)
        meter.add(known=len(items) - len(todo))
        for first in range(0, len(todo), BATCH):
            part = todo[first : first + BATCH]
            (outcomes,) = compute([measure], study.files, [Task(item, (0,)) for item in part])
            scores.write(study, measure_id, list(zip(part, outcomes, strict=True)))
            computed += len(part)
            meter.add(computed=len(part))
    meter.finish()
    values = reading.scores(study, measure.identity).select("prompt_id", "image_id", "value", "reason")
    return computed, values.rename({"value": "worth"})


def _ordered(
    answers: pl.DataFrame, values: pl.DataFrame, first: int, sign: float
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows of prompt_id, image_id and value in the new order, and why some have no value."""
    import polars as pl

    head = pl.col("rank") <= first
    rows = answers.join(values, on=["prompt_id", "image_id"], how="left").with_columns(
        worth=pl.when(head).then(sign * pl.col("worth"))
    )
    missing = rows.filter(head & pl.col("worth").is_null())["reason"].fill_null(
        "its file is not in the study"
    )
    reasons = Counter(reason.removeprefix(scores.ERROR) for reason in missing)
    rows = rows.sort("prompt_id", "worth", "rank", descending=[False, True, False], nulls_last=True)
    lowest = pl.col("worth").min().over("prompt_id").fill_null(0.0)
    behind = pl.col("worth").is_null().cum_sum().over("prompt_id")
    value = pl.when(pl.col("worth").is_null()).then(lowest - behind).otherwise(pl.col("worth"))
    return rows.with_columns(value=value).select("prompt_id", "image_id", "value"), dict(reasons)
