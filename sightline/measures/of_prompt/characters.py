"""How long a prompt is."""

from __future__ import annotations

from collections.abc import Sequence

from sightline.extension import Values, measure
from sightline.records import Prompt


@measure.of_prompt(range=(0, None), source="common practice", licence="Apache-2.0")
def characters(prompts: Sequence[Prompt]) -> Values:
    """Number of characters of the prompt, in composed Unicode form and without outer white space.

    Composing (NFC) makes the count independent of how a keyboard happened to spell an accent.
    """
    import unicodedata

    return [float(len(unicodedata.normalize("NFC", prompt.text.strip()))) for prompt in prompts]
