"""Indexes of FAISS over a collection in shards: built once, kept on disk, searched apart, merged exactly.

An index only proposes: what it proposes is ranked by true products with the memory-mapped vectors, so that
scores and ties are those of exact search, and shards are merged as if there were one. A shard is built by one
thread and every query is searched by itself: the result depends neither on cores nor on machines.
"""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import pairwise
from math import ceil, sqrt
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from sightline.cores import cores
from sightline.errors import StudyError
from sightline.statistics.search import merged, top_k_of
from sightline.systems.retrievers._collected import Collected

Rankings = tuple[np.ndarray, np.ndarray]
Run = Callable[[Callable[[Any], Any], Sequence[Any]], Iterable[Any]]

QUERIES = 256
"""Queries of one piece of work."""
FEW = 1024
"""Fewer vectors are too few to train on, and are proposed all."""
ADDED = 16_384
"""Vectors added to an index at once, so that no more of the memory map is copied."""
TRAINED = 64
"""Vectors per list that lists are trained on."""
SHA = 32
"""A file ends with so many bytes: the SHA-256 of those before."""


class Recipe(NamedTuple):
    """How an index is built: m links per vector found among `breadth`, or lists and bytes per vector."""

    family: str
    first: int
    second: int


class Shard(NamedTuple):
    """A part of a collection: rows from start to stop of a file of vectors, and the file of their index."""

    vectors: str
    start: int
    stop: int
    wide: int
    recipe: Recipe
    file: str


class Effort(NamedTuple):
    """How hard to look: lists to search or vectors to keep in view, and proposals to rank exactly."""

    breadth: int
    proposals: int


class Piece(NamedTuple):
    """Queries to search a shard for."""

    shard: Shard
    queries: np.ndarray
    k: int
    effort: Effort


def _faiss() -> Any:
    """FAISS, untyped: what it says of its own types is incomplete."""
    import faiss

    return faiss


def shards_of(vectors: Collected, recipe: Recipe, size: int, folder: Path) -> list[Shard]:
    """The shards of a collection, about equal and none above `size`; an index has a name by its content."""
    faiss = _faiss()

    n, wide = vectors.rows.shape
    ends = np.linspace(0, n, max(1, ceil(n / size)) + 1).astype(int).tolist()
    made = []
    for start, stop in pairwise(ends):
        content = [vectors.digest, start, stop, *recipe, faiss.__version__]
        name = hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
        place = str(folder / f"{name}.faiss")
        made.append(Shard(str(vectors.file), start, stop, wide, recipe, place))
    return made


def locally(work: Callable[[Any], Any], pieces: Sequence[Any]) -> Iterable[Any]:
    """Work done by threads of this process: FAISS and NumPy compute without Python's lock."""
    with ThreadPoolExecutor(cores()) as pool:
        yield from pool.map(work, pieces)


def build_missing(shards: Sequence[Shard], run: Run) -> int:
    """Build the indexes that are not there or are damaged; how many were."""
    missing = [shard for shard in shards if not _whole(Path(shard.file))]
    return len(list(run(build, missing))) if missing else 0


