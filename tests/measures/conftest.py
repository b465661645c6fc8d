"""Studies that several tests of measures ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest

import sightline
from sightline import registry
from sightline.data.sources import Source
from sightline.records import Image, ImageKey, Item, Prompt, PromptKey, Question, Record, Truth
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


@pytest.fixture(scope="session")
def flickr8k(
    data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., AbstractContextManager[Study]]:
    """A study of the 400 images with their captions, and so many first captions as prompts."""

    @contextmanager
    def flickr8k(prompts: int, *, judged: bool) -> Iterator[Study]:
        records: list[Record] = []
        asked: set[object] = set()
        for record in registry.configure("importer", "flickr8k").load()(Source(data / "flickr8k_400")):
            if isinstance(record, Prompt) and record.key.ref.endswith("#0") and len(asked) < prompts:
                asked.add(record.key)
                records.append(record)
            relevant = isinstance(record, Truth) and record.item.prompt in asked
            if isinstance(record, Image) or (judged and (relevant or isinstance(record, Question))):
                records.append(record)
        with create_study(tmp_path_factory.mktemp("flickr8k") / "study") as study:
            load(study, records, importer="test", path="flickr8k", digest="1")
            yield study

    return flickr8k


@pytest.fixture
def eyes(painted: Study) -> Study:
    """The painted pictures, each relevant to the prompt of its colour, ranked by `eyes`."""
    sightline.retrieve(painted, "eyes", "exact(encoder=colours)", collection="paints", k=3)
    relevant = {"r": "rose", "b": "sea", "g": "leaf"}
    truths = [
        Truth("relevance", Item(PromptKey("suite", prompt), image=ImageKey("paints", image)), 1.0)
        for prompt, image in relevant.items()
    ]
    asked = Question("relevance", "ordinal", 0, 1, 1)
    load(painted, [asked, *truths], importer="test", path="truth", digest="truth")
    return painted
