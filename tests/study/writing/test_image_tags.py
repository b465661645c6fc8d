"""Tags of images: imported with them, or set by the owner; they go with what they are attached to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sightline.errors import ConflictError, DataError
from sightline.records import Answer, Image, ImageKey, ImageTag, Prompt, PromptKey
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.image_tags import set_image_tags
from sightline.study.writing.loading import Loaded, undo

Put = Callable[..., Loaded]
Dump = Callable[[Study], dict[str, list[tuple[Any, ...]]]]
P1, A, B = PromptKey("s", "1"), ImageKey("c", "a.png"), ImageKey("c", "b.png")
BLURRED = {"distortion": "blur", "level": "3"}


def tags(study: Study) -> list[tuple[Any, ...]]:
    return reading.image_tags(study).rows()


def test_imported_tags_are_told_once_and_undone_with_their_import(study: Study, put: Put, dump: Dump) -> None:
    put(study, [Image(A)], "one")
    before = dump(study)
    second = put(study, [Image(A, tags=BLURRED)], "two")
    assert second.counts["image_tags"] == 2
    assert tags(study) == [(1, 0, "distortion", "blur"), (1, 0, "level", "3")]
    undo(study, second.source_id)
    after = dump(study)
    assert after["image_tag"] == [] and after["image"] == before["image"]


def test_another_value_of_a_tag_is_a_conflict(study: Study, put: Put) -> None:
    put(study, [Image(A, tags=BLURRED)], "one")
    with pytest.raises(ConflictError, match="tag level of this image is both '3' and '4'") as caught:
        put(study, [Image(A, tags={"level": "4"}, at="x:2")], "two")
    assert caught.value.where == "x:2"


def test_the_owner_sets_changes_and_removes_tags(study: Study, put: Put) -> None:
    put(study, [Prompt(P1, "a dog"), Image(A), Image(B), Answer(P1, "sd", 0, A)], "one")
    assert set_image_tags(study, [(1, 1), (2, 0), (1, 1)], "failure", "six legs") == 2
    assert tags(study) == [(1, 1, "failure", "six legs"), (2, 0, "failure", "six legs")]
    set_image_tags(study, [(1, 1)], "failure", "blurred")
    assert tags(study)[0] == (1, 1, "failure", "blurred")
    set_image_tags(study, [(1, 1), (2, 0)], "failure", None)
    assert tags(study) == []
    with pytest.raises(DataError, match="NUL"):
        set_image_tags(study, [(1, 0)], "failure", "\x00")


def test_a_tag_of_an_answer_is_told_with_its_prompt(study: Study, put: Put) -> None:
    said = [Prompt(P1, "a dog"), Image(A, tags={"level": "3"}), ImageTag(A, "level", "4", P1)]
    first = put(study, said, "one")
    assert tags(study) == [(1, 0, "level", "3"), (1, 1, "level", "4")]
    with pytest.raises(ConflictError, match="both '4' and '5'"):
        put(study, [ImageTag(A, "level", "5", P1, "x:3")], "two")
    with pytest.raises(DataError):
        put(study, [ImageTag(A, "level", "4", PromptKey("s", "9"))], "three")
    undo(study, first.source_id)
    assert tags(study) == []


def test_tags_of_the_owner_go_with_the_image_and_never_keep_it(study: Study, put: Put) -> None:
    loaded = put(study, [Prompt(P1, "a dog"), Image(A), Answer(P1, "sd", 0, A)], "one")
    set_image_tags(study, [(1, 0), (1, 1)], "seen", "yes")
    undo(study, loaded.source_id)
    assert tags(study) == [] and reading.images(study).is_empty()
