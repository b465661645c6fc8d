"""Retrieve: let a search engine answer the prompts of a study from a collection."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.errors import DataError, ExtensionError, UsageError, near
from sightline.execution.progress import Listener, Meter
from sightline.extension import Configured
from sightline.records import Answer, Candidates, ImageKey, Prompt, Record, System
from sightline.stages.select import prompts_of
from sightline.store import listing, loading, reading
from sightline.store.study import Study

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Retrieved:
    """What a run did; `already` if the study held its very answers before."""

    system: str
    retriever: str
    source_id: int
    already: bool
    prompts: int
    candidates: int
    answers: int
    without: int


def retrieve(
    study: Study,
    system: str,
    retriever: str,
    *,
    collection: str,
    k: int = 100,
    suite: str | None = None,
    replace: bool = False,
    listener: Listener | None = None,
) -> Retrieved:
    """Rank the images of a collection for each prompt and keep the first k as answers, as one source.

    `replace` takes the earlier run of this system back first, for when prompts or images were added.
    """
    if k < 1:
        raise UsageError(f"k is {k}", remedy="Ask for 1 answer or more.")
    if not system.strip():
        raise UsageError("the system needs a name")
    engine = registry.configure("retriever", retriever)
    engine.require()
    reading.need_prompts(study)
    wanted = prompts_of(study, suite)
    queries = list(reading.prompt_records(study, wanted["prompt_id"].to_list()).values())
    candidates = _candidates(study, collection)
    if listing.system_kind(study, system) == "generator":
        raise UsageError(f"system {system!r} is a generator", remedy="Give the retriever another name.")
    meter = Meter(f"{system}: {engine.name}", len(queries), listener)
    ranked = engine.load()(candidates, queries, k)
    indices, scores = _sound(engine, ranked, len(queries), k, len(candidates.keys))
    meter.add(computed=len(queries))
    settings = {"retriever": str(engine), "version": engine.spec.version, "collection": collection}
    loaded = loading.load(
        study,
        _records(system, collection, settings, queries, candidates, indices, scores),
        importer="retrieve",
        path=f"{system} over {collection}",
        digest=_digest(system, settings, queries, candidates, indices, scores),
        replace=replace,
    )
    meter.finish()
    found = indices >= 0
    return Retrieved(
        system,
        str(engine),
        loaded.source_id,
        loaded.already,
        len(queries),
        len(candidates.keys),
        int(found.sum()),
        int((~found.any(axis=1)).sum()),
    )


def _candidates(study: Study, collection: str) -> Candidates:
    import polars as pl

    images = reading.images(study)
    chosen = images.filter(pl.col("collection") == collection)
    if chosen.is_empty():
        known = images["collection"].unique().to_list()
        raise UsageError(
            f"there is no collection called {collection!r} with images in it", remedy=near(collection, known)
        )
    captions: dict[int, list[str]] = {}
    ids = set(chosen["image_id"].to_list())
    for key, caption in reading.captions(study).select("image_id", "caption").iter_rows():
        if key in ids:
            captions.setdefault(int(key), []).append(caption)
    if not captions and chosen["sha256"].null_count() == chosen.height:
        raise DataError(
            f"the images of collection {collection!r} have neither captions nor files to search by",
            remedy="Import a table of image and caption, or the images themselves.",
        )
    return Candidates(
        keys=[ImageKey(collection, name) for name in chosen["name"]],
        captions=[captions.get(int(key), []) for key in chosen["image_id"]],
        pictures=[None if sha is None else study.images.picture(sha) for sha in chosen["sha256"]],
    )


def _sound(
    engine: Configured, result: Any, queries: int, k: int, candidates: int
) -> tuple[np.ndarray, np.ndarray]:
    """What a retriever promises: ranks without gaps, each image once, scores that do not rise."""
    import numpy as np

    indices, scores = (np.asarray(part) for part in result)
    wrong = None
    if indices.shape != (queries, k) or scores.shape != (queries, k):
        wrong = f"arrays of {indices.shape} and {scores.shape} instead of {(queries, k)}"
    elif indices.size and (indices.min() < -1 or indices.max() >= candidates):
        wrong = "an index that is none of the candidates"
    elif (np.diff((indices >= 0).astype(np.int8), axis=1) > 0).any():
        wrong = "a ranking with a gap in it"
    elif not np.isfinite(scores[indices >= 0]).all():
        wrong = "an answer without a finite score"
    elif any(len(np.unique(row[row >= 0])) < (row >= 0).sum() for row in indices):
        wrong = "an image twice in one ranking"
    elif (scores[:, 1:][indices[:, 1:] >= 0] > scores[:, :-1][indices[:, 1:] >= 0]).any():
        wrong = "scores that rise along a ranking"
    if wrong:
        raise ExtensionError(f"{engine.name} gave {wrong}", where=engine.spec.origin)
    return indices, scores


def _digest(
    system: str,
    settings: Mapping[str, Any],
    queries: list[Prompt],
    candidates: Candidates,
    indices: np.ndarray,
    scores: np.ndarray,
) -> str:
    told = [system, dict(settings), [query.key for query in queries], candidates.keys]
    whole = hashlib.sha256(json.dumps(told, sort_keys=True).encode())
    whole.update(indices.astype("<i8").tobytes())
    whole.update(scores.astype("<f8").tobytes())
    return whole.hexdigest()


def _records(
    system: str,
    collection: str,
    settings: Mapping[str, Any],
    queries: list[Prompt],
    candidates: Candidates,
    indices: np.ndarray,
    scores: np.ndarray,
) -> Iterator[Record]:
    yield System(system, "retriever", collection)
    for query, row, values in zip(queries, indices, scores, strict=True):
        for position, (index, value) in enumerate(zip(row.tolist(), values.tolist(), strict=True)):
            if index < 0:
                break
            at = f"{system}, {query.key.ref}, rank {position}"
            yield Answer(
                query.key, system, position, candidates.keys[index], float(value), settings=settings, at=at
            )
