"""Retrieve: run a search engine on the prompts of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any

from sightline import registry
from sightline.errors import DataError, ExtensionError, UsageError
from sightline.extension import Configured
from sightline.pictures import Picture, decode
from sightline.records import Candidates, ImageKey, Prompt
from sightline.rendering.tables import Column, Table
from sightline.study import reading
from sightline.study.captions import folded, wordings
from sightline.study.captions import owners as owners_of
from sightline.study.collections import images_of
from sightline.study.files import ImageFiles
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import Cached, encoders_of
from sightline.study.running.place import place_of
from sightline.study.running.progress import Listener, Meter
from sightline.study.study import Study
from sightline.systems.ranking import (
    REPLACE,
    SUITE,
    SYSTEM,
    K,
    Ranking,
    StoredRankings,
    reasons_table,
    refuse_name,
    store_rankings,
)
from sightline.verbs import GPUS, ON, argument, option, verb

if TYPE_CHECKING:
    import numpy as np


@dataclass(frozen=True)
class Retrieval(StoredRankings):
    """A run of a retriever over a collection of `candidates`.

    `empty` counts prompts with empty results, `own_captions` those that equal a caption of the collection (or
    rephrase one that does), `unread` the images that could not be read, by reason.
    """

    retriever: str
    candidates: int
    empty: int
    own_captions: int = 0
    without_own: bool = False
    unread: Mapping[str, int] = field(default_factory=dict)

    @property
    def notes(self) -> Sequence[str]:
        notes = list(super().notes)
        if self.own_captions and not self.without_own:
            notes.append(
                f"{self.own_captions:,} prompts are captions of this collection, word for word: an engine "
                "that reads captions, or was fitted on them, knows the answer. See --without-own."
            )
        return notes

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("system"),
            Column("prompts"),
            Column("candidates", "images searched"),
            Column("answers"),
            Column("empty", "prompts with empty results"),
        ]
        row = (self.system, self.prompts, self.candidates, self.answers, self.empty)
        tables = {"": Table(columns, [row], self.retriever)}
        if self.unread:
            tables["unread"] = reasons_table(self.unread, "Images that could not be read")
        return tables


@verb("collect")
def retrieve(
    study: Study,
    system: Annotated[str, argument(SYSTEM, "SYSTEM")],
    retriever: Annotated[
        str,
        option("Search with this retriever: see sightline list retriever.", "--with", metavar="RETRIEVER"),
    ],
    *,
    collection: Annotated[str, option("Search the images of this collection.", metavar="NAME")],
    k: Annotated[int, K] = 100,
    suite: Annotated[str | None, SUITE] = None,
    without_own: Annotated[
        bool, option("Ignore the caption that equals the prompt, for each prompt separately.")
    ] = False,
    replace: Annotated[bool, REPLACE] = False,
    on: Annotated[str | None, ON] = None,
    gpus: Annotated[float | None, GPUS] = None,
    listener: Listener | None = None,
) -> Retrieval:
    """Run a search engine on the prompts of a study.

    Ranks the images of a collection for each prompt and stores the first k as answers, as one import. Vectors
    of images and texts are computed once per encoder and content and stored as they are computed: a run that
    was stopped resumes.

    \b
    sightline retrieve my-study words --with caption_words --collection photos
    """
    import numpy as np

    if k < 1:
        raise UsageError(f"k is {k}", remedy="Ask for 1 answer or more.")
    refuse_name(study, system)
    engine = registry.configure("retriever", retriever)
    engine.require()
    reading.need_prompts(study)
    records = reading.prompt_records(study, prompts_of(study, suite)["prompt_id"].to_list())
    queries = list(records.values())
    candidates = candidates_of(study, collection)
    place = place_of(on, gpus=gpus)
    encoders = {name: Cached(study, each, listener, place) for name, each in encoders_of(engine)}
    meter = Meter(f"{system}: {engine.name}", len(queries), listener)
    search = engine.load(encoders or None)
    texts = wordings(study, {key: record.text for key, record in records.items()})
    owners = owners_of(texts, candidates.captions)
    indices, scores = np.full((len(queries), k), -1), np.full((len(queries), k), np.nan)
    groups = search_groups(candidates, texts, owners) if without_own else [(range(len(queries)), candidates)]
    for group, visible in groups:
        answers = search(visible, [queries[number] for number in group], k)
        indices[group], scores[group] = _validated(engine, answers, len(group), k, len(candidates.keys))
        meter.add(computed=len(group))
    settings = {"retriever": str(engine), "version": engine.spec.version, "collection": collection}
    if without_own:
        settings["without_own"] = True
    rankings = list(_rankings(queries, candidates, indices, scores))
    empty = [each.prompt for each in rankings if not each.images]
    path = f"{system} over {collection}"
    stored = store_rankings(
        study, system, collection, settings, rankings, by="retrieve", path=path, replace=replace, empty=empty
    )
    meter.finish()
    return Retrieval(
        *stored._replace(prompts=len(queries)),
        retriever=str(engine),
        candidates=len(candidates.keys),
        empty=len(empty),
        own_captions=sum(map(bool, owners)),
        without_own=without_own,
        unread=_unread(encoders.values()),
    )


class UnkeptPicture(Picture):
    """A picture that holds neither bytes nor pixels: a collection of them would fill the memory."""

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
    chosen = images_of(study, collection)
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


def search_groups(
    candidates: Candidates, texts: Sequence[Collection[str]], owners: Sequence[Sequence[int]]
) -> Iterator[tuple[list[int], Candidates]]:
    """Queries that can be searched together without their own captions, by number, with what they search.

    `texts` are the wordings of each query, `owners` the images that have one of them as a caption. In a group
    no image loses the captions of more than one query.
    """
    groups: list[list[int]] = [[]]
    group_of: dict[int, int] = {}
    for number, own in enumerate(owners):
        group = max((group_of.get(owner, 0) for owner in own), default=-1) + 1
        group_of.update(dict.fromkeys(own, group))
        groups += [[] for _ in range(group + 1 - len(groups))]
        groups[group].append(number)
    for members in filter(None, groups):
        owning = {owner for number in members for owner in owners[number]}
        hidden = {text for number in members for text in texts[number]}
        captions = [
            [each for each in mine if folded(each) not in hidden] if number in owning else mine
            for number, mine in enumerate(candidates.captions)
        ]
        yield members, Candidates(candidates.keys, captions, candidates.pictures)


def _unread(encoders: Iterable[Cached]) -> dict[str, int]:
    reasons = {content: reason for encoder in encoders for content, reason in encoder.without.items()}
    return dict(Counter(reasons.values()))


def _validated(
    engine: Configured, result: Any, queries: int, k: int, candidates: int
) -> tuple[np.ndarray, np.ndarray]:
    """The answers, if ranks have no gaps, each image occurs once, and scores do not rise."""
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
