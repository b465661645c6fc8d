"""Prompts with empty results: stored as answers without an image, so that measures count them as 0."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sightline.records import Answer, PromptKey
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.study.writing.loading import Loaded

NOTHING = "nothing was found"


def store_empty_results(
    study: Study, loaded: Loaded, system: str, settings: Mapping[str, Any], prompts: Iterable[PromptKey]
) -> None:
    """Note under the source of an engine's answers which prompts it found nothing for.

    A run that was kept before gets its notes too: they are the same twice as once.
    """
    records = [
        Answer(prompt, system, 0, None, settings=settings, failure=NOTHING, at=f"{system}, {prompt.ref}")
        for prompt in prompts
    ]
    if records:
        loading.load(study, records, importer="", path="", digest="", extend=loaded.source_id)


def empty_results(study: Study, names: Sequence[str]) -> list[PromptKey]:
    """The prompts that one of these engines was asked and none of them found anything for."""
    import polars as pl

    told = reading.answers(study, "retriever").filter(pl.col("system").is_in(list(names)))
    empty = told.group_by("prompt_id").agg(pl.col("image_id").is_null().all().alias("vain")).filter("vain")
    keys = reading.prompts(study).join(empty, on="prompt_id", how="semi", maintain_order="left")
    return [PromptKey(suite, ref) for suite, ref in keys.select("suite", "ref").iter_rows()]
