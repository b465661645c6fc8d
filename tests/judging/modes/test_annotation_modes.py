"""Pages of judging as the papers describe them."""

from __future__ import annotations

import pytest

from sightline import registry
from sightline.data.importers._w1kp import CLOSER
from sightline.data.importers.conqa import QUESTIONS as CONQA
from sightline.data.importers.gimbrr import MATCH
from sightline.data.importers.w1kp_crowd import ALIKE
from sightline.errors import UsageError
from sightline.records import Mode, Question

NAMES = (
    "graded_relevance",
    "binary_relevance",
    "ternary_relevance",
    "two_sliders",
    "yes_no",
    "two_afc",
    "similarity_rating",
    "preference",
    "preference(tie=True)",
)
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
        if found.questions[0].scale == "interval":
            assert len([word for word in example.answer.split() if word[0].isdigit()]) == len(found.questions)
        else:
            # Where the labels are points, the answer names the point too: "5, the same".
            assert example.answer.split(", ")[-1] in found.questions[0].labels.values()


@pytest.mark.parametrize("name", NAMES)
def test_shortcuts_stand_for_labels_and_hide_no_key_of_the_page(name: str) -> None:
    found = mode(name)
    assert set(found.keys.values()) <= set(found.questions[0].labels)
    assert not set(found.keys) & GENERIC


def test_shown_modes_are_all_modes() -> None:
    assert {name.partition("(")[0] for name in NAMES} == set(registry.names("annotation_mode"))


def test_two_sliders_of_agiqa() -> None:
    found = mode("two_sliders")
    assert [(each.name, each.low, each.high, each.step) for each in found.questions] == [
        ("quality", 0, 5, 0.1),
        ("alignment", 0, 5, 0.1),
    ]
    assert found.images == 1


def test_relevance4_of_pqpp_can_be_settled_by_hbpp_and_hides_the_photo() -> None:
    found = mode("graded_relevance")
    assert found.images == 5
    assert set(found.questions[0].labels) == {"2", "1", "0", "-1"}
    assert found.questions[0].scale in registry.get("consensus", "hbpp").spec.details["scales"]
    assert found.reference


def test_relevant2_takes_relevance_as_the_published_table_has_it() -> None:
    found = mode("binary_relevance")
    assert found.layout == "grid"
    assert (found.questions[0].low, found.questions[0].high) == (0, 1)
    assert dict(found.questions[0].labels) == {"1": "relevant", "0": "irrelevant"}


def test_relevant3_codes_as_the_published_votes() -> None:
    found = mode("ternary_relevance")
    assert found.images == 5
    assert coding(found.questions[0]) == coding(CONQA[0])
    assert dict(found.questions[0].labels) == dict(CONQA[0].labels)


def test_yes_no_of_gimbrr_opens_what_a_prompt_builds_on() -> None:
    found = mode("yes_no")
    assert coding(found.questions[0]) == coding(MATCH)
    assert dict(found.questions[0].labels) == dict(MATCH.labels)
    assert found.linked


def test_two_afc_codes_as_the_published_choices_and_hides_the_prompt() -> None:
    found = mode("two_afc")
    assert coding(found.questions[0]) == coding(CLOSER)
    assert found.questions[0].labels[f"{found.attention:g}"] == "A"
    assert (found.layout, found.swaps, found.shows_prompt) == ("triplet", True, False)


def test_similarity5_codes_as_the_published_grades() -> None:
    found = mode("similarity_rating")
    assert coding(found.questions[0]) == coding(ALIKE)
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
