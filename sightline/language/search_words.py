"""Words as search compares them."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")


def search_words(text: str) -> list[str]:
    """The runs of letters and digits of a text in lower case, in order; none is left out."""
    return _WORD.findall(text.lower())
