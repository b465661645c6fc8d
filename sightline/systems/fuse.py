"""Fuse: one ranking from those of several engines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, get_args

from sightline.errors import DataError, UsageError, near
from sightline.rendering.tables import Column, Table
from sightline.statistics import fusion
from sightline.study.study import Study
from sightline.systems.ranking import (
    REPLACE,
    SYSTEM,
    K,
    StoredRankings,
    as_rankings,
    empty_results,
    engines,
    refuse_distances,
    refuse_name,
    store_rankings,
)
from sightline.verbs import argument, option, verb

if TYPE_CHECKING:
    import polars as pl

Rule = Literal["rrf", "combsum", "combmnz"]
Scaling = Literal["minmax", "z"]


@dataclass(frozen=True)
class Fusion(StoredRankings):
    """The fused rankings of the engines `of`."""

    rule: str
    of: Sequence[str]

    def tables(self) -> dict[str, Table]:
        columns = [Column(name) for name in ("system", "prompts", "answers")]
        caption = f"{', '.join(self.of)} by {self.rule}"
        return {"": Table(columns, [(self.system, self.prompts, self.answers)], caption)}


@verb("collect")
def fuse(
    study: Study,
    system: Annotated[str, argument(SYSTEM, "SYSTEM")],
    of: Annotated[Sequence[str], argument("The engines to fuse, two or more.", "ENGINE...")],
    *,
    rule: Annotated[Rule, option("Combine ranks by rrf, or scores by combsum or combmnz.", "--by")] = "rrf",
    scaling: Annotated[Scaling, option("Scale scores this way for combsum and combmnz.")] = "minmax",
    constant: Annotated[float, option("Add this to each rank in rrf.", least=0)] = 60,
    first: Annotated[
        int | None, option("Use only this many places of each engine.", shown="all", least=1)
    ] = None,
    k: Annotated[int, K] = 100,
    replace: Annotated[bool, REPLACE] = False,
) -> Fusion:
    """Fuse the rankings of several search engines into one.

    The fused rankings are stored as the answers of another system.

    `rrf` adds up 1 / (constant + rank) (Cormack et al. 2009); `combsum` adds up scaled scores, and `combmnz`
    multiplies that by the number of engines that list the image. A prompt that only some of the engines
    answered is fused from those; one that was run with empty results only has empty results here.

    \b
    sightline fuse my-study both words clip
    """
    import polars as pl

    for name, value, known in (("--by", rule, get_args(Rule)), ("--scaling", scaling, fusion.SCALINGS)):
        if value not in known:
            raise UsageError(f"{name} cannot be {value!r}", remedy=near(value, known))
    if k < 1 or (first is not None and first < 1) or constant < 0:
        raise UsageError("k and first are 1 or more, and the constant 0 or more")
    if len(of) < 2:
        raise UsageError("one ranking alone cannot be fused", remedy="Name two engines or more.")
    refuse_name(study, system)
    if system in of:
        raise UsageError(f"{system!r} cannot be fused from itself", remedy="Choose another name.")
    known_engines = engines(study, of, first)
    answers = known_engines.answers
    if rule != "rrf":
        if missing := answers["score"].null_count():
            raise DataError(
                f"{rule} needs the engines' scores, and {missing:,} answers have none",
                remedy="rrf needs no scores.",
            )
        _refuse_rising(answers, rule)
    prompt, image = answers["prompt_id"].to_numpy(), answers["image_id"].to_numpy()
    if rule == "rrf":
        fused = fusion.rrf(prompt, image, answers["rank"].to_numpy(), k=constant)
        printed = f"rrf(constant={constant:g})"
    else:
        number = {name: n for n, name in enumerate(of)}
        engine = answers["system"].replace_strict(number, return_dtype=pl.Int64).to_numpy()
        combine = fusion.comb_sum if rule == "combsum" else fusion.comb_mnz
        fused = combine(prompt, engine, image, answers["score"].to_numpy(), scaling=scaling)
        printed = f"{rule}(scaling={scaling})"
    rows = pl.DataFrame(dict(zip(("prompt_id", "image_id", "value"), fused, strict=True)))
    rows = rows.group_by("prompt_id", maintain_order=True).head(k)
    collection = known_engines.collection
    stored = store_rankings(
        study,
        system,
        collection,
        {"fused": printed, "of": list(of), "first": first, "collection": collection},
        as_rankings(study, rows),
        by="fuse",
        path=f"{system} from {', '.join(of)}",
        replace=replace,
        empty=empty_results(study, of),
    )
    return Fusion(*stored, printed, list(of))


def _refuse_rising(answers: pl.DataFrame, rule: str) -> None:
    """Raise if an engine's scores are distances: added up, its worst images would come first."""
    try:
        refuse_distances(answers.rename({"rank": "position"}).with_columns(system_id="system"))
    except DataError as error:
        remedy = f"{rule} would reverse them: use rrf, which needs no scores, or negate them."
        raise DataError(error.what, remedy=remedy) from None
