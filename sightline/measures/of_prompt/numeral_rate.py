"""How much of a prompt is numbers."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Values, measure
from sightline.language import prompt_features
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source="Poesina et al. 2025, PQPP", licence="Apache-2.0")
def numeral_rate(prompts: Sequence[Prompt]) -> Values:
    """Dates and whole numbers at word boundaries, as a share of the Treebank's words.

    Dates are 2020-01-31 and 31/01/2020. A token such as "3-4" holds two numbers, so that the rate can pass 1.
    """
    values = (prompt_features.numeral_rate(prompt.text) for prompt in prompts)
    return [NoValue("the prompt has no words") if value is None else value for value in values]
