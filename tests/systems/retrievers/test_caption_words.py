"""The text engine, against scikit-learn's cosine worked out in full and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sightline import registry
from sightline.records import Candidates, ImageKey, Prompt, PromptKey


def candidates(*captions: list[str]) -> Candidates:
    keys = [ImageKey("c", str(number)) for number in range(len(captions))]
    return Candidates(keys, captions, [None] * len(captions))


def search(
    found_in: Candidates, *queries: str, k: int, text: str = "caption_words"
) -> tuple[np.ndarray, np.ndarray]:
    return registry.configure("retriever", text).load()(
        found_in, [Prompt(PromptKey("q", query), query) for query in queries], k
    )


SCENES = candidates(
    ["a red bus", "bus in the rain"], ["a dog"], ["two dogs on grass", "a dog and another dog"], []
)


def test_the_best_match_comes_first_and_no_match_is_no_answer() -> None:
    indices, scores = search(SCENES, "the red BUS", "dog", "zebra", "", k=3)
    assert indices[:, 0].tolist() == [0, 1, -1, -1]
    assert indices[1].tolist() == [1, 2, -1]
    assert (np.isnan(scores) == (indices < 0)).all()


def test_all_captions_of_an_image_count() -> None:
    assert search(SCENES, "rain", k=1)[0].tolist() == [[0]]


def test_scores_are_cosines() -> None:
    # Two documents, no common word: idf is ln(3/2) + 1 for each, so "x" and "x y" have cosine 1/sqrt(2).
    _, scores = search(candidates(["x y"], ["z"]), "x", k=2)
    assert scores[0, 0] == pytest.approx(1 / np.sqrt(2))


def test_equal_scores_keep_the_order_of_candidates() -> None:
    same = candidates(*[["a cat"]] * 50)
    indices, _ = search(same, "cat", k=7)
    assert indices.tolist() == [list(range(7))]


def test_few_candidates_or_none() -> None:
    assert search(candidates(["a cat"]), "cat", k=3)[0].tolist() == [[0, -1, -1]]
    assert search(candidates(), "cat", k=2)[0].tolist() == [[-1, -1]]
    assert search(candidates([], ["!"]), "cat", k=2)[0].tolist() == [[-1, -1]]
    assert search(SCENES, k=2)[0].shape == (0, 2)


def test_a_large_run_in_blocks_is_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{number}" for number in range(40)]
    collection = candidates(*[[" ".join(rng.choice(words, 5))] for _ in range(80)])
    queries = [" ".join(rng.choice(words, 3)) for _ in range(300)]
    indices, scores = search(collection, *queries, k=10)
    for row in (0, 255, 256, 299):
        one, value = search(collection, queries[row], k=10)
        assert (indices[row] == one[0]).all()
        assert scores[row] == pytest.approx(value[0], nan_ok=True)
        assert (np.diff(scores[row][indices[row] >= 0]) <= 0).all()
