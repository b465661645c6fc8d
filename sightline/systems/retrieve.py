"""Retrieve: let a search engine answer the prompts of a study from a collection."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sightline import registry
from sightline.errors import DataError, ExtensionError, UsageError, near
from sightline.extension import Configured
from sightline.pictures import Picture, decode
from sightline.records import Candidates, ImageKey, Prompt
from sightline.study import reading
from sightline.study.captions import folded, wordings
from sightline.study.captions import owners as owners_of
from sightline.study.files import ImageFiles
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import Cached, cached, encoders_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.empty_results import store_empty_results
from sightline.systems.ranking import Ranking, keep, refuse_name

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Retrieved:
    """What a run did; `already` if the study held its very answers before.

    `without` counts prompts that found nothing, `own` those that say what a caption of the collection says
    (or rephrase one that does), `unread` why images could not be looked at.
    """

    system: str
    retriever: str
    source_id: int
    already: bool
    prompts: int
    candidates: int
    answers: int
    without: int
    own: int = 0
    unread: Mapping[str, int] = field(default_factory=dict)


def retrieve(
    study: Study,
    system: str,
    retriever: str,
    *,
    collection: str,
    k: int = 100,
    suite: str | None = None,
    without_own: bool = False,
    replace: bool = False,
    listener: Listener | None = None,
) -> Retrieved:
    """Rank the images of a collection for each prompt and keep the first k as answers, as one source.

    Vectors of images and texts are computed once an encoder and content, and kept as they come: a run that
    was stopped goes on where it was. A prompt that is itself a caption of the collection would be found by
    that caption; with `without_own` it is searched for as if nobody had written it there. `replace` takes the
    earlier run of this system back first, for when prompts or images were added.
    """
    import numpy as np

    if k < 1:
        raise UsageError(f"k is {k}", remedy="Ask for 1 answer or more.")
    refuse_name(study, system)
    engine = registry.configure("retriever", retriever)
    engine.require()
    reading.need_prompts(study)
    wanted = prompts_of(study, suite)
    records = reading.prompt_records(study, wanted["prompt_id"].to_list())
    queries = list(records.values())
    found = candidates_of(study, collection)
    encoders = {name: cached(study, each, listener) for name, each in encoders_of(engine)}
    meter = Meter(f"{system}: {engine.name}", len(queries), listener)
    search = engine.load(encoders or None)
    said = wordings(study, {key: record.text for key, record in records.items()})
    owners = owners_of(said, found.captions)
    groups = asked_together(owners) if without_own else [range(len(queries))]
    indices, scores = np.full((len(queries), k), -1), np.full((len(queries), k), np.nan)
    for group in groups:
        asked = [queries[number] for number in group]
        own = {owner for number in group for owner in owners[number]} if without_own else ()
        seen = without_captions(found, {text for number in group for text in said[number]}, own)
        indices[group], scores[group] = _sound(engine, search(seen, asked, k), len(asked), k, len(found.keys))
        meter.add(computed=len(asked))
    settings = {"retriever": str(engine), "version": engine.spec.version, "collection": collection}
    if without_own:
        settings["without_own"] = True
    rankings = list(_rankings(queries, found, indices, scores))
    path = f"{system} over {collection}"
    loaded = keep(study, system, collection, settings, rankings, by="retrieve", path=path, replace=replace)
    store_empty_results(
        study, loaded, system, settings, [each.prompt for each in rankings if not each.images]
    )
    meter.finish()
    there = indices >= 0
    return Retrieved(
        system,
        str(engine),
        loaded.source_id,
        loaded.already,
        len(queries),
        len(found.keys),
        int(there.sum()),
        int((~there.any(axis=1)).sum()),
        sum(map(bool, owners)),
        _unread(encoders.values()),
    )


class UnkeptPicture(Picture):
    """A picture that keeps neither its bytes nor its pixels: a collection of them would fill the memory."""

    __slots__ = ("_files",)

    def __init__(self, files: ImageFiles, sha256: str) -> None:
        super().__init__(b"", sha256=sha256, name=sha256)
        self._files = files

    @property
    def data(self) -> bytes:
        return self._files.read(self.sha256)

    @property
    def rgb(self) -> np.ndarray:
        return decode(self.data, self.name)


def candidates_of(study: Study, collection: str) -> Candidates:
    """The images of a collection as retrievers see them."""
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
        pictures=[None if sha is None else UnkeptPicture(study.files, sha) for sha in chosen["sha256"]],
    )


def asked_together(owners: Sequence[Sequence[int]]) -> list[list[int]]:
    """Queries in groups, so that leaving out the own captions of a group takes one from an image at most."""
    groups: list[list[int]] = [[]]
    given: dict[int, int] = {}
    for number, mine in enumerate(owners):
        group = max((given.get(owner, 0) for owner in mine), default=-1) + 1
        given.update(dict.fromkeys(mine, group))
        groups += [[] for _ in range(group + 1 - len(groups))]
        groups[group].append(number)
    return [group for group in groups if group]


def without_captions(candidates: Candidates, said: Collection[str], owners: Collection[int]) -> Candidates:
    """The candidates without the captions that say what the prompts say."""
    if not owners:
        return candidates
    captions = [
        [each for each in told if folded(each) not in said] if number in owners else told
        for number, told in enumerate(candidates.captions)
    ]
    return Candidates(candidates.keys, captions, candidates.pictures)


def _unread(encoders: Iterable[Cached]) -> dict[str, int]:
    reasons: dict[str, int] = {}
    told = {content: reason for encoder in encoders for content, reason in encoder.without.items()}
    for reason in told.values():
        reasons[reason] = reasons.get(reason, 0) + 1
    return reasons


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


def _rankings(
    queries: Sequence[Prompt], candidates: Candidates, indices: np.ndarray, scores: np.ndarray
) -> Iterator[Ranking]:
    for query, row, values in zip(queries, indices, scores, strict=True):
        n = int((row >= 0).sum())
        yield Ranking(query.key, [candidates.keys[i] for i in row[:n].tolist()], values[:n].tolist())
