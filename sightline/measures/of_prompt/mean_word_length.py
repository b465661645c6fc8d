"""How long the words of a prompt are."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Values, measure
from sightline.records import Prompt


@measure.of_prompt(range=(1, None), source="Mothe and Tanguy 2005", licence="Apache-2.0")
def mean_word_length(prompts: Sequence[Prompt]) -> Values:
    """Mean number of characters of the prompt's whitespace-separated pieces.

    Punctuation counts with the piece it touches, as in PQPP's published feature.
    """
    return [_mean_length(prompt.text.split()) for prompt in prompts]


def _mean_length(pieces: Sequence[str]) -> float | NoValue:
    if not pieces:
        return NoValue("the prompt has no words")
    return sum(map(len, pieces)) / len(pieces)
