"""Networks around words by hand, and their figures against networkx."""

from __future__ import annotations

import math
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import UsageError
from sightline.language.embedding_graph import DAMPING, EmbeddingGraph, ego


def at(*degrees: float) -> np.ndarray:
    """Vectors in the plane, of different lengths, since only directions count."""
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) * np.arange(1, len(degrees) + 1)[:, None]


def network(graph: EmbeddingGraph, place: int) -> dict[int, dict[int, float]]:
    graph._learn({place})
    return graph._network(place)


def test_neighbours_by_hand() -> None:
    # cat 0, dog 10, cow 11, red 60, tan 90 degrees. Nearest to cat: dog, cos 10 = .9848; cow, cos 11 = .9816,
    # is within .99 of that and not within .999. Nearest to dog: cow, cos 1 = .9998; cat is not within .99.
    words = ["cat", "dog", "cow", "red", "tan"]
    vectors = at(0, 10, 11, 60, 90)
    near = {beta: EmbeddingGraph(words, vectors, alpha=1, beta=beta) for beta in (0.99, 0.999)}
    narrow = network(near[0.99], 0)
    assert {key: set(edges) for key, edges in narrow.items()} == {0: {1, 2}, 1: {0}, 2: {0}}
    assert network(near[0.999], 0).keys() == {0, 1}
    assert network(near[0.99], 1).keys() == {1, 2}
    assert narrow[0][1] == pytest.approx(math.cos(math.radians(10)), abs=1e-6)
    # A second step joins dog and cow, each other's nearest.
    wider = network(EmbeddingGraph(words, vectors, alpha=2, beta=0.99), 0)
    assert {key: set(edges) for key, edges in wider.items()} == {0: {1, 2}, 1: {0, 2}, 2: {0, 1}}


def test_means_over_words() -> None:
    graph = EmbeddingGraph(["cat", "dog", "cow", "red", "tan"], at(0, 10, 11, 60, 90))
    cat, tan, both, none = graph.of(["the cat", "tan", "a Cat, tan unicorn", "the unicorn"])
    assert none is None and cat is not None and tan is not None and both is not None
    # A triangle: 3 edges, 2 of its own.
    assert (cat.edge_count, cat.degree, cat.closeness, cat.betweenness) == (3, 1, 1, 0)
    assert cat.inverse_edge_frequency == pytest.approx(math.log(3 / 2))
    cosines = sum(math.cos(math.radians(angle)) for angle in (10, 11, 1))
    assert cat.edge_weight == pytest.approx(cosines, abs=1e-5)
    # tan - red, 30 degrees; red's nearest is tan again.
    assert (tan.edge_count, tan.pagerank) == (1, pytest.approx(0.5))
    assert both == pytest.approx([(x + y) / 2 for x, y in zip(cat, tan, strict=True)])
    # What was learned before changes nothing.
    assert graph.of(["the cat"]) == [cat]


def test_a_star_and_a_path_by_hand() -> None:
    star = {0: {1: 1.0, 2: 1.0, 3: 1.0}, 1: {0: 1.0}, 2: {0: 1.0}, 3: {0: 1.0}}
    found = ego(star, 0)
    # PageRank: centre c, leaf l = .0375 + .85 c / 3, c = .0375 + .85 * 3 l, so that c = .133125 / .2775.
    assert found == pytest.approx((3, 3, 0, 1, 1, 1, 0.133125 / 0.2775))
    path = {0: {1: 0.5}, 1: {0: 0.5, 2: 0.25}, 2: {1: 0.25}}
    end = ego(path, 0)
    assert end[:6] == pytest.approx((2, 0.75, math.log(2), 1 / 2, 2 / 3, 0))
    assert ego(path, 1).betweenness == 1
    assert ego({7: {}}, 7) == (0, 0, 0, 0, 0, 0, 1)


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, dict[int, float]]:
    """Connected graphs of up to seven nodes."""
    n = draw(st.integers(2, 7))
    edges = {(draw(st.integers(0, node - 1)), node) for node in range(1, n)}
    edges |= set(draw(st.lists(st.sampled_from(list(combinations(range(n), 2))), max_size=8)))
    graph: dict[int, dict[int, float]] = {node: {} for node in range(n)}
    for a, b in edges:
        graph[a][b] = graph[b][a] = draw(st.sampled_from([0.25, 0.5, 1.0]))
    return graph


@given(graphs())
def test_figures_as_networkx_has_them(graph: dict[int, dict[int, float]]) -> None:
    net = nx.Graph()
    net.add_weighted_edges_from((a, b, weight) for a, near in graph.items() for b, weight in near.items())
    edges, weight = net.number_of_edges(), net.size("weight")
    degree, betweenness = nx.degree_centrality(net), nx.betweenness_centrality(net)
    rank = nx.pagerank(net, alpha=DAMPING, tol=1e-12, max_iter=1000)
    for node in graph:
        closeness = nx.closeness_centrality(net, node)
        theirs = (degree[node], closeness, betweenness[node], rank[node])
        assert ego(graph, node) == pytest.approx((edges, weight, math.log(edges / len(graph[node])), *theirs))


def test_words_with_nothing_near_stand_alone() -> None:
    for vectors in (at(0, 180), np.array([[1.0, 0], [0, 0]])):
        assert EmbeddingGraph(["cat", "dog"], vectors).of(["dog"]) == [(0, 0, 0, 0, 0, 0, 1)]


def test_what_makes_no_network_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for alpha, beta in ((0, 0.9), (1, 0.0), (1, 1.1)):
        with pytest.raises(UsageError, match="no network"):
            EmbeddingGraph(["cat"], at(0), alpha=alpha, beta=beta)
    monkeypatch.setattr("sightline.language.embedding_graph.MOST", 3)
    with pytest.raises(UsageError, match="more than 3 words"):
        EmbeddingGraph(["a1", "b1", "c1", "d1"], at(0, 1, 2, 3), beta=0.5).of(["a1"])
