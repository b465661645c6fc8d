"""The text encoder without weights."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.encoders.models.hashed_words import hashed_words
from sightline.errors import UsageError


def test_vectors_have_length_one_unless_there_is_nothing_to_say() -> None:
    vectors = hashed_words().text(["a red car", "\u732b", "", "?!"])
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 1, 0, 0], abs=1e-6)
    assert vectors.shape == (4, 512)


def test_like_texts_have_like_vectors() -> None:
    car, cars, tree = hashed_words().text(["a red car", "two red cars", "an old tree in fog"])
    assert car @ cars > 0.3 > car @ tree


def test_order_of_words_matters_a_little() -> None:
    one, same, other = hashed_words().text(["dog bites man", "Dog bites man", "man bites dog"])
    assert one @ same == pytest.approx(1, abs=1e-6)
    assert 0.7 < one @ other < 0.99


@pytest.mark.parametrize("told", [{"dimensions": 0}, {"dimensions": 7}, {"words": 0}, {"letters": 2}])
def test_impossible_parameters_are_refused(told: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        hashed_words(**told)
