"""How much of a prompt is names."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import NoValue, Value, Values, measure
from sightline.language.prompt_features import word_count
from sightline.measures.of_prompt._resources import parser
from sightline.records import Prompt

NAMES = ("NNP", "NNPS")


@measure.of_prompt(
    range=(0, None),
    source="Poesina et al. 2025, PQPP",
    licence="Apache-2.0",
    packages=("spacy",),
    feature=False,
)
class proper_noun_rate:
    """Proper nouns (NNP and NNPS), as a share of the Treebank's words.

    Tags are those of spaCy's small English model, where PQPP had NLTK's perceptron; the evidence says which.
    spaCy cuts some tokens finer than the Treebank, so that the rate can pass 1.
    """

    def __init__(self) -> None:
        self._parser = parser()

    def __call__(self, prompts: Sequence[Prompt]) -> Values:
        parsed = self._parser([prompt.text for prompt in prompts])
        return [
            self._rate(sum(token.tag in NAMES for token in tokens), word_count(prompt.text))
            for prompt, tokens in zip(prompts, parsed, strict=True)
        ]

    def _rate(self, names: int, of: int) -> Value | NoValue:
        if not of:
            return NoValue("the prompt has no words")
        return Value(names / of, {"tagger": self._parser.name})
