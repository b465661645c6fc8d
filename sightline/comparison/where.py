"""Which prompts an expression keeps: tags and suites joined by and, or, not."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from sightline.errors import UsageError, near
from sightline.study import reading
from sightline.study.study import Study

PIECE = re.compile(r"""\s*(\(|\)|\b(?:and|or|not)\b(?=\s|\(|$)|"[^"]*"|'[^']*')""", re.IGNORECASE)
REMEDY = "Write a tag and its value, joined by and, or, not: --where 'skill=counting and not style=sketch'"

ORIGINAL = "original"


def rephrasings(study: Study) -> set[int]:
    """The prompts that say another one in other words."""
    links = reading.links(study)
    return {int(prompt) for prompt in links.filter(pl.col("kind") == "rephrases")["prompt_id"]}


def prompts_where(study: Study, where: str) -> list[int]:
    """The prompts that an expression keeps, such as `skill=counting and not (style=sketch or suite=easy)`.

    `suite` names the suite a prompt is from, `prompt` its reference; any other name is a tag. The single word
    `original` keeps the prompts that rephrase no other.
    """
    words = _words(where)
    if not words:
        raise UsageError(f"cannot read {where!r}", remedy=REMEDY)
    prompts = reading.prompts(study)
    chosen = _Reader(study, prompts, reading.tags(study), words, where).whole()
    return [int(prompt) for prompt in prompts["prompt_id"] if prompt in chosen]


def _words(where: str) -> list[str]:
    """Parentheses, keywords, and what stands between them; quotes protect a value's own."""
    words: list[str] = []
    rest = ""
    position = 0
    while position < len(where):
        found = PIECE.match(where, position)
        if found is None:
            rest += where[position]
            position += 1
            continue
        position = found.end()
        piece = found.group(1)
        if piece[0] in "\"'":
            rest += piece[1:-1]
            continue
        words += [rest.strip()] if rest.strip() else []
        rest = ""
        words.append(piece.lower())
    return words + ([rest.strip()] if rest.strip() else [])


class _Reader:
    def __init__(
        self, study: Study, prompts: pl.DataFrame, tags: pl.DataFrame, words: Sequence[str], where: str
    ) -> None:
        self._study, self._prompts, self._tags = study, prompts, tags
        self._words, self._where, self._at = list(words), where, 0
        self._every = frozenset(int(prompt) for prompt in prompts["prompt_id"])

    def whole(self) -> frozenset[int]:
        chosen = self._either()
        if self._at < len(self._words):
            raise UsageError(f"cannot read {self._where!r} from {self._words[self._at]!r}", remedy=REMEDY)
        return chosen

    def _next(self) -> str:
        return self._words[self._at] if self._at < len(self._words) else ""

    def _either(self) -> frozenset[int]:
        chosen = self._both()
        while self._next() == "or":
            self._at += 1
            chosen |= self._both()
        return chosen

    def _both(self) -> frozenset[int]:
        chosen = self._one()
        while self._next() == "and":
            self._at += 1
            chosen &= self._one()
        return chosen

    def _one(self) -> frozenset[int]:
        word = self._next()
        self._at += 1
        if word == "not":
            return self._every - self._one()
        if word == "(":
            chosen = self._either()
            if self._next() != ")":
                raise UsageError(f"a parenthesis of {self._where!r} is not closed", remedy=REMEDY)
            self._at += 1
            return chosen
        if word == ORIGINAL:
            return self._every - frozenset(rephrasings(self._study))
        name, separator, value = (part.strip() for part in word.partition("="))
        if not separator or word in ("and", "or", ")"):
            raise UsageError(f"cannot read {self._where!r}", remedy=REMEDY)
        return self._with(name, value)

    def _with(self, name: str, value: str) -> frozenset[int]:
        names = self._tags["name"].unique().to_list()
        columns = {"suite": "suite", "prompt": "ref"}
        if name in names:
            known = self._tags.filter(pl.col("name") == name)
        elif name in columns:
            known = self._prompts.select("prompt_id", value=columns[name])
        else:
            raise UsageError(f"no prompt has a tag {name!r}", remedy=near(name, [*names, *columns]))
        ids = known.filter(pl.col("value") == value)["prompt_id"].to_list()
        if not ids:
            raise UsageError(
                f"no prompt has {name} = {value!r}", remedy=near(value, known["value"].unique().to_list())
            )
        return frozenset(int(prompt) for prompt in ids)
