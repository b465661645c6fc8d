"""How many words a prompt has."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source="common practice", licence="Apache-2.0")
def words(prompts: Sequence[Prompt]) -> Values:
    """Number of whitespace-separated pieces of the prompt.

    Punctuation stays with the word it touches: "a cat, sleeping" has three words. An empty prompt has none.
    """
    return [float(len(prompt.text.split())) for prompt in prompts]
