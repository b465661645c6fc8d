"""Images with what is said of them, as data sets for training have it: one sample, one image."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sightline.data.sources import Once, Row, Source, prompt_ref
from sightline.data.sources.plain import HOMES, SYNONYMS, TRANSLATION, setting_of
from sightline.data.sources.rows import Layout
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System

KNOWN = (
    *("prompt", "prompt_id", "system", "image_name", "sha256", "captions", *HOMES),
    *("position", "score", "seed", "kind", "tags.", "image_tags.", "settings.", TRANSLATION),
)
RENAMED = ("prompt", "system")
SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test", "testing", "eval")
ALONE = "images of no system, taken as a captioned collection (if one made them: --option system=NAME)"


def renamed(header: Iterable[str], asked: Mapping[str, str]) -> dict[str, str]:
    """Those of our columns that a table has under another name, and that name."""
    lower = {name.strip().lower(): name for name in header}
    return {
        ours: next(lower[each] for each in SYNONYMS[ours] if each in lower)
        for ours in RENAMED
        if ours not in lower and ours not in asked and any(each in lower for each in SYNONYMS[ours])
    }


def split_of(file: str) -> str:
    """The split that a file belongs to, by its name or its folder: data/train-00000-of-00004.parquet."""
    words = [word for part in file.lower().split("/") for word in part.replace("_", "-").split("-")]
    return next((word for word in words if word.partition(".")[0] in SPLITS), "").partition(".")[0]


def row_of(
    cells: Mapping[str, Any], file: str, number: int, asked: Mapping[str, str], mark: str = ":sample "
) -> Row:
    """A row made of the fields of a sample, under our names."""
    theirs = {**renamed(cells, asked), **asked}
    ours = {name: mine for mine, name in theirs.items()}
    named = {ours.get(name, name): cell for name, cell in cells.items()}
    return Row(list(named.values()), Layout(file, {name: n for n, name in enumerate(named)}, mark), number)


class Samples:
    """Turns samples into records: answers where a system is named, else images with captions."""

    def __init__(self, source: Source, suite: str, collection: str, system: str) -> None:
        self._source = source
        self._suite, self._collection, self._system = suite, collection, system
        self._once = Once()
        self._positions: Counter[tuple[str, PromptKey]] = Counter()
        self._names: set[tuple[str, str]] = set()

    def records(
        self, row: Row, name: str, data: bytes | None, path: str | None = None, split: str = ""
    ) -> Iterator[Record]:
        """The records of one sample, whose image is given by its bytes or its file."""
        home = row.text("collection", self._collection)
        name = row.text("image_name", name)
        if (home, name) in self._names and row.get("image_name") is None:
            # Names are those of files that are no longer there: nothing keeps two from being the same.
            name = f"{row.at.replace(':', '/')}/{name}"
        self._names.add((home, name))
        key, tags = ImageKey(home, name), row.group("image_tags.")
        if split and row.get("image_name") is None:
            tags.setdefault("split", split)
        text, ref = row.text("prompt", None), row.text("prompt_id", None)
        system = row.text("system", self._system or None)
        answers = system is not None and (text or ref) is not None
        said = row.structure("captions") or ()
        if isinstance(said, str) or not all(isinstance(each, str) for each in said):
            raise row.wrong("captions", "a list of texts", "Leave it empty where there are none.")
        captions = (*said, *(() if answers or text is None else (text,)))
        yield Image(key, path, captions, row.at, tags=tags, data=data)
        if not answers or system is None:
            self._source.note(row.at, ALONE)
            return
        yield from self._answer(row, system, text, ref, key)

    def _answer(
        self, row: Row, system: str, text: str | None, ref: str | None, image: ImageKey
    ) -> Iterator[Record]:
        kind = row.text("kind", "generator")
        if self._once.new((system, kind)):
            yield System(system, kind, image.collection if kind == "retriever" else None, row.at)
        prompt = PromptKey(row.text("suite", self._suite), ref or prompt_ref(text or ""))
        tags, translations = row.group("tags."), row.group(TRANSLATION)
        if text is not None and self._once.new((prompt, text, *tags.items(), *translations.items())):
            yield Prompt(prompt, text, tags, at=row.at, translations=translations)
        position = row.whole("position", None)
        if position is None:
            position = self._positions[system, prompt]
            self._positions[system, prompt] += 1
        settings = {name: setting_of(cell) for name, cell in row.group("settings.").items()} or None
        score, seed = row.number("score", None), row.whole("seed", None)
        yield Answer(prompt, system, position, image, score, seed, settings, None, row.at)
