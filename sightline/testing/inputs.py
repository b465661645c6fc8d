"""Inputs for every kind of extension: small and computed by formula, so that they are the same everywhere."""

from __future__ import annotations

import io
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from PIL import Image
from scipy.sparse import csr_matrix

from sightline.demands import Expects, Scene, read_expects, read_scene
from sightline.extension import Picture
from sightline.records import (
    AnnotatorKey,
    Candidates,
    Controls,
    Examples,
    ImageKey,
    Prompt,
    PromptKey,
    Question,
    Rankings,
    Votes,
)

ITEMS = 13
"""Items of `votes`, the last of which nobody judged."""


def encoded(image: Image.Image) -> Picture:
    """An image as a picture that was read from a file."""
    file = io.BytesIO()
    image.save(file, "PNG")
    return Picture(file.getvalue())


@cache
def pictures() -> tuple[Picture, ...]:
    """A photo-like gradient, a tile pattern, one pixel, and what else a file may hold."""
    y, x = np.mgrid[:48, :64]
    smooth = np.stack([x * 4, y * 5, 255 - x * 2 - y], axis=2).astype(np.uint8)
    tiles = (((x // 4 + y // 4) % 2)[:, :, None] * np.array([200, 30, 40]) + 20).astype(np.uint8)
    clear = np.dstack([smooth, (x * 4).astype(np.uint8)])
    deep = (x * 1000 + y).astype(np.uint16)
    return (
        encoded(Image.fromarray(smooth)),
        encoded(Image.fromarray(tiles)),
        encoded(Image.new("RGB", (1, 1), (10, 200, 30))),
        encoded(Image.fromarray(smooth[:, :, 0])),
        encoded(Image.fromarray(clear)),
        encoded(Image.fromarray(tiles).convert("P", palette=Image.Palette.ADAPTIVE, colors=4)),
        encoded(Image.fromarray(deep)),
        encoded(Image.new("RGB", (300, 2), (0, 0, 0))),
        encoded(Image.new("1", (5, 9), 1)),
    )


@cache
def prompts() -> tuple[Prompt, ...]:
    """Plain prompts, an empty one, another script, a very long one, markup and punctuation."""
    texts = (
        "a red ball", "", "two blue cars next to an orange cat", "  \n ", "\u732b\u3068\u8d64\u3044\u82b1",
        "A photo of NASA's rocket, 8k, highly detailed", "green " * 50, "<script>alert(1)</script>", "?!",
    )  # fmt: skip
    wanted = {"objects": [{"kind": "ball", "count": 1, "colour": "red"}]}
    return tuple(
        Prompt(PromptKey("suite", str(number)), text, expects=wanted if number == 0 else None)
        for number, text in enumerate(texts)
    )


@cache
def demanded() -> tuple[tuple[Expects, Scene], ...]:
    """What prompts expect, each with what is seen: sure and doubtful objects, known ones, words, nothing."""
    expects = read_expects(
        {
            "objects": [
                {"kind": "cats", "count": 2, "colour": "black", "size": "small"},
                {"kind": "ball", "count": 1, "at_least": True, "colour": "red", "size": "large"},
                {"kind": "chair", "attributes": ["wooden"]},
            ],
            "relations": [
                {"first": "cat", "where": "left of", "second": "ball"},
                {"first": "ball", "where": "behind", "second": "chair"},
            ],
            "absent": ["dog", "hedgehog"],
            "text": "OPEN",
            "complete": True,
        }
    )
    cat = {"kind": "cat", "box": [0.1, 0.5, 0.2, 0.6], "confidence": 0.9, "colours": {"black": 0.8}}
    shy = {"kind": "cat", "box": [0.2, 0.7, 0.3, 0.8], "confidence": 0.3, "colours": {"grey": 0.6}}
    ball = {"kind": "sports ball", "box": [0.6, 0.4, 0.9, 0.7], "confidence": 0.8, "colours": {"red": 0.7}}
    dog = {"kind": "dog", "box": [0.3, 0.1, 0.5, 0.3], "confidence": 0.7}
    word = {"text": "OPEM", "box": [0.4, 0.8, 0.6, 0.9], "confidence": 0.8}
    known = {"kind": "cat", "box": [0.1, 0.5, 0.2, 0.6], "colour": "black", "size": "small"}
    kinds = ("cat", "dog", "sports ball", "chair")
    picture = pictures()[0]
    seen: tuple[tuple[dict[str, Any], tuple[str, ...]], ...] = (
        ({"objects": [cat, shy, ball], "text": [word]}, kinds),
        ({"objects": [cat, cat, ball, dog], "text": []}, kinds),
        ({"objects": [known, known], "text": [{"text": "open"}], "complete": True}, ()),
        ({"objects": []}, kinds),
        ({"objects": []}, ()),
    )
    return tuple((expects, read_scene(scene, known_kinds, picture=picture)) for scene, known_kinds in seen)


Queries = Sequence[tuple[list[float], list[float]]]


@cache
def queries() -> Queries:
    """Ranked gains and all known gains of a few queries; none of the last is relevant."""
    nan = float("nan")
    return (
        ([0, 1, nan, 2, 0, 1], [2, 2, 1, 1, 0, 0]),
        ([1], [1]),
        ([], [1, 1]),
        ([nan, nan], [2]),
        ([0, 0], [0, 0]),
    )


def rankings(of: Queries) -> Rankings:
    """Two engines in turn, so that a prompt has two rankings; the image at rank n is image n of six."""
    context = Searched([len(gains) for gains, _ in of])
    number = np.arange(len(of))
    return Rankings(
        np.cumsum([0, *context.lengths]),
        np.array([gain for gains, _ in of for gain in gains], dtype=np.float64),
        np.cumsum([0, *(len(known) for _, known in of)]),
        np.array([gain for _, known in of for gain in known], dtype=np.float64),
        scores=3 / (context.rank + 1), images=context.rank, prompts=number // 2, systems=number % 2,
        beyond=context,
    )  # fmt: skip


class Searched:
    """The context of rankings of these lengths: as of one engine over six captioned images."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self.lengths = lengths
        self.rank = np.array([place for length in lengths for place in range(length)], dtype=np.int64)

    def texts(self) -> list[str]:
        return ["a red ball" + " and the sea" * length for length in self.lengths]

    def caption_words(self) -> tuple[Any, np.ndarray]:
        words = [[2, 0, 1], [0, 1, 1], [1, 1, 0], [0, 0, 0], [1, 0, 0], [0, 3, 0]]
        return csr_matrix(np.array(words, dtype=np.float64)), self.rank

    def collection_scores(self) -> list[float]:
        return [0.5] * len(self.lengths)

    def asked_again(self, k: int, *, noise: str, share: float, seed: int) -> tuple[Any, Any, list[None]]:
        images = [np.arange(length + 1)[seed % 2 :] for length in self.lengths]
        offsets = np.cumsum([0, *map(len, images)])
        return np.concatenate([*images, self.rank[:0]]), offsets, [None] * len(images)

    def relevance(self, *models: Any, **settings: Any) -> np.ndarray:
        return np.asarray(1 / (self.rank + 2))


def votes(seed: int | None = None, rows: slice = slice(None)) -> Votes:
    """Judgements of 13 items, the last without any, by six annotators (one always says 1) and anonymous."""
    table = [
        (item, who, float((item * 7 + who * who * 3) % 4 - 1) if who < 5 else 1.0, 1)
        for item in range(ITEMS - 1)
        for who in range(6)
        if (item + who) % 7
    ] + [(item, -1, float(item % 4 - 1), 1 + item % 3) for item in range(0, ITEMS - 1, 3)]
    order = np.random.default_rng(seed).permutation(len(table)) if seed is not None else range(len(table))
    chosen = [table[int(number)] for number in order][rows]
    item, who, value, count = (np.array([row[column] for row in chosen]) for column in range(4))
    return Votes(
        item.astype(np.int64), who.astype(np.int64), value.astype(np.float64), count.astype(np.int64),
        np.zeros(len(chosen), np.int64), np.full(len(chosen), np.nan), np.zeros(len(chosen), np.bool_),
        np.zeros(len(chosen), np.int64), ITEMS,
        [AnnotatorKey("panel", f"a{number}") for number in range(6)],
        Question("relevance", "ordinal", -1, 2, 1),
        pairs=np.array([[n % 4, 4 + n % 3] for n in range(ITEMS)]),
    )  # fmt: skip


def controls() -> Controls:
    """Eight items with a known answer."""
    answers = np.array([1.0, 0, 2, -1, 1, 0, 2, -1])
    return Controls(np.arange(8), answers, np.zeros(8), ["known"] * 8, ["known"] * 8)


def examples(n: int = 30) -> Examples:
    """Prompts with three features, one of which has gaps, and two pictures each."""
    row = np.arange(n, dtype=np.float64)
    features = np.stack([np.sin(row), np.cos(row * 2), row % 5], axis=1)
    features[::7, 2] = np.nan
    texts = [f"{('a red', 'two blue', 'an old')[number % 3]} thing number {number}" for number in range(n)]
    return Examples(
        [Prompt(PromptKey("s", str(number)), text) for number, text in enumerate(texts)],
        features, ["sine", "cosine", "rest"], [list(pictures()[:2])] * n,
    )  # fmt: skip


def truths(n: int = 30) -> np.ndarray:
    """Two targets of those examples."""
    row = np.arange(n, dtype=np.float64)
    return np.stack([np.sin(row) * 2 + row % 3, np.cos(row * 2)], axis=1)


def candidates() -> Candidates:
    """Five images of a collection with no, one or two captions."""
    cars = ["two cars", "blue cars in a street"]
    captions = [["a red ball", "a ball on grass"], cars, [], ["a cat"], ["a red car"]]
    keys = [ImageKey("c", str(number)) for number in range(5)]
    return Candidates(keys, captions, pictures()[:5])


class Joint:
    """An encoder of texts and images into one space, by colour: stands in where no weights can be loaded."""

    WORDS = ("red", "green", "blue")
    logit_scale = 100.0

    def text(self, texts: Sequence[str]) -> np.ndarray:
        """How often each colour is named, over a constant."""
        rows = [[text.lower().split().count(word) + 0.25 for word in self.WORDS] for text in texts]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        """The mean colour."""
        rows = [image.rgb.mean(axis=(0, 1)) / 255 + 0.25 for image in images]
        return np.array(rows, dtype=np.float32).reshape(-1, 3)
