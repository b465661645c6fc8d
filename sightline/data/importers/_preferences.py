"""What data sets of preferences share: who preferred which of two images, as it was published."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sightline.data.sources import Once, prompt_ref
from sightline.records import (
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Record,
    System,
    preference_question,
)

QUESTION = "preference"


class Preferences:
    """Prompts, images and answers, each once, and the votes between two of them."""

    def __init__(self, suite: str, collection: str, panel: str) -> None:
        self.suite, self.collection, self.panel = suite, collection, panel
        self._once = Once()
        self._positions: Counter[tuple[str, PromptKey]] = Counter()
        self._answered: set[tuple[PromptKey, str, str]] = set()
        self._given: Counter[tuple[str, PromptKey, str, str]] = Counter()

    def prompt(self, text: str, at: str, ref: str | None = None) -> tuple[PromptKey, list[Record]]:
        """The key of a prompt, and its record where it is new."""
        key = PromptKey(self.suite, ref or prompt_ref(text))
        return key, [Prompt(key, text, at=at)] if self._once.new((key, text)) else []

    def image(
        self, prompt: PromptKey, name: str, at: str, *, system: str = "", path: str | None = None,
        data: bytes | None = None,
    ) -> Iterator[Record]:  # fmt: skip
        """An image, and the answer that it is where the system is known."""
        key = ImageKey(self.collection, name)
        if (path is not None or data is not None) and self._once.new((name, path or len(data or b""))):
            yield Image(key, path, at=at, data=data)
        if system and (prompt, system, name) not in self._answered:
            self._answered.add((prompt, system, name))
            if self._once.new(("system", system)):
                yield System(system, at=at)
            yield Answer(prompt, system, self._positions[system, prompt], key, at=at)
            self._positions[system, prompt] += 1

    def pair(self, prompt: PromptKey, first: str, second: str) -> Item:
        """A pair of images that answer a prompt."""
        return Item(prompt, None, ImageKey(self.collection, first), ImageKey(self.collection, second))

    def vote(
        self, prompt: PromptKey, first: str, second: str, value: float, at: str, *, annotator: str = "",
        n: int = 1, time: str | None = None,
    ) -> Iterator[Record]:  # fmt: skip
        """A vote between two images, or n equal anonymous ones: 0 for the first, 1 for the second."""
        if self._once.new("question"):
            yield preference_question(QUESTION, at)
        who = AnnotatorKey(self.panel, annotator) if annotator else None
        again = self._given[annotator, prompt, first, second] if annotator else 0
        if annotator:
            self._given[annotator, prompt, first, second] += 1
        item = self.pair(prompt, first, second)
        yield Judgement(QUESTION, item, value, who, n, repetition=again, time=time, at=at)
