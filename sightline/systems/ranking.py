"""Rankings become answers of a system: one source, stored once however often it is run, undone as a whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.errors import ConflictError, DataError, UsageError, near
from sightline.records import Answer, ImageKey, PromptKey, Record, System
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study import listing, reading
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.verbs import option

if TYPE_CHECKING:
    import polars as pl

NOTHING = "nothing was found"
"""The reason that is stored for a prompt with empty results."""
K = option("Store this many images per prompt.", least=1)
SUITE = option("Use only the prompts of this suite.", metavar="SUITE", shown="all")
REPLACE = option("Undo this system's earlier answers first.")
SYSTEM = "The name under which the answers are stored."


class Ranking(NamedTuple):
    """The images that answer a prompt, best first, with scores that do not rise."""

    prompt: PromptKey
    images: Sequence[ImageKey]
    scores: Sequence[float]


@dataclass(frozen=True)
class StoredRankings(Result):
    """What every verb that stores rankings reports.

    `number` is the import under which they are undone; `already` is set if the study held these very answers
    before.
    """

    system: str
    number: int
    already: bool
    prompts: int
    answers: int

    @property
    def notes(self) -> Sequence[str]:
        return ("The study already held exactly these answers: nothing was changed.",) if self.already else ()

    @property
    def next(self) -> Sequence[str]:
        undo = f"sightline undo STUDY {self.number}   # undoes these answers"
        return "sightline score STUDY precision@10 ndcg@10", undo


class Stored(NamedTuple):
    """What was stored, in the order of the fields of StoredRankings."""

    system: str
    number: int
    already: bool
    prompts: int
    answers: int


def reasons_table(reasons: Mapping[str, int], caption: str) -> Table:
    """How often each reason occurred."""
    return Table([Column("reason"), Column("n")], list(reasons.items()), caption)


def store_rankings(
    study: Study,
    system: str,
    collection: str | None,
    settings: Mapping[str, Any],
    rankings: Sequence[Ranking],
    *,
    by: str,
    path: str,
    replace: bool = False,
    empty: Iterable[PromptKey] = (),
) -> Stored:
    """Write rankings as the answers of a system; `by` names the verb, `replace` undoes its earlier run.

    Prompts with `empty` results become answers without an image, so that measures count them as 0. They are
    added to a run that was stored earlier too.
    """
    digest = _digest(system, collection, settings, rankings)
    known = any((each["importer"], each["sha256"]) == (by, digest) for each in loading.sources(study))
    if not replace and not known:
        _refuse_other_answers(study, system, rankings)
    loaded = loading.load(
        study,
        _records(system, collection, settings, rankings),
        importer=by,
        path=path,
        digest=digest,
        replace=replace,
    )
    nothing = [
        Answer(prompt, system, 0, None, settings=settings, failure=NOTHING, at=f"{system}, {prompt.ref}")
        for prompt in empty
    ]
    if nothing:
        loading.load(study, nothing, importer="", path="", digest="", extend=loaded.source_id)
    filled = [len(each.images) for each in rankings if each.images]
    return Stored(system, loaded.source_id, loaded.already, len(filled), sum(filled))


def empty_results(study: Study, names: Sequence[str]) -> list[PromptKey]:
    """The prompts for which at least one of these engines was run and none of them returned an image."""
    import polars as pl

    answers = reading.answers(study, "retriever").filter(pl.col("system").is_in(list(names)))
    empty = answers.group_by("prompt_id").agg(pl.col("image_id").is_null().all().alias("empty"))
    keys = reading.prompts(study).join(
        empty.filter("empty"), on="prompt_id", how="semi", maintain_order="left"
    )
    return [PromptKey(suite, ref) for suite, ref in keys.select("suite", "ref").iter_rows()]


def _refuse_other_answers(study: Study, system: str, rankings: Sequence[Ranking]) -> None:
    """Raise if the system has already answered one of these prompts: two runs would be mixed."""
    import polars as pl

    earlier = reading.answers(study, "retriever").filter(pl.col("system") == system)["prompt_id"].unique()
    if earlier.is_empty():
        return
    keys = reading.prompts(study).filter(pl.col("prompt_id").is_in(earlier.implode()))
    answered = set(keys.select("suite", "ref").iter_rows())
    again = sum(tuple(each.prompt) in answered for each in rankings)
    if again:
        raise ConflictError(
            f"the study holds other answers of {system!r} to {again:,} of these prompts",
            remedy="--replace undoes them first; or give the new ones another name.",
        )


def refuse_name(study: Study, system: str) -> None:
    """Raise if rankings cannot be stored under this name."""
    if not system.strip():
        raise UsageError("the system needs a name")
    if listing.system_kind(study, system) == "generator":
        raise UsageError(f"system {system!r} is a generator", remedy="Give the retriever another name.")


class Engines(NamedTuple):
    """Retrievers of the study by name: their ranked answers, and the collection that all of them search."""

    names: Sequence[str]
    answers: pl.DataFrame
    """system, prompt_id, image_id, sha256, score, rank (from 1), in order; no image twice in a ranking."""
    collection: str | None


def engines(study: Study, names: Sequence[str], first: int | None = None) -> Engines:
    """The rankings of these retrievers, or their first places only."""
    import polars as pl

    known = reading.systems(study).filter(pl.col("kind") == "retriever")
    there = known["system"].to_list()
    for name in names:
        if name not in there:
            raise UsageError(
                f"there is no retriever called {name!r}",
                remedy=near(name, there) or "Import a TREC run, or sightline retrieve.",
            )
    if len(set(names)) < len(names):
        raise UsageError("a retriever is named twice", remedy="Name each once.")
    homes = known.filter(pl.col("system").is_in(list(names)))["collection"].unique().to_list()
    if len(homes) > 1:
        raise ConflictError(
            "these retrievers search different collections: "
            + ", ".join(sorted(str(home or "none") for home in homes)),
            remedy="Combine engines that search the same images.",
        )
    place = pl.col("position").rank("ordinal").over("system_id", "prompt_id").cast(pl.Int64)
    answers = (
        reading.answers(study, "retriever")
        .filter(pl.col("system").is_in(list(names)) & pl.col("image_id").is_not_null())
        .unique(["system_id", "prompt_id", "image_id"], keep="first", maintain_order=True)
        .with_columns(rank=place)
    )
    if first is not None:
        answers = answers.filter(pl.col("rank") <= first)
    if answers.is_empty():
        raise DataError(f"{', '.join(names)} gave no answers", remedy="Run or import them first.")
    columns = ("system", "prompt_id", "image_id", "sha256", "score", "rank")
    return Engines(names, answers.select(columns), homes[0])


def as_rankings(study: Study, rows: pl.DataFrame) -> list[Ranking]:
    """Rows of prompt_id, image_id and value, in order, as rankings."""
    prompts = {key: PromptKey(suite, ref) for key, suite, ref, _ in reading.prompts(study).iter_rows()}
    images = {
        key: ImageKey(home, name)
        for key, home, name in reading.images(study).select("image_id", "collection", "name").iter_rows()
    }
    rankings: dict[int, tuple[list[ImageKey], list[float]]] = {}
    for prompt, image, value in rows.select("prompt_id", "image_id", "value").iter_rows():
        keys, values = rankings.setdefault(prompt, ([], []))
        keys.append(images[image])
        values.append(value)
    return [Ranking(prompts[prompt], *rankings[prompt]) for prompt in sorted(rankings)]


def _records(
    system: str, collection: str | None, settings: Mapping[str, Any], rankings: Sequence[Ranking]
) -> Iterator[Record]:
    yield System(system, "retriever", collection)
    for prompt, images, scores in rankings:
        for position, (image, score) in enumerate(zip(images, scores, strict=True)):
            at = f"{system}, {prompt.ref}, rank {position}"
            yield Answer(prompt, system, position, image, float(score), settings=settings, at=at)


def _digest(
    system: str, collection: str | None, settings: Mapping[str, Any], rankings: Sequence[Ranking]
) -> str:
    import numpy as np

    whole = hashlib.sha256(json.dumps([system, collection, dict(settings)], sort_keys=True).encode())
    for prompt, images, scores in rankings:
        whole.update(json.dumps([prompt, images]).encode())
        whole.update(np.asarray(scores, dtype="<f8").tobytes())
    return whole.hexdigest()


def refuse_distances(answers: pl.DataFrame) -> None:
    """Raise if scores are distances: sorted by falling score, the worst images would come first."""
    import polars as pl

    step = pl.col("score").diff().over("system_id", "prompt_id", order_by="position")
    ways = (
        answers.with_columns(step=step)
        .group_by("system", maintain_order=True)
        .agg((pl.col("step") > 0).any().alias("rises"), (pl.col("step") < 0).any().alias("falls"))
    )
    upside_down = ways.filter(pl.col("rises") & ~pl.col("falls"))["system"].to_list()
    if upside_down:
        raise DataError(
            f"the scores of {upside_down[0]} rise along its rankings: they are distances",
            remedy='trec_eval would reverse them: use ties = "name", or negate them.',
        )
