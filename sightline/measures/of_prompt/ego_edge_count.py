"""How many words crowd around those of a prompt."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.measures.of_prompt._ego import PACKAGES, SOURCE, ego_values
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source=SOURCE, licence="Apache-2.0", packages=PACKAGES, feature=False)
def ego_edge_count(
    prompts: Sequence[Prompt], *, alpha: int = 2, beta: float = 0.99, vocabulary: int = 100_000
) -> Values:
    """Edges of the network around a word, mean over the prompt's words.

    Neighbours are at least `beta` times as near as the nearest of the `vocabulary` commonest words of GloVe
    (50 dimensions), `alpha` steps out; stop words and words without a vector do not count.
    """
    return ego_values(prompts, "edge_count", alpha, beta, vocabulary)
