"""Prompts that are captions of the images they are asked of: an engine finds them by the question itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from sightline.study import reading
from sightline.study.study import Study

WORD = re.compile(r"\w+")


def folded(text: str) -> str:
    """A text without what does not tell it from another: case, punctuation, spaces."""
    return " ".join(WORD.findall(text.casefold())) or text.strip()


def wordings(study: Study, prompts: Mapping[int, str]) -> list[set[str]]:
    """For each prompt, by id with its text, what it says and what the prompts say that it rephrases."""
    import polars as pl

    links = reading.links(study).filter(pl.col("kind") == "rephrases")
    originals: dict[int, list[int]] = {}
    for prompt, original in links.select("prompt_id", "to_prompt_id").iter_rows():
        originals.setdefault(prompt, []).append(original)
    texts = dict(reading.prompts(study).select("prompt_id", "text").iter_rows()) if originals else {}
    found = []
    for prompt, text in prompts.items():
        said, seen, open_ = {folded(text)}, {prompt}, list(originals.get(prompt, ()))
        while open_:
            original = open_.pop()
            if original not in seen:
                seen.add(original)
                said.add(folded(texts[original]))
                open_ += originals.get(original, ())
        found.append(said)
    return found


def owners(said: Iterable[set[str]], captions: Sequence[Sequence[str]]) -> list[list[int]]:
    """For each prompt's wordings the images, by number, that have one of them for a caption."""
    known: dict[str, list[int]] = {}
    for number, of_image in enumerate(captions):
        for caption in {folded(each) for each in of_image}:
            known.setdefault(caption, []).append(number)
    return [sorted({owner for text in texts for owner in known.get(text, ())}) for texts in said]
