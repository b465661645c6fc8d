"""Rerank: the first answers of an engine in the order of a measure that looks closer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import Configured
from sightline.study import reading, scores
from sightline.study.running.calls import Task, compute
from sightline.study.running.progress import Listener, Meter
from sightline.study.running.run import register
from sightline.study.study import Study
from sightline.systems.empty_results import empty_results, store_empty_results
from sightline.systems.ranking import engines, keep, named, refuse_name

if TYPE_CHECKING:
    import polars as pl

BATCH = 32
PAGE = 2_000
"""Pairs that are looked up at once."""


@dataclass(frozen=True)
class Reranked:
    """What was ordered anew; `without` counts, by reason, the images that the measure has no value for."""

    system: str
    of: str
    measure: str
    source_id: int
    already: bool
    prompts: int
    answers: int
    computed: int
    without: Mapping[str, int] = field(default_factory=dict)


def rerank(
    study: Study,
    system: str,
    of: str,
    measure: str,
    *,
    first: int = 128,
    replace: bool = False,
    listener: Listener | None = None,
) -> Reranked:
    """Order the first so many answers of an engine by a measure of an answer, as another system.

    Values are kept as scores of the study batch by batch: a run that was stopped goes on where it was, and
    what `score` computed before is not computed again. Images without a value come behind those with one,
    and those past the first ones behind them, both in the engine's order; below the lowest value their
    scores fall by 1 a place, which says nothing but the order.
    """
    chosen = registry.find_measure(measure)
    if chosen.spec.kind != "of_answer":
        raise UsageError(
            f"{chosen.name} is a measure {chosen.spec.kind.replace('_', ' ')}, not of an answer",
            remedy="sightline list of_answer",
        )
    if chosen.spec.direction == "none":
        raise UsageError(f"{chosen.name} has no good end to order by", remedy="sightline list of_answer")
    if first < 1:
        raise UsageError(f"the first {first}", remedy="Look at 1 answer or more.")
    refuse_name(study, system)
    if system == of:
        raise UsageError(f"{system!r} cannot be put in the place of its own", remedy="Choose another name.")
    chosen.require()
    known = engines(study, [of])
    head = known.answers.filter(known.answers["rank"] <= first)
    if head["sha256"].null_count() == head.height:
        raise DataError(
            f"none of the images that {of} answered with has its file in the study",
            remedy="Import the image files: the measure must look at them.",
        )
    computed, told = _values(study, chosen, head, listener)
    sign = -1.0 if chosen.spec.direction == "lower" else 1.0
    rows, reasons = _ordered(known.answers, told, first, sign)
    settings = {"reranked": of, "by": str(chosen), "first": first, "collection": known.collection}
    loaded = keep(
        study,
        system,
        known.collection,
        settings,
        named(study, rows),
        by="rerank",
        path=f"{system} out of {of}",
        replace=replace,
    )
    store_empty_results(study, loaded, system, settings, empty_results(study, [of]))
    prompts = rows["prompt_id"].n_unique()
    return Reranked(
        system, of, str(chosen), loaded.source_id, loaded.already, prompts, rows.height, computed, reasons
    )


def _values(
    study: Study, measure: Configured, head: pl.DataFrame, listener: Listener | None
) -> tuple[int, pl.DataFrame]:
    """How many were computed, and prompt_id, image_id, worth, reason: what the measure says of each pair."""
    measure_id = register(study, measure)
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
    told = reading.scores(study, measure.identity).select("prompt_id", "image_id", "value", "reason")
    return computed, told.rename({"value": "worth"})


def _ordered(
    answers: pl.DataFrame, told: pl.DataFrame, first: int, sign: float
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Rows of prompt_id, image_id and value in the new order, and why some were not looked at."""
    import polars as pl

    head = pl.col("rank") <= first
    rows = answers.join(told, on=["prompt_id", "image_id"], how="left").with_columns(
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
