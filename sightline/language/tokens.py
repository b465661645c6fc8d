"""Text in words the way the Penn Treebank separates them, as features of prompts are defined on them."""

from __future__ import annotations

import re
import string

_CLOSERS = " \t\n)]}>'»”’"
# A sentence ends where a capital follows; without a trained model "St. Louis" is cut as well.
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[\"'(]?[A-Z])")
# What stands for itself wherever it occurs; a comma or colon before a digit belongs to the number.
_ALONE = re.compile(r"(\.{2,}|--|''|``|[;@#$%&?!()\[\]{}<>]|[,:](?!\d))|\s+")
_OPENING_QUOTE = re.compile(r'(?:^|(?<=[\s(\[{<]))"')
_CLITIC = re.compile(r"(?P<word>.*[^'])(?P<clitic>n't|'(?:s|m|d|ll|re|ve)?)", re.IGNORECASE | re.DOTALL)
# Words written together -> length of the first.
_TOGETHER = {"cannot": 3, "gonna": 3, "gotta": 3, "gimme": 3, "lemme": 3, "wanna": 3, "'tis": 2, "'twas": 2}


def treebank(text: str) -> list[str]:
    """The tokens of a text: punctuation apart, contractions in two, double quotes as `` and ''.

    Source: the conventions of the Penn Treebank (Marcus et al., Computational Linguistics 19, 1993).
    """
    return [token for sentence in _SENTENCE_END.split(text) for token in _of_sentence(sentence)]


def words(text: str) -> list[str]:
    """The tokens that are not punctuation: those that are no part of the ASCII punctuation string.

    PQPP's rule to the letter: two dots, two hyphens and a double quote (two characters here) are words.
    """
    return [token for token in treebank(text) if token not in string.punctuation]


def _of_sentence(sentence: str) -> list[str]:
    sentence = _OPENING_QUOTE.sub("``", sentence).replace('"', "''")
    body = sentence.rstrip(_CLOSERS)
    after = sentence[len(body) :]
    if body.endswith(".") and not body.endswith(".."):
        return [*_pieces(body[:-1]), ".", *_pieces(after)]
    return _pieces(sentence)


def _pieces(text: str) -> list[str]:
    pieces = filter(None, _ALONE.split(text))
    return [each for piece in pieces for each in ([piece] if _ALONE.fullmatch(piece) else _apart(piece))]


def _apart(piece: str) -> list[str]:
    clitic = _CLITIC.fullmatch(piece)
    if clitic:
        return [*_apart(clitic["word"]), clitic["clitic"]]
    cut = _TOGETHER.get(piece.lower())
    return [piece[:cut], piece[cut:]] if cut else [piece]
