"""How much of a prompt joins its parts."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Values, measure
from sightline.language import prompt_features
from sightline.records import Prompt


@measure.of_prompt(range=(0, 1), source="Poesina et al. 2025, PQPP", licence="Apache-2.0")
def conjunction_rate(prompts: Sequence[Prompt]) -> Values:
    """Share of the Treebank's words that are coordinating conjunctions: for, and, nor, but, or, yet, so."""
    values = (prompt_features.conjunction_rate(prompt.text) for prompt in prompts)
    return [NoValue("the prompt has no words") if value is None else value for value in values]
