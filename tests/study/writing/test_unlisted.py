"""An engine's run over a known collection: names that it does not hold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from sightline.errors import DataError
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import load

QUERY = PromptKey("q", "1")


def run(*names: str, collection: str = "photos", kind: str = "retriever") -> list[Record]:
    answers = [
        Answer(QUERY, "engine", n, ImageKey(collection, name), at=f"a.run:{n + 1}")
        for n, name in enumerate(names)
    ]
    return [System("engine", kind, collection), *answers]


def put(study: Study, records: Sequence[Record], digest: str) -> None:
    load(study, records, importer="test", path="test", digest=digest, closed=True)


def listed(study: Study) -> None:
    photos = [Image(ImageKey("photos", name), captions=[f"a {name}"]) for name in ("dog", "cat")]
    put(study, [Prompt(QUERY, "a pet"), *photos], "1")


def test_names_a_captioned_collection_does_not_hold_are_refused(study: Study) -> None:
    listed(study)
    with pytest.raises(DataError, match=r"engine answers with 'a', 'b', 'c' and 1 more: not in") as e:
        put(study, run("dog", "a", "b", "c", "d"), "2")
    assert "a.run:2" in str(e.value) and "--option collection=NAME" in e.value.remedy
    assert reading.images(study).height == 2
    put(study, run("cat", "dog"), "3")


def test_a_collection_known_by_name_only_grows(study: Study) -> None:
    put(study, [Prompt(QUERY, "a pet"), *run("x", "y")], "1")
    put(study, run("x", "y", "z"), "2")
    assert reading.images(study).height == 3


def test_generators_and_other_collections_are_free(study: Study) -> None:
    listed(study)
    put(study, run("new", collection="others"), "2")
    put(study, [System("drawer"), Answer(QUERY, "drawer", 0, ImageKey("photos", "drawn"))], "3")
    assert reading.images(study).height == 4


def test_images_that_come_with_the_run_count(study: Study, tmp_path: Path) -> None:
    listed(study)
    put(study, [Image(ImageKey("photos", "fox")), *run("fox", "dog")], "2")
    assert reading.images(study).height == 3
