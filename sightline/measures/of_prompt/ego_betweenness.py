"""How often a word lies between those around it."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.measures.of_prompt._ego import PACKAGES, SOURCE, ego_values
from sightline.records import Prompt


@measure.of_prompt(range=(0, 1), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_betweenness(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Betweenness centrality of a word in the network around it, mean over the prompt's words.

    Neighbours are at least `beta` times as near as the nearest of the `vocabulary` commonest words of GloVe
    (50 dimensions), `alpha` steps out; stop words and words without a vector do not count.
    """
    return ego_values(prompts, "betweenness", alpha, beta, vocabulary)
