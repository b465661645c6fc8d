"""How much of a prompt is acronyms."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Values, measure
from sightline.language import prompt_features
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source="Poesina et al. 2025, PQPP", licence="Apache-2.0")
def acronym_rate(prompts: Sequence[Prompt]) -> Values:
    """Runs of two capitals or more that are whole words, as a share of the Treebank's words.

    One token may hold two ("TV-DVD"), so that the rate can pass 1.
    """
    values = (prompt_features.acronym_rate(prompt.text) for prompt in prompts)
    return [NoValue("the prompt has no words") if value is None else value for value in values]
