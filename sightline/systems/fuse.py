"""Fuse: one ranking out of those of several engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sightline.errors import DataError, UsageError, near
from sightline.statistics import fusion
from sightline.study.study import Study
from sightline.systems.empty_results import empty_results, store_empty_results
from sightline.systems.ranking import engines, keep, named, refuse_distances, refuse_name

if TYPE_CHECKING:
    import polars as pl

RULES = ("rrf", "combsum", "combmnz")


@dataclass(frozen=True)
class Fused:
    """What was put together; `already` if the study held its very answers before."""

    system: str
    rule: str
    of: Sequence[str]
    source_id: int
    already: bool
    prompts: int
    answers: int


def fuse(
    study: Study,
    system: str,
    of: Sequence[str],
    *,
    rule: str = "rrf",
    scaling: str = "minmax",
    constant: float = 60,
    first: int | None = None,
    k: int = 100,
    replace: bool = False,
) -> Fused:
    """Put rankings of engines of the study together and keep the first k as answers of another system.

    `rrf` adds up 1 / (`constant` + rank); `combsum` adds up scores scaled by `scaling` ("minmax" or "z"), and
    `combmnz` multiplies that by the number of engines that list the image. `first` looks at so many places
    of each engine only. Prompts that only some of the engines answered are fused out of those; where one was
    asked and none found anything, nothing is found here either.
    """
    import polars as pl

    if rule not in RULES:
        raise UsageError(f"rankings are not fused by {rule!r}", remedy=near(rule, RULES))
    if scaling not in fusion.SCALINGS:
        raise UsageError(f"scores are not scaled by {scaling!r}", remedy=near(scaling, fusion.SCALINGS))
    if k < 1 or (first is not None and first < 1) or constant < 0:
        raise UsageError("k and first are 1 or more, and the constant 0 or more")
    if len(of) < 2:
        raise UsageError("one ranking alone cannot be fused", remedy="Name two engines or more.")
    refuse_name(study, system)
    if system in of:
        raise UsageError(f"{system!r} cannot be fused out of itself", remedy="Choose another name.")
    known = engines(study, of, first)
    told = known.answers
    if rule != "rrf" and told["score"].null_count():
        raise DataError(
            f"{rule} needs the engines' scores, and {told['score'].null_count():,} answers have none",
            remedy="rrf does without scores.",
        )
    if rule != "rrf":
        _refuse_rising(told, rule)
    number = {name: n for n, name in enumerate(of)}
    columns = {name: told[name].to_numpy() for name in ("prompt_id", "image_id", "rank")}
    engine = told["system"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
    if rule == "rrf":
        found = fusion.rrf(columns["prompt_id"], columns["image_id"], columns["rank"], k=constant)
        printed = f"rrf(constant={constant:g})"
    else:
        combine = fusion.comb_sum if rule == "combsum" else fusion.comb_mnz
        scores = told["score"].to_numpy()
        found = combine(columns["prompt_id"], engine, columns["image_id"], scores, scaling=scaling)  # type: ignore[arg-type]
        printed = f"{rule}(scaling={scaling})"
    rows = pl.DataFrame(dict(zip(("prompt_id", "image_id", "value"), found, strict=True)))
    rows = rows.group_by("prompt_id", maintain_order=True).head(k)
    settings = {"fused": printed, "of": list(of), "first": first, "collection": known.collection}
    loaded = keep(
        study,
        system,
        known.collection,
        settings,
        named(study, rows),
        by="fuse",
        path=f"{system} out of {', '.join(of)}",
        replace=replace,
    )
    store_empty_results(study, loaded, system, settings, empty_results(study, of))
    prompts = rows["prompt_id"].n_unique()
    return Fused(system, printed, list(of), loaded.source_id, loaded.already, prompts, rows.height)


def _refuse_rising(answers: pl.DataFrame, rule: str) -> None:
    """Raise if an engine's scores are distances: added up, its worst images would come first."""
    try:
        refuse_distances(answers.rename({"rank": "position"}).with_columns(system_id="system"))
    except DataError as error:
        remedy = f"{rule} would turn them upside down: rrf does without scores, or negate them."
        raise DataError(error.what, remedy=remedy) from None
