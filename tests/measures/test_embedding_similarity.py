"""Similarity of prompt and image under an encoder."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sightline.measures.of_answer.embedding_similarity import embedding_similarity
from sightline.pictures import Picture
from sightline.records import NoValue, Prompt, PromptKey


class Flat:
    """Texts by two letters, images by a name; not of length 1."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def text(self, texts: Sequence[str]) -> np.ndarray:
        self.asked += texts
        return np.array([[text.count("a"), text.count("b")] for text in texts], dtype=np.float64)

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        known = {"a": (2.0, 0.0), "ab": (3.0, 4.0), "gone": (np.nan, np.nan), "black": (0.0, 0.0)}
        return np.array([known[image.name] for image in images])


def prompts(*texts: str) -> list[Prompt]:
    return [Prompt(PromptKey("s", str(n)), text) for n, text in enumerate(texts)]


def pictures(*names: str) -> list[Picture]:
    return [Picture(b"", name=name) for name in names]


def test_cosines_by_hand() -> None:
    encoder = Flat()
    found = embedding_similarity(prompts("a", "b", "a"), pictures("ab", "ab", "a"), encoder=encoder)
    # (1, 0)(.6, .8) = .6; (0, 1)(.6, .8) = .8; (1, 0)(1, 0) = 1.
    assert [each.value for each in found] == pytest.approx([0.6, 0.8, 1.0])
    assert encoder.asked == ["a", "b"], "a prompt is encoded once a batch"


def test_what_has_no_vector_has_no_value() -> None:
    found = embedding_similarity(
        prompts(" ", "c", "a", "b"), pictures("a", "a", "gone", "black"), encoder=Flat()
    )
    assert found == [
        NoValue("the prompt is empty"),
        NoValue("the prompt is empty"),
        NoValue("the encoder has no vector of the image"),
        NoValue("the encoder has no vector of the image"),
    ]
    assert embedding_similarity([], [], encoder=Flat()) == []