def search(shards: Sequence[Shard], queries: np.ndarray, k: int, effort: Effort, run: Run) -> Rankings:
    """The first k vectors of each query among those that the shards propose."""
    starts = range(0, len(queries), QUERIES)
    pieces = [Piece(each, queries[at : at + QUERIES], k, effort) for each in shards for at in starts]
    found = list(run(search_shard, pieces))
    parts = []
    for number in range(len(starts)):
        # All shards propose for the same queries; a shard's rows are numbered in the collection already.
        parts.append(merged(found[number :: len(starts)], k))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def efforts(shards: Sequence[Shard], k: int) -> list[Effort]:
    """Ever greater efforts, each about twice the one before, up to looking at everything."""
    most = max(shard.stop - shard.start for shard in shards)
    if shards[0].recipe.family == "hnsw":
        return [hnsw_effort(min(most, max(16, k) << step), k) for step in range(_steps(most, max(16, k)))]
    lists = shards[0].recipe.first
    wide = [min(lists, 4 << step) for step in range(_steps(lists, 4))]
    made = [Effort(probes, min(most, max(64, 4 * k) << step // 2)) for step, probes in enumerate(wide)]
    while made[-1].proposals < most:
        made.append(Effort(lists, min(most, 2 * made[-1].proposals)))
    return made


def hnsw_effort(breadth: int, k: int) -> Effort:
    """Of the vectors in view a few more than k: their products are known but for rounding."""
    return Effort(max(breadth, k + 16), k + 16)


def _steps(most: int, first: int) -> int:
    """How often a number is doubled until it is `most` or more, the first time included."""
    return 1 + max(0, ceil(np.log2(most / first)))


def build(shard: Shard) -> str:
    """Build the index of a shard, in one thread, and put it into its file; gives the file's name."""
    faiss = _faiss()
    from threadpoolctl import threadpool_limits

    rows = _rows(shard)
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        with threadpool_limits(1, "blas"):
            index = _trained(shard.recipe, rows)
            for start in range(0, len(rows), ADDED):
                index.add(_padded(rows[start : start + ADDED], index.d))
    finally:
        faiss.omp_set_num_threads(before)
    place = Path(shard.file)
    part = place.with_name(f".part-{uuid.uuid4().hex}")
    try:
        faiss.write_index(index, str(part))
        with part.open("rb+") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
            file.write(digest)
        os.replace(part, place)
    finally:
        part.unlink(missing_ok=True)
    return shard.file


def search_shard(piece: Piece) -> Rankings:
    """The first k of each query among the proposals of one shard's index, with true products."""
    faiss = _faiss()

    shard, queries, k, effort = piece
    index = _opened(shard.file)
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        _, proposed = index.search(
            _padded(queries, index.d),
            min(effort.proposals, shard.stop - shard.start),
            params=_parameters(index, effort),
        )
    finally:
        faiss.omp_set_num_threads(before)
    indices, scores = top_k_of(queries, _rows(shard), proposed, k)
    return np.where(indices >= 0, indices + shard.start, -1), scores


def _trained(recipe: Recipe, rows: np.ndarray) -> Any:
    """An empty index, trained on rows taken evenly where it has to be."""
    faiss = _faiss()

    n, wide = rows.shape
    if n < FEW:
        return faiss.IndexFlatIP(wide)
    if recipe.family == "hnsw":
        index = faiss.IndexHNSWFlat(wide, recipe.first, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = recipe.second
        return index
    lists, pieces = min(recipe.first, n // 16), 2 * recipe.second
    # Zeros at the end change no product, and make every width one that can be cut into equal pieces.
    wide = ceil(wide / pieces) * pieces
    index = faiss.index_factory(wide, f"IVF{lists},PQ{pieces}x4fs", faiss.METRIC_INNER_PRODUCT)
    index.cp.niter, index.cp.max_points_per_centroid = 10, TRAINED
    # FAISS would warn of lists with fewer than 39 vectors each; what counts here is the recall.
    index.cp.min_points_per_centroid = 1
    index.train(_padded(rows[:: max(1, n // (TRAINED * lists))], wide))
    return index


def ivf_pq_recipe(rows: int, wide: int, lists: int | None, size: int | None) -> Recipe:
    """Lists of twice the root of the rows and a byte per four dimensions, unless given."""
    return Recipe("ivf_pq", lists or max(1, round(2 * sqrt(rows))), size or ceil(wide / 4))


def _parameters(index: Any, effort: Effort) -> Any:
    faiss = _faiss()

    if isinstance(index, faiss.IndexFlat):
        return None
    if isinstance(index, faiss.IndexHNSW):
        return faiss.SearchParametersHNSW(efSearch=effort.breadth)
    return faiss.SearchParametersIVF(nprobe=min(effort.breadth, index.nlist))


def _rows(shard: Shard) -> np.ndarray:
    place = 4 * shard.wide * shard.start
    shape = (shard.stop - shard.start, shard.wide)
    return np.asarray(np.memmap(shard.vectors, dtype="<f4", mode="r", offset=place, shape=shape))


def _padded(rows: np.ndarray, wide: int) -> np.ndarray:
    rows = np.ascontiguousarray(rows, dtype=np.float32)
    return rows if rows.shape[1] == wide else np.pad(rows, ((0, 0), (0, wide - rows.shape[1])))


def _whole(file: Path) -> bool:
    """Whether an index is there as it was written: FAISS itself would read most damage without a word."""
    try:
        with file.open("rb") as opened:
            size = opened.seek(0, os.SEEK_END) - SHA
            opened.seek(0)
            digest = hashlib.sha256()
            for start in range(0, size, 1 << 20):
                digest.update(opened.read(min(1 << 20, size - start)))
            return size > 0 and opened.read() == digest.digest()
    except OSError:
        return False


_opening = Lock()


def _opened(file: str) -> Any:
    try:
        changed = os.stat(file).st_mtime_ns
    except OSError as error:
        raise StudyError(
            f"a worker cannot read an index ({error.strerror})",
            where=file,
            remedy="Workers on other machines need the study's folder under the same path.",
        ) from None
    # One at a time: threads that want the same index share it.
    with _opening:
        return _read(file, changed)


@lru_cache(maxsize=2)
def _read(file: str, changed: int) -> Any:
    """An index, memory-mapped where this FAISS can; only the last two stay open."""
    faiss = _faiss()

    try:
        index = faiss.read_index(file, getattr(faiss, "IO_FLAG_MMAP_IFC", 0))
    except RuntimeError as error:
        raise StudyError(
            f"an index cannot be read ({str(error).splitlines()[0]})",
            where=file,
            remedy="Delete the file: it is built again when it is needed.",
        ) from None
    if isinstance(index, faiss.IndexIVFPQFastScan):
        # Query by query: with the other ways what is proposed could depend on the number of threads.
        index.implem = 11
    return index
