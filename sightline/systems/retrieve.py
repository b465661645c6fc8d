"""Retrieve: run a search engine on the prompts of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from dataclasses import replace as changed
from typing import TYPE_CHECKING, Annotated, Any

from sightline import registry
from sightline.errors import DataError, ExtensionError, StudyError, UsageError
from sightline.estimate import Cell, Estimate, format_cell
from sightline.extension import Configured
from sightline.pictures import Picture, decode
from sightline.records import Candidates, ImageKey, Prompt, Retrieved
from sightline.rendering.tables import Column, Table
from sightline.statistics.intervals import mean_interval
from sightline.study import reading
from sightline.study.captions import folded, wordings
from sightline.study.captions import owners as owners_of
from sightline.study.collections import images_of
from sightline.study.files import ImageFiles
from sightline.study.indexes import index_folder
from sightline.study.prompts import prompts_of
from sightline.study.running.embedding import Cached, encoders_of
from sightline.study.running.place import Place, place_of, run_work
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


RECALL = ("value", "low", "high", "n")
"""What is stored of the recall, with every answer's settings."""


@dataclass(frozen=True)
class Retrieval(StoredRankings):
    """A run of a retriever over a collection of `candidates`.

    `empty` counts prompts with empty results, `own_captions` those that equal a caption of the collection (or
    rephrase one that does), `unread` the images that could not be read, by reason. `recall` is the proportion
    of the exact first k images that the engine found, over a sample of the queries; None if it compares with
    every image. `how` says how it searched.
    """

    retriever: str
    candidates: int
    empty: int
    own_captions: int = 0
    without_own: bool = False
    unread: Mapping[str, int] = field(default_factory=dict)
    k: int = 0
    recall: Estimate | None = None
    how: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        if self.recall is None or self.recall.value is None:
            return ""
        return (
            f"Recall@{self.k} against exact search is {format_cell(self.recall)}, "
            f"checked on n = {self.recall.n:,} queries."
        )

    @property
    def notes(self) -> Sequence[str]:
        notes = list(super().notes)
        if self.own_captions and not self.without_own:
            notes.append(
                f"{self.own_captions:,} prompts are captions of this collection, word for word: an engine "
                "that reads captions, or was fitted on them, knows the answer. See --without-own."
            )
        return [*notes, *(f"Searched {each}." for each in self.how)]

    def tables(self) -> dict[str, Table]:
        columns = [
            Column("system"),
            Column("prompts"),
            Column("candidates", "images searched"),
            Column("answers"),
            Column("empty", "prompts with empty results"),
        ]
        row: list[Cell] = [self.system, self.prompts, self.candidates, self.answers, self.empty]
        if self.recall is not None:
            columns.append(Column("recall", f"recall@{self.k}", direction="higher"))
            row.append(self.recall)
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
    workers: Annotated[
        int | None,
        option("Encode and search an index with this many processes.", shown="one", least=1),
    ] = None,
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
    place = place_of(on, workers, gpus)
    refuse_name(study, system)
    engine = registry.configure("retriever", retriever)
    engine.require()
    reading.need_prompts(study)
    records = reading.prompt_records(study, prompts_of(study, suite)["prompt_id"].to_list())
    queries = list(records.values())
    candidates = with_folder(study, candidates_of(study, collection), engine)
    if place.crew:
        candidates = changed(candidates, run=Elsewhere(place))
    encoders = {name: Cached(study, each, listener, place) for name, each in encoders_of(engine)}
    meter = Meter(f"{system}: {engine.name}", len(queries), listener)
    search = engine.load(encoders or None)
    texts = wordings(study, {key: record.text for key, record in records.items()})
    owners = owners_of(texts, candidates.captions)
    indices, scores = np.full((len(queries), k), -1), np.full((len(queries), k), np.nan)
    groups = search_groups(candidates, texts, owners) if without_own else [(range(len(queries)), candidates)]
    checked, how = np.full(len(queries), np.nan), dict[str, None]()
    for group, visible in groups:
        answers = search(visible, [queries[number] for number in group], k)
        found = _validated(engine, answers, len(group), k, len(candidates.keys))
        indices[group], scores[group] = found.indices, found.scores
        if found.recall is not None:
            checked[group] = found.recall
        how |= {found.how: None} if found.how else {}
        meter.add(computed=len(group))
    recall = None if np.isnan(checked).all() else mean_interval(checked, low=0.0, high=1.0)
    settings = {"retriever": str(engine), "version": engine.spec.version, "collection": collection}
    if without_own:
        settings["without_own"] = True
    if how:
        settings["searched"] = list(how)
    if recall is not None:
        settings["recall"] = {"k": k, **{each: getattr(recall, each) for each in RECALL}}
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
        k=k,
        recall=recall,
        how=list(how),
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


def with_folder(study: Study, candidates: Candidates, engine: Configured) -> Candidates:
    """Candidates with the folder in which an engine keeps what it builds of them, if it has encoders."""
    encoders = [each for _, each in encoders_of(engine)]
    contents = [None if picture is None else picture.sha256 for picture in candidates.pictures]
    return changed(candidates, folder=index_folder(study, contents, encoders)) if encoders else candidates


@dataclass(frozen=True)
class Elsewhere:
    """Runs the parts of a search at another place; gives their results in order."""

    place: Place

    def __call__(self, function: Callable[[Any], Any], parts: Sequence[Any]) -> list[Any]:
        batches = ([numbered] for numbered in enumerate(parts))
        done = run_work(Part(function), iter(batches), self.place)
        found = dict(each for _, results in done for each in results)
        return [found[number] for number in range(len(parts))]


@dataclass(frozen=True)
class Part:
    """The work on one part of a search, by its number."""

    function: Callable[[Any], Any]
    repeatable: bool = True

    def load(self) -> Callable[[Sequence[tuple[int, Any]]], list[tuple[int, Any]]]:
        return lambda batch: [(number, self.function(part)) for number, part in batch]

    def quarantined(self, item: tuple[int, Any], reason: str) -> tuple[int, Any]:
        # Without this part the ranking would lack images, and nobody would see it.
        raise StudyError(
            f"part {item[0]} of the search cannot be done: {reason}",
            remedy="Smaller shards need less memory: shard=100000 in the retriever's parameters.",
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
        yield members, changed(candidates, captions=captions)


def _unread(encoders: Iterable[Cached]) -> dict[str, int]:
    reasons = {content: reason for encoder in encoders for content, reason in encoder.without.items()}
    return dict(Counter(reasons.values()))


def _validated(engine: Configured, result: Any, queries: int, k: int, candidates: int) -> Retrieved:
    """The answers, if ranks have no gaps, each image occurs once, and scores do not rise."""
    import numpy as np

    given = Retrieved(*result)
    indices, scores = np.asarray(given.indices), np.asarray(given.scores)
    recall = None if given.recall is None else np.asarray(given.recall, dtype=float)
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
    elif recall is not None and (recall.shape != (queries,) or (recall < 0).any() or (recall > 1).any()):
        wrong = "a recall that is not one proportion per query"
    if wrong:
        raise ExtensionError(f"{engine.name} gave {wrong}", where=engine.spec.origin)
    return Retrieved(indices, scores, recall, given.how)


def _rankings(
    queries: Sequence[Prompt], candidates: Candidates, indices: np.ndarray, scores: np.ndarray
) -> Iterator[Ranking]:
    for query, row, values in zip(queries, indices, scores, strict=True):
        n = int((row >= 0).sum())
        yield Ranking(query.key, [candidates.keys[i] for i in row[:n].tolist()], values[:n].tolist())
