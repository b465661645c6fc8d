"""How specific words are, from the graph of their nearest words in a space of word vectors.

Source: Arabzadeh, Zarrinkalam, Jovanovic and Bagheri, Neural embedding-based metrics for pre-retrieval query
performance prediction, ECIR 2020. What is left open there is decided as follows: an edge joins a word and a
neighbour, whichever found the other, and weighs their cosine; a word that was reached is expanded by its own
best similarity; paths count edges, and PageRank follows edges by their weight with damping 0.85.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.errors import UsageError
from sightline.language.prompt_features import STOP_WORDS
from sightline.language.tokens import words
from sightline.language.vectors import INDEX, VECTORS, in_package

Graph = Mapping[int, Mapping[int, float]]
"""Word -> neighbour -> weight, in both directions."""

DAMPING = 0.85
# Words of one product with the whole space: 64 MB of float32 for 100,000 words.
TOGETHER = 160
MOST = 2_000
"""Words of a network beyond which it says nothing about a word, and takes minutes."""


class Ego(NamedTuple):
    """The ego network of a word in numbers."""

    edge_count: float
    edge_weight: float
    inverse_edge_frequency: float
    degree: float
    closeness: float
    betweenness: float
    pagerank: float


class EmbeddingGraph:
    """Networks around words: all words at least `beta` times as near as the nearest, `alpha` steps out."""

    def __init__(
        self, vocabulary: Sequence[str], vectors: NDArray[np.floating], *, alpha: int = 2, beta: float = 0.99
    ) -> None:
        if alpha < 1 or not 0 < beta <= 1:
            raise UsageError(
                f"alpha={alpha} with beta={beta} makes no network",
                remedy="alpha is 1 step or more, beta above 0 and at most 1.",
            )
        length = np.linalg.norm(vectors.astype(np.float32), axis=1, keepdims=True)
        self._unit = vectors.astype(np.float32) / np.where(length > 0, length, 1)
        self._place = {word: number for number, word in enumerate(vocabulary)}
        self._alpha, self._beta = alpha, beta
        self._nearest: dict[int, dict[int, float]] = {}
        self._egos: dict[int, Ego] = {}

    def of(self, texts: Sequence[str]) -> list[Ego | None]:
        """Mean over the words of each text that are in the space and no stop words; None where none is."""
        places = [self._places(text) for text in texts]
        self._learn({place for listed in places for place in listed})
        return [
            Ego(*np.mean([self._egos[place] for place in listed], axis=0).tolist()) if listed else None
            for listed in places
        ]

    def _places(self, text: str) -> list[int]:
        lowered = (word.lower() for word in words(text))
        return [self._place[word] for word in lowered if word not in STOP_WORDS and word in self._place]

    def _learn(self, asked: Collection[int]) -> None:
        """Neighbours of many words at once, since one large product is far quicker than many small ones."""
        new = sorted(place for place in asked if place not in self._egos)
        frontier = new
        for _ in range(self._alpha):
            self._search(frontier)
            frontier = sorted({other for place in frontier for other in self._nearest[place]})
        for place in new:
            self._egos[place] = ego(self._network(place), place)

    def _search(self, places: Sequence[int]) -> None:
        unknown = [place for place in places if place not in self._nearest]
        for start in range(0, len(unknown), TOGETHER):
            chosen = unknown[start : start + TOGETHER]
            cosines = self._unit[chosen] @ self._unit.T
            cosines[np.arange(len(chosen)), chosen] = -1
            best = cosines.max(axis=1)
            for place, row, most in zip(chosen, cosines, best, strict=True):
                near = np.flatnonzero(row >= self._beta * most) if most > 0 else np.zeros(0, np.int64)
                self._nearest[place] = {int(other): float(row[other]) for other in near}

    def _network(self, place: int) -> dict[int, dict[int, float]]:
        graph: dict[int, dict[int, float]] = {place: {}}
        frontier = [place]
        for _ in range(self._alpha):
            reached = []
            for one in frontier:
                for other, weight in self._nearest[one].items():
                    if other not in graph:
                        graph[other] = {}
                        reached.append(other)
                    graph[one][other] = graph[other][one] = weight
            if len(graph) > MOST:
                raise UsageError(
                    f"the network around a word has more than {MOST} words",
                    remedy="Raise beta, or lower alpha.",
                )
            frontier = reached
        return graph


def ego(graph: Graph, of: int) -> Ego:
    """Edges, their weight, ln(edges / degree), degree / (n-1), closeness, betweenness and PageRank of a node.

    Closeness is (n-1) / sum of distances; betweenness the proportion of shortest paths between others that
    pass, over (n-1)(n-2)/2 pairs. A word without neighbours has 0 of each, and all of the PageRank. On
    networks of a few words networkx has the same figures, some hundred times more slowly:
    docs/design-notes.md.
    """
    n = len(graph)
    if n < 2:
        return Ego(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
    edges = sum(map(len, graph.values())) / 2
    weight = sum(sum(near.values()) for near in graph.values()) / 2
    degree = len(graph[of])
    away, paths = _paths(graph, of)
    closeness, between = (n - 1) / sum(away.values()), _betweenness(graph, of, away, paths)
    rank = _pagerank(graph)[of]
    return Ego(edges, weight, math.log(edges / degree), degree / (n - 1), closeness, between, rank)


def _paths(graph: Graph, start: int) -> tuple[dict[int, int], dict[int, int]]:
    """How many edges each node is away, and by how many shortest paths it is reached."""
    away, paths = {start: 0}, {start: 1}
    frontier = [start]
    while frontier:
        reached = []
        for one in frontier:
            for other in graph[one]:
                if other not in away:
                    away[other], paths[other] = away[one] + 1, 0
                    reached.append(other)
                if away[other] == away[one] + 1:
                    paths[other] += paths[one]
        frontier = reached
    return away, paths


def _betweenness(graph: Graph, of: int, away: Mapping[int, int], paths: Mapping[int, int]) -> float:
    n = len(graph)
    if n < 3:
        return 0.0
    passing = 0.0
    for start in graph:
        if start == of:
            continue
        far, ways = _paths(graph, start)
        for end in graph:
            if end not in (start, of) and far[end] == away[start] + away[end]:
                passing += paths[start] * paths[end] / ways[end]
    # Each pair was met from both ends.
    return passing / ((n - 1) * (n - 2))


def _pagerank(graph: Graph) -> dict[int, float]:
    nodes = sorted(graph)
    number = {node: row for row, node in enumerate(nodes)}
    step = np.zeros((len(nodes), len(nodes)))
    for node, near in graph.items():
        total = sum(near.values())
        for other, weight in near.items():
            step[number[other], number[node]] = weight / total
    # Small networks: the equation is solved instead of iterated.
    base = np.full(len(nodes), (1 - DAMPING) / len(nodes))
    rank = np.linalg.solve(np.eye(len(nodes)) - DAMPING * step, base)
    return dict(zip(nodes, rank.tolist(), strict=True))


@cache
def carried(*, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000) -> EmbeddingGraph:
    """The graph over the commonest words of the vectors that the package of GloVe carries.

    The paper took vectors of word2vec, which no package carries. Raises MissingPackage where there is none.
    """
    import polars as pl

    listed = pl.read_parquet(in_package(*INDEX))["index"].head(vocabulary).to_list()
    vectors = np.load(in_package(*VECTORS), mmap_mode="r", allow_pickle=False)[: len(listed)]
    return EmbeddingGraph(listed, vectors, alpha=alpha, beta=beta)
