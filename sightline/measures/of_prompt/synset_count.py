"""How many senses the words of a prompt have."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.language import prompt_features
from sightline.measures.of_prompt._resources import wordnet_3_0
from sightline.records import Prompt


@measure.of_prompt(
    range=(0, None), source="Mothe and Tanguy 2005; WordNet 3.0", licence="Apache-2.0", feature=False
)
class synset_count:
    """Senses in WordNet 3.0 of all words that are no stop words, each time they occur.

    A word is reduced by WordNet's own morphology. With `recursive` its rules are applied until something is
    found, as in NLTK before 3.9, which PQPP used; else once. WordNet itself must be on the machine.
    """

    def __init__(self, *, recursive: bool = True) -> None:
        self._wordnet = wordnet_3_0(recursive)

    def __call__(self, prompts: Sequence[Prompt]) -> Values:
        return [float(prompt_features.synset_count(prompt.text, self._wordnet)) for prompt in prompts]
