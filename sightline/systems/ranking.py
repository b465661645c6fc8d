"""Rankings made here become answers of a system: one source, the same twice as once, undone as a whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from sightline.errors import ConflictError, DataError, UsageError, near
from sightline.records import Answer, ImageKey, PromptKey, Record, System
from sightline.study import listing, reading
from sightline.study.study import Study
from sightline.study.writing import loading
from sightline.study.writing.loading import Loaded

if TYPE_CHECKING:
    import polars as pl


class Ranking(NamedTuple):
    """The images that answer a prompt, best first, with scores that do not rise."""

    prompt: PromptKey
    images: Sequence[ImageKey]
    scores: Sequence[float]


def keep(
    study: Study,
    system: str,
    collection: str | None,
    settings: Mapping[str, Any],
    rankings: Sequence[Ranking],
    *,
    by: str,
    path: str,
    replace: bool = False,
) -> Loaded:
    """Write rankings as the answers of a system; `by` names the stage, `replace` undoes its earlier run."""
    digest = _digest(system, collection, settings, rankings)
    known = any((each["importer"], each["sha256"]) == (by, digest) for each in loading.sources(study))
    if not replace and not known:
        _refuse_other_answers(study, system, rankings)
    return loading.load(
        study,
        _records(system, collection, settings, rankings),
        importer=by,
        path=path,
        digest=digest,
        replace=replace,
    )


def _refuse_other_answers(study: Study, system: str, rankings: Sequence[Ranking]) -> None:
    """Raise if the system answered one of these prompts before: two runs would be mixed."""
    import polars as pl

    held = reading.answers(study, "retriever").filter(pl.col("system") == system)["prompt_id"].unique()
    if held.is_empty():
        return
    keys = reading.prompts(study).filter(pl.col("prompt_id").is_in(held.implode()))
    before = set(keys.select("suite", "ref").iter_rows())
    again = sum(tuple(each.prompt) in before for each in rankings)
    if again:
        raise ConflictError(
            f"the study holds other answers of {system!r} to {again:,} of these prompts",
            remedy="--replace takes them back first; or give the new ones another name.",
        )


def refuse_name(study: Study, system: str) -> None:
    """Raise if rankings cannot be kept under this name."""
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
    """The rankings of these retrievers, or their first so many places."""
    import polars as pl

    known = listing.searched(study).filter(pl.col("kind") == "retriever")
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
            remedy="Put together engines that answer from the same images.",
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


def named(study: Study, rows: pl.DataFrame) -> list[Ranking]:
    """Rows of prompt_id, image_id and value, in order, as rankings."""
    prompts = {key: PromptKey(suite, ref) for key, suite, ref, _ in reading.prompts(study).iter_rows()}
    images = {
        key: ImageKey(home, name)
        for key, home, name in reading.images(study).select("image_id", "collection", "name").iter_rows()
    }
    found: dict[int, tuple[list[ImageKey], list[float]]] = {}
    for prompt, image, value in rows.select("prompt_id", "image_id", "value").iter_rows():
        mine = found.setdefault(prompt, ([], []))
        mine[0].append(images[image])
        mine[1].append(value)
    return [Ranking(prompts[prompt], *found[prompt]) for prompt in sorted(found)]


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
    """Ordered by falling score, rankings by distance would stand upside down."""
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
            remedy='trec_eval would turn them upside down: use ties = "name", or negate them.',
        )
