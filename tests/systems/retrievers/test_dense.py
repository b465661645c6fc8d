"""Engines over vectors of images and of captions, by hand arithmetic on colours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from images import picture

from sightline import registry
from sightline.errors import DataError, MissingPackage
from sightline.pictures import Picture
from sightline.records import Candidates, ImageKey, Prompt, PromptKey
from sightline.systems.retrievers.exact import exact
from sightline.systems.retrievers.text_only import text_only

COLOURS = {"red": (1.0, 0.0, 0.0), "green": (0.0, 1.0, 0.0), "blue": (0.0, 0.0, 1.0)}


class Colours:
    """Texts by the colours they name, images by their mean colour."""

    def text(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 3), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.split():
                row += np.array(COLOURS.get(word, (0, 0, 0)), dtype=np.float32)
        return rows

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        rows = [image.rgb.mean(axis=(0, 1)) / 255 for image in images]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)


def painted(*colour: int) -> Picture:
    return picture(np.tile(colour, (8, 8, 1)))


def asked(*texts: str) -> list[Prompt]:
    return [Prompt(PromptKey("q", str(n)), text) for n, text in enumerate(texts)]


def seen(*pictures: Picture | None) -> Candidates:
    return Candidates([ImageKey("c", str(n)) for n in range(len(pictures))], [[]] * len(pictures), pictures)


def told(*captions: Sequence[str]) -> Candidates:
    return Candidates([ImageKey("c", str(n)) for n in range(len(captions))], captions, [None] * len(captions))


RED, PINK, BLUE, BLACK = painted(255, 0, 0), painted(255, 0, 255), painted(0, 0, 255), painted(0, 0, 0)


def test_exact_ranks_by_cosine() -> None:
    indices, scores = exact(seen(RED, PINK, BLUE), asked("red", "red blue", "blue"), 2, encoder=Colours())
    assert indices.tolist() == [[0, 1], [1, 0], [2, 1]]
    half = 1 / np.sqrt(2)
    assert scores == pytest.approx(np.array([[1, half], [1, half], [1, half]]), rel=1e-6)


def test_exact_leaves_out_what_says_nothing() -> None:
    # No file, and black: neither is an answer; a query that names no colour has none.
    indices, scores = exact(seen(None, BLACK, BLUE, RED), asked("red", "zebra"), 3, encoder=Colours())
    assert indices.tolist() == [[3, 2, -1], [-1, -1, -1]]
    assert (np.isnan(scores) == (indices < 0)).all()


def test_exact_keeps_the_order_of_equal_images() -> None:
    same = [painted(0, 0, 255)] * 40
    assert exact(seen(RED, *same), asked("blue"), 5, encoder=Colours())[0].tolist() == [[1, 2, 3, 4, 5]]


class Unreadable(Colours):
    def image(self, images: Sequence[Picture]) -> np.ndarray:
        rows = super().image(images)
        rows[0] = np.nan
        return rows


class HalfNan(Colours):
    def image(self, images: Sequence[Picture]) -> np.ndarray:
        rows = super().image(images)
        rows[1, 2] = np.nan
        return rows


class Wide(Colours):
    def text(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 5), dtype=np.float32)


def test_vectors_that_are_missing_or_wrong() -> None:
    # A row of NaN is how an image without a vector is told; anything else that is not finite is a mistake.
    assert exact(seen(RED, BLUE), asked("red"), 2, encoder=Unreadable())[0].tolist() == [[1, -1]]
    with pytest.raises(DataError, match="not finite"):
        exact(seen(RED, BLUE), asked("red"), 2, encoder=HalfNan())
    with pytest.raises(DataError, match="5 dimensions and rows 3"):
        exact(seen(RED, BLUE), asked("red"), 2, encoder=Wide())
    with pytest.raises(DataError, match="none of the images to search has its file"):
        exact(seen(None, None), asked("red"), 2, encoder=Colours())
    with pytest.raises(DataError, match="none of the images to search can be read"):
        exact(seen(RED), asked("red"), 2, encoder=Unreadable())
    assert exact(seen(), asked("red"), 2, encoder=Colours())[0].tolist() == [[-1, -1]]


def test_exact_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = registry.configure("retriever", "exact")
    assert str(ready).startswith("exact(encoder=clip(")
    monkeypatch.setattr(
        "sightline.extension.Spec.missing", lambda self: ["torch"] if self.extra == "torch" else []
    )
    with pytest.raises(MissingPackage) as raised:
        ready.require()
    assert "sightline[torch]" in str(raised.value.remedy)


def test_text_only_takes_the_best_caption() -> None:
    collection = told(["green", "red"], [], ["red blue"], ["blue", "nothing"], ["green"])
    indices, scores = text_only(collection, asked("red", "blue", "zebra"), 4, encoder=Colours())
    half = 1 / np.sqrt(2)
    assert indices[0].tolist() == [0, 2, 3, 4] and scores[0] == pytest.approx([1, half, 0, 0], abs=1e-6)
    assert indices[1].tolist() == [3, 2, 0, 4]
    assert indices[2].tolist() == [-1] * 4


def test_text_only_with_the_encoder_of_the_base_install() -> None:
    function = registry.configure("retriever", "text_only").load()
    collection = told(["a dog in the snow"], ["a red bus", "two buses"], ["a cat on a sofa"])
    assert function(collection, asked("red bus", "cat on sofa", ""), 3)[0][:, 0].tolist() == [1, 2, -1]


@pytest.mark.parametrize("name", ["text_only", "caption_words", "bm25"])
def test_engines_over_captions_need_captions(name: str) -> None:
    function = registry.configure("retriever", name).load()
    with pytest.raises(DataError, match="none of the images to search has a caption"):
        function(told([], []), asked("red"), 2)
