"""What TREC runs and qrels share: the topics file that may lie next to them."""

from __future__ import annotations

from collections.abc import Iterator

from sightline.data.sources import Source
from sightline.errors import DataError
from sightline.records import Prompt, PromptKey

NAMES = ("topics.tsv", "queries.tsv")


def topics_file(source: Source) -> str:
    """The topics file in the folder of the source, or nothing."""
    return next((name for name in NAMES if (source.root / name).is_file()), "")


def topics_of(source: Source, file: str, suite: str) -> Iterator[Prompt]:
    """The prompts of a topics file: qid, tab, text."""
    if not file:
        return
    for at, line in source.lines(file):
        qid, tab, text = line.partition("\t")
        if not tab or not qid.strip() or not text.strip():
            raise DataError(
                "not a query id, a tab and a text", where=at, remedy="Write one topic a line: id<TAB>text"
            )
        yield Prompt(PromptKey(suite, qid.strip()), text.strip(), at=at)
