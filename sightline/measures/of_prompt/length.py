"""How long a prompt is: characters, words, and the length of its words."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from sightline.extension import NoValue, Values, measure
from sightline.language import prompt_features
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source="common practice", licence="Apache-2.0")
def characters(prompts: Sequence[Prompt]) -> Values:
    """Number of characters of the prompt, in composed Unicode form and without outer white space.

    Composing (NFC) makes the count independent of how a keyboard happened to spell an accent.
    """
    return [float(len(unicodedata.normalize("NFC", prompt.text.strip()))) for prompt in prompts]


@measure.of_prompt(range=(0, None), source="common practice", licence="Apache-2.0")
def words(prompts: Sequence[Prompt]) -> Values:
    """Number of whitespace-separated tokens of the prompt.

    Punctuation stays with the word it touches: "a cat, sleeping" has three words. An empty prompt has none.
    """
    return [float(len(prompt.text.split())) for prompt in prompts]


@measure.of_prompt(range=(0, None), source="Poesina et al. 2025, PQPP", licence="Apache-2.0")
def word_count(prompts: Sequence[Prompt]) -> Values:
    """Number of Treebank tokens that are not punctuation: "a cat, isn't it?" has five.

    The feature published with PQPP; `words` counts what white space separates.
    """
    return [float(prompt_features.word_count(prompt.text)) for prompt in prompts]


@measure.of_prompt(range=(1, None), source="Mothe and Tanguy 2005", licence="Apache-2.0")
def mean_word_length(prompts: Sequence[Prompt]) -> Values:
    """Mean number of characters of the prompt's whitespace-separated tokens.

    Punctuation counts with the token it touches, as in PQPP's published feature.
    """
    tokens = (prompt.text.split() for prompt in prompts)
    return [
        sum(map(len, each)) / len(each) if each else NoValue("the prompt has no words") for each in tokens
    ]
