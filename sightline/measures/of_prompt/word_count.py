"""How many words a prompt has, the way the Penn Treebank separates them."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.language import prompt_features
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source="Poesina et al. 2025, PQPP", licence="Apache-2.0")
def word_count(prompts: Sequence[Prompt]) -> Values:
    """Number of Treebank tokens that are no punctuation: "a cat, isn't it?" has five.

    The feature published with PQPP; `words` counts what white space separates.
    """
    return [float(prompt_features.word_count(prompt.text)) for prompt in prompts]
