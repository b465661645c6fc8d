"""Statistics of a collection by hand, on four images."""

from __future__ import annotations

import math
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError
from sightline.language.collection_statistics import STATISTICS, CollectionStatistics, terms

# Image 0: cat 3, red 1. Image 1: red 2, ball 1. Image 2: dog 1. Image 3: cat 1. Nine terms in all.
CAPTIONS = [["a cat and a red cat", "The CAT."], ["red ball, red"], ["a dog", ""], ["cat"]]


@pytest.fixture
def collection() -> CollectionStatistics:
    return CollectionStatistics(CAPTIONS)


def test_terms() -> None:
    assert terms("The 2 Dogs, and a cat's bowl ... --") == ["2", "dogs", "cat", "bowl"]
    assert terms("?! of the") == []


def test_by_hand(collection: CollectionStatistics) -> None:
    assert (collection.documents, collection.length) == (4, 9)
    found = collection.of("a red cat, red unicorn")
    assert found.keys() == STATISTICS.keys()
    # df: red 2, cat 2; cf: red 3, cat 4; unicorn is unknown.
    assert found["unseen"] == pytest.approx(1 / 3)
    assert found["max_idf"] == found["mean_idf"] == pytest.approx(log(4 / 2))
    assert found["idf_deviation"] == 0
    assert found["mean_ictf"] == pytest.approx((log(9 / 3) + log(9 / 4)) / 2)
    # Images 0, 1 and 3 hold red or cat.
    assert found["query_scope"] == pytest.approx(-log(3 / 4))
    # p(red|Q) = 2/3, p(cat|Q) = 1/3 among known terms; p(red|C) = 3/9, p(cat|C) = 4/9.
    assert found["clarity"] == pytest.approx(2 / 3 * log(2) + 1 / 3 * log(3 / 4))
    red, cat = (1 + log(3)) * log(3), (1 + log(4)) * log(3)
    assert found["sum_scq"] == pytest.approx(red + cat)
    assert found["mean_scq"] == pytest.approx((red + cat) / 2)
    assert found["max_scq"] == pytest.approx(cat)
    # Weights 1 + ln tf ln(1 + N/df): red 1 and 1 + ln 2 ln 3, cat 1 + ln 3 ln 3 and 1; the deviation of
    # two values is half their distance.
    red, cat = log(2) * log(3) / 2, log(3) * log(3) / 2
    assert found["sum_variability"] == pytest.approx(red + cat)
    assert found["mean_variability"] == pytest.approx((red + cat) / 2)
    assert found["max_variability"] == pytest.approx(cat)
    # They meet in image 0: ln(4 * 1 / (2 * 2)).
    assert found["mean_pmi"] == found["max_pmi"] == pytest.approx(0)
    assert found["apart"] == 0


def test_terms_that_never_meet(collection: CollectionStatistics) -> None:
    found = collection.of("dog ball red")
    # Of dog-ball, dog-red and ball-red the last alone meets: ln(4 * 1 / (1 * 2)).
    assert found["apart"] == pytest.approx(2 / 3)
    assert found["max_pmi"] == found["mean_pmi"] == pytest.approx(log(2))


def test_nothing_to_tell_it_from(collection: CollectionStatistics) -> None:
    assert all(math.isnan(value) for value in collection.of("?! of the").values())
    alone = collection.of("unicorn")
    assert alone["unseen"] == 1 and math.isnan(alone["max_idf"])
    assert math.isnan(collection.of("cat")["apart"]) and not math.isnan(collection.of("cat")["max_idf"])
    with pytest.raises(DataError, match="no image of the collection has a caption"):
        CollectionStatistics([[], ["the"]])


@given(st.lists(st.sampled_from(["cat", "dog", "red", "ball", "unicorn", "of"]), max_size=8))
def test_order_of_words_has_no_influence(listed: list[str]) -> None:
    collection = CollectionStatistics(CAPTIONS)
    one, two = collection.of(" ".join(listed)), collection.of(" ".join(sorted(listed)))
    for name, value in one.items():
        assert two[name] == pytest.approx(value, nan_ok=True)
    if not math.isnan(one["max_idf"]):
        assert one["max_idf"] >= one["mean_idf"] >= 0 and one["query_scope"] <= one["max_idf"] + 1e-12


@given(
    st.lists(st.lists(st.sampled_from(["cat", "dog", "red", "ball"]), max_size=5), min_size=3, max_size=6),
    st.lists(st.sampled_from(["cat", "dog", "red", "ball", "unicorn"]), max_size=6),
    st.integers(0, 2),
)
def test_without_a_document_is_a_collection_that_never_had_it(
    documents: list[list[str]], prompt: list[str], left_out: int
) -> None:
    captions = [[" ".join(document)] for document in documents]
    others = [caption for number, caption in enumerate(captions) if number != left_out]
    if not any(any(caption) for caption in others):
        return
    found = CollectionStatistics(captions).of(" ".join(prompt), without=left_out)
    expected = CollectionStatistics(others).of(" ".join(prompt))
    assert list(found.values()) == pytest.approx(list(expected.values()), nan_ok=True)
