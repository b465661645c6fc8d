"""Pages of judging as the papers describe them."""

from __future__ import annotations

import pytest

from sightline import registry
from sightline.data.importers._w1kp import CLOSER
from sightline.data.importers.conqa import QUESTIONS as CONQA
from sightline.data.importers.gimbrr import MATCH
from sightline.data.importers.w1kp_crowd import ALIKE
from sightline.errors import UsageError
from sightline.records import BOTH_BAD, Mode, Question

NAMES = (*registry.names("annotation_mode"), "preference(tie=True, both_bad=True)")
GENERIC = {"l", "o", "z", "s", "?", "+", "-", "Enter", "Backspace", "Escape", *"0123456789"}
"""Keys of the page itself. A mode may take `u`, since Ctrl+Z takes back as well."""


def mode(name: str) -> Mode:
    return registry.configure("annotation_mode", name).load()()


def coding(question: Question) -> tuple[object, ...]:
    return (question.name, question.scale, question.low, question.high, question.step, question.direction)


@pytest.mark.parametrize("name", NAMES)
def test_every_mode_explains_itself_by_examples_whose_answers_can_be_given(name: str) -> None:
    found = mode(name)
    assert 2 <= len(found.examples) <= 4
    for example in found.examples:
        assert example.shown.endswith(".") and example.why.endswith(".")
        if found.layout == "order":
            # Every image of the example has a place, and the best place is taken.
            letters, places = zip(*(part.split() for part in example.answer.split(", ")), strict=True)
            assert [f"{letter}:" in example.shown for letter in letters] == [True] * len(letters)
            assert "1" in places
        elif found.questions[0].scale == "interval":
            assert len([word for word in example.answer.split() if word[0].isdigit()]) == len(found.questions)
        else:
            # Where the labels are points, the answer names the point too: "5, the same".
            assert example.answer.split(", ")[-1] in found.questions[0].labels.values()
    # Shortcuts stand for labels, and hide no key of the page.
    assert set(found.keys.values()) <= {*found.questions[0].labels, *([BOTH_BAD] if found.both_bad else [])}
    assert not set(found.keys) & GENERIC


@pytest.mark.parametrize(
    ("name", "published", "images"),
    [("ternary_relevance", CONQA[0], 5), ("yes_no", MATCH, 1), ("two_afc", CLOSER, 1),
     ("similarity_rating", ALIKE, 1)],
)  # fmt: skip
def test_answers_are_coded_as_the_published_ones(name: str, published: Question, images: int) -> None:
    asked = mode(name).questions[0]
    assert coding(asked) == coding(published) and mode(name).images == images
    assert name in ("two_afc", "similarity_rating") or dict(asked.labels) == dict(published.labels)


def test_scales_of_modes_without_published_votes() -> None:
    quality, alignment = mode("two_sliders").questions
    assert coding(quality)[2:5] == coding(alignment)[2:5] == (0, 5, 0.1)
    assert (quality.name, alignment.name, mode("two_sliders").images) == ("quality", "alignment", 1)
    graded, binary = mode("graded_relevance"), mode("binary_relevance")
    # PQPP's can be aggregated by hbpp, and hides the photo.
    assert graded.images == 5 and graded.reference
    assert set(graded.questions[0].labels) == {"2", "1", "0", "-1"}
    assert graded.questions[0].scale in registry.get("consensus", "hbpp").spec.details["scales"]
    assert binary.layout == "grid" and (binary.questions[0].low, binary.questions[0].high) == (0, 1)
    assert dict(binary.questions[0].labels) == {"1": "relevant", "0": "irrelevant"}
    assert mode("yes_no").linked


def test_attention_checks_of_two_afc_and_similarity() -> None:
    found = mode("two_afc")
    assert found.questions[0].labels[f"{found.attention:g}"] == "A"
    assert (found.layout, found.swaps, found.shows_prompt) == ("triplet", True, False)

    found = mode("similarity_rating")
    assert found.questions[0].labels[f"{found.attention:g}"] == "the same"
    assert list(found.questions[0].labels) == ["1", "2", "3", "4", "5"]
    # A grade does not turn round when the images change places.
    assert not found.swaps


def test_preference_compares_systems_and_allows_a_tie_only_if_asked() -> None:
    assert mode("preference").compares == "systems"
    assert list(mode("preference").questions[0].labels.values()) == ["A", "B"]
    tie = mode("preference(tie=True)")
    assert tie.questions[0].labels["0.5"] == "no difference"
    assert tie.keys["t"] == "0.5"
    assert tie.swaps


@pytest.mark.parametrize("name", ["graded_relevance", "binary_relevance", "ternary_relevance"])
def test_how_many_images_a_page_shows(name: str) -> None:
    assert mode(f"{name}(images=3)").images == 3
    with pytest.raises(UsageError, match="images=0"):
        mode(f"{name}(images=0)")


def test_both_bad_is_offered_only_if_asked_and_has_no_value() -> None:
    assert mode("preference").both_bad == ""
    offered = mode("preference(both_bad=True)")
    assert offered.both_bad == "both are bad" and offered.keys["n"] == BOTH_BAD
    # The scale stays what it was: rounds with and without it ask the same question.
    assert offered.questions == mode("preference").questions


def test_orders_share_one_scale_however_many_images_they_show() -> None:
    four, six = mode("order"), mode("k_wise(images=6)")
    assert (four.layout, four.images, six.images, four.compares) == ("order", 4, 6, "systems")
    assert coding(four.questions[0]) == coding(six.questions[0]) == ("order", "ordinal", 1, 9, 1, "lower")
    for wrong in (1, 10):
        with pytest.raises(UsageError, match=f"images={wrong}"):
            mode(f"order(images={wrong})")
