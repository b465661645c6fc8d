"""Dense search over images through an index: for collections too large to compare with every image."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import sqrt
from pathlib import Path

import numpy as np

from sightline.errors import DataError, UsageError
from sightline.estimate import plural
from sightline.extension import JointEncoder, needs, retriever
from sightline.records import Candidates, Prompt, Retrieved
from sightline.statistics.search import top_k
from sightline.systems.retrievers._collected import Collected, collected
from sightline.systems.retrievers._ranking import exactly, need_pictures, nothing, placed, speaking
from sightline.systems.retrievers._shards import (
    FEW,
    Effort,
    Recipe,
    Run,
    Shard,
    build_missing,
    efforts,
    hnsw_effort,
    ivf_pq_recipe,
    locally,
    search,
    shards_of,
)

FROM_SIZE = 50_000
SHARD = 500_000
CHECKED = 100
MARGIN = 1.645
"""Standard errors by which a sample must be above the wanted recall: that of all is so 19 times in 20."""
MOST = 4
"""Where more than one image in so many is asked for, an index saves nothing."""
EXAMPLE = {"from_size": 1}


@retriever(
    source="Malkov and Yashunin 2020, by FAISS", licence="Apache-2.0", extra="faiss", parameters=EXAMPLE
)
def hnsw(
    candidates: Candidates,
    queries: Sequence[Prompt],
    k: int,
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    from_size: int = FROM_SIZE,
    recall: float = 0.95,
    m: int = 32,
    ef_construction: int = 80,
    ef: int | None = None,
    shard: int = SHARD,
    checked: int = CHECKED,
    seed: int = 0,
) -> Retrieved:
    """Ranks images as `exact` does, among those that a navigable graph of the collection leads to.

    Hierarchical navigable small worlds: each image is linked to its nearest, and a search goes from link to
    link. What it leads to is ranked by exact cosines; unreadable images, zero vectors, ties and empty places
    are as with `exact`. `encoder` puts texts and images into one space. Fewer than `from_size` images are
    searched exactly. `recall` is the wanted proportion of the exact first k that is found. `m` is the number
    of links per image. `ef_construction` is how many images are in view when links are chosen. `ef` is how
    many are in view of a search; without it, it is doubled until a sample of the queries has the wanted
    recall. `shard` is the largest number of images per index and bounds the memory. `checked` is the number
    of queries in that sample, and of the others on which the reported recall rests. `seed` draws them.
    """
    _need_positive("hnsw", m=m - 1, ef_construction=ef_construction, ef=1 if ef is None else ef)

    def plan(vectors: Collected) -> tuple[Recipe, Effort | None]:
        return Recipe("hnsw", m, ef_construction), None if ef is None else hnsw_effort(ef, k)

    settings = _Settings("hnsw", from_size, recall, shard, checked, seed)
    return settings.search(candidates, queries, k, encoder, plan)


@retriever(
    source="Jégou et al. 2011; André et al. 2017, by FAISS",
    licence="Apache-2.0",
    extra="faiss",
    parameters=EXAMPLE,
)
def ivf_pq(
    candidates: Candidates,
    queries: Sequence[Prompt],
    k: int,
    *,
    encoder: JointEncoder = needs("encoder", "clip"),
    from_size: int = FROM_SIZE,
    recall: float = 0.95,
    lists: int | None = None,
    code_size: int | None = None,
    probes: int | None = None,
    proposals: int | None = None,
    shard: int = SHARD,
    checked: int = CHECKED,
    seed: int = 0,
) -> Retrieved:
    """Ranks images as `exact` does, among those whose compressed vectors are near the query's.

    An inverted file with product quantization: images are grouped into lists of similar ones, and vectors are
    compressed to codes of 4 bits per piece. The best by their codes are ranked by exact cosines; unreadable
    images, zero vectors, ties and empty places are as with `exact`. `encoder` puts texts and images into one
    space. Fewer than `from_size` images are searched exactly. `recall` is the wanted proportion of the exact
    first k that is found. `lists` is the number of lists, by default twice the root of the number of images.
    `code_size` is the number of bytes per vector, by default one for four dimensions. `probes` is the number
    of lists whose codes are compared. `proposals` is the number of images per shard that are ranked exactly;
    without these two, both are raised until a sample of the queries has the wanted recall. `shard` is the
    largest number of images per index and bounds the memory. `checked` is the number of queries in that
    sample, and of the others on which the reported recall rests. `seed` draws them.
    """
    _need_positive("ivf_pq", lists=lists, code_size=code_size, probes=probes, proposals=proposals)

    def plan(vectors: Collected) -> tuple[Recipe, Effort | None]:
        n, wide = vectors.rows.shape
        recipe = ivf_pq_recipe(min(n, shard), wide, lists, code_size)
        if probes is None and proposals is None:
            return recipe, None
        return recipe, Effort(probes or recipe.first, max(k, proposals or 10 * k))

    settings = _Settings("ivf_pq", from_size, recall, shard, checked, seed)
    return settings.search(candidates, queries, k, encoder, plan)


Plan = Callable[[Collected], tuple[Recipe, Effort | None]]
"""How the index of a collection is built, and how hard to look, if the user says so."""


class _Settings:
    """What all approximate engines share: when to use an index, and how it is compared with exact search."""

    def __init__(self, name: str, from_size: int, recall: float, shard: int, checked: int, seed: int) -> None:
        if not 0 < recall <= 1:
            raise UsageError(f"{name}: recall={recall:g}", remedy="A proportion above 0, up to 1.")
        _need_positive(name, from_size=from_size, shard=shard, checked=checked)
        self.name, self.from_size, self.recall = name, from_size, recall
        self.shard, self.checked, self.seed = shard, checked, seed

    def search(
        self,
        candidates: Candidates,
        queries: Sequence[Prompt],
        k: int,
        encoder: JointEncoder,
        plan: Plan,
    ) -> Retrieved:
        there = need_pictures(candidates)
        if not there or not queries or k < 1:
            return Retrieved(*nothing(len(queries), k))
        texts, asked = speaking(encoder.text([query.text for query in queries]))
        exact = self._why_exact(len(there), k)
        if exact:
            return Retrieved(*exactly(candidates, texts, asked, len(queries), k, encoder), None, exact)
        made = tempfile.TemporaryDirectory() if candidates.folder is None else nullcontext(candidates.folder)
        with made as folder:
            vectors = collected(Path(folder), candidates.pictures, encoder)
            if texts.shape[1] != vectors.rows.shape[1]:
                raise DataError(
                    f"queries have {texts.shape[1]} dimensions and rows {vectors.rows.shape[1]}",
                    remedy="Embed both with the same encoder.",
                )
            if not len(asked):
                return Retrieved(*nothing(len(queries), k), None, "exact: no query has a vector")
            recipe, effort = plan(vectors)
            index = _Index(vectors, shards_of(vectors, recipe, self.shard, Path(folder)), k, candidates)
            return self._through(index, effort, texts, asked, len(queries))

    def _why_exact(self, images: int, k: int) -> str:
        """Why the images are compared one by one, if they are."""
        if images < self.from_size:
            return f"exact: {images:,} images are fewer than from_size={self.from_size:,}"
        if images < MOST * k:
            return f"exact: k={k:,} of {images:,} images is too many for an index"
        return ""

    def _through(
        self, index: _Index, effort: Effort | None, texts: np.ndarray, asked: np.ndarray, queries: int
    ) -> Retrieved:
        build_missing(index.shards, index.run)
        drawn = np.random.default_rng(self.seed).permutation(len(texts))
        # Those that the effort is chosen on would show a recall that chance has raised.
        half = 0 if effort is not None else min(self.checked, len(texts) // 2)
        chosen_on, held_out = drawn[:half], drawn[half : half + self.checked]
        how = ""
        if effort is None:
            on = chosen_on if half else held_out
            effort, reached = index.least_effort(texts[on], self.recall)
            how = f", chosen on {plural(len(on), 'sampled prompt')} for a recall of {self.recall:g}"
            how += "" if reached else ", which was not reached"
        indices, scores = index.search(texts, effort, index.run)
        recall = np.full(queries, np.nan)
        recall[asked[held_out]] = _recall(indices[held_out], index.exact(texts[held_out]))
        found = placed((indices, scores), asked, np.arange(len(index.candidates.keys)), queries)
        return Retrieved(*found, recall, f"{index.described(effort)}{how}")


class _Index:
    """The shards of a collection, searched together."""

    def __init__(self, vectors: Collected, shards: Sequence[Shard], k: int, candidates: Candidates) -> None:
        self.vectors, self.shards, self.k, self.candidates = vectors, shards, k, candidates
        self.run = candidates.run or locally

    def search(self, texts: np.ndarray, effort: Effort, run: Run) -> tuple[np.ndarray, np.ndarray]:
        return self.vectors.images(*search(self.shards, texts, self.k, effort, run), self.k)

    def exact(self, texts: np.ndarray) -> np.ndarray:
        return self.vectors.images(*top_k(texts, self.vectors.rows, self.k), self.k)[0]

    def least_effort(self, texts: np.ndarray, wanted: float) -> tuple[Effort, bool]:
        """The least effort with the wanted recall on these queries, or the greatest, and whether it has."""
        true = self.exact(texts)
        steps = efforts(self.shards, self.k)
        for effort in steps:
            # A few queries, many times: not worth the way to other machines.
            each = _recall(self.search(texts, effort, locally)[0], true)
            # The first of many tries to pass may have passed by luck: it has to by a margin.
            if each.mean() - MARGIN * each.std() / sqrt(len(each)) >= wanted:
                return effort, True
        return steps[-1], False

    def described(self, effort: Effort) -> str:
        """How it searches, in words."""
        family, first, second = self.shards[0].recipe
        where = f"{family}, {plural(len(self.shards), 'shard')} of {plural(len(self.vectors.rows), 'vector')}"
        if all(shard.stop - shard.start < FEW for shard in self.shards):
            return f"{where}, too few to build an index of"
        if family == "hnsw":
            return f"{where}, {plural(first, 'link')}, ef {effort.breadth:,}"
        probes = f"{min(effort.breadth, first):,} of {plural(first, 'list')}"
        return f"{where}, {probes}, {plural(second, 'byte')} per vector, {effort.proposals:,} proposals"


def _recall(found: np.ndarray, true: np.ndarray) -> np.ndarray:
    """For each query the proportion of the true images that were found."""
    hits = [len(np.intersect1d(row[row >= 0], of[of >= 0])) for row, of in zip(found, true, strict=True)]
    return np.array(hits) / np.maximum((true >= 0).sum(axis=1), 1)


def _need_positive(name: str, **numbers: int | None) -> None:
    for parameter, number in numbers.items():
        if number is not None and number < 1:
            least = 2 if parameter == "m" else 1
            raise UsageError(
                f"{name}: {parameter}={number + least - 1}", remedy=f"{parameter} is {least} or more."
            )
