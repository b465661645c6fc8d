"""BM25, by hand arithmetic and against the formula in loops."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from sightline import registry
from sightline.errors import UsageError
from sightline.records import Candidates, ImageKey, Prompt, PromptKey


def candidates(*captions: Sequence[str]) -> Candidates:
    return Candidates([ImageKey("c", str(n)) for n in range(len(captions))], captions, [None] * len(captions))


def search(found_in: Candidates, *queries: str, k: int, text: str = "bm25") -> tuple[np.ndarray, np.ndarray]:
    prompts = [Prompt(PromptKey("q", str(n)), query) for n, query in enumerate(queries)]
    return registry.configure("retriever", text).load()(found_in, prompts, k)


def by_loops(documents: list[list[str]], query: list[str], k1: float = 1.5, b: float = 0.75) -> list[float]:
    mean = sum(map(len, documents)) / len(documents)
    found = []
    for document in documents:
        total = 0.0
        for word in query:
            n = sum(word in each for each in documents)
            f = document.count(word)
            idf = math.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
            total += idf * f / (f + k1 * (1 - b + b * len(document) / mean))
        found.append(total)
    return found


def test_by_hand() -> None:
    # Two images of one word each: N = 2, n = 1, idf = ln 2, f = 1, length = mean: ln 2 / (1 + 1.5).
    indices, scores = search(candidates(["dog"], ["cat"]), "a cat", k=2)
    assert indices.tolist() == [[1, -1]]
    assert scores[0, 0] == pytest.approx(math.log(2) / 2.5, rel=1e-6)


def test_it_is_the_formula() -> None:
    rng = np.random.default_rng(0)
    words = [f"w{n}" for n in range(30)]
    documents = [list(rng.choice(words, rng.integers(1, 12))) for _ in range(60)]
    queries = [list(rng.choice([*words, "unknown"], 4)) for _ in range(100)]
    collection = candidates(*[[" ".join(document)] for document in documents])
    indices, scores = search(collection, *(" ".join(query) for query in queries), k=60)
    for row, of_row, query in zip(indices, scores, queries, strict=True):
        wanted = np.array(by_loops(documents, query))
        n = int((wanted > 0).sum())
        assert (row[n:] == -1).all() and np.isnan(of_row[n:]).all()
        assert of_row[:n] == pytest.approx(np.sort(wanted)[::-1][:n], rel=1e-5)
        assert wanted[row[:n]] == pytest.approx(of_row[:n], rel=1e-5)


def test_captions_count_together_and_images_without_any_do_not() -> None:
    collection = candidates([], ["a dog", "on grass"], ["!"], ["the grass"])
    assert search(collection, "DOG grass", "zebra", "", k=3)[0].tolist() == [[1, 3, -1], [-1] * 3, [-1] * 3]


def test_equal_scores_keep_the_order_of_candidates() -> None:
    assert search(candidates(*[["a cat"]] * 50), "cat", k=7)[0].tolist() == [list(range(7))]


def test_parameters() -> None:
    collection = candidates(["cat cat cat dog dog dog"], ["cat dog"])
    # With b = 0 length does not count, and three are more than one; with k1 = 0 frequency does not either.
    assert search(collection, "cat", k=1, text="bm25(b=0.0)")[0].tolist() == [[0]]
    flat = search(collection, "cat", k=2, text="bm25(k1=0.0)")[1]
    assert flat[0, 0] == pytest.approx(flat[0, 1])
    for wrong in ("bm25(k1=-1.0)", "bm25(b=2.0)"):
        with pytest.raises(UsageError, match="k1 is 0 or more"):
            search(collection, "cat", k=1, text=wrong)
