"""Names of kinds: what is the same, what is a kind of what, and what a vocabulary covers."""

from __future__ import annotations

import pytest

from sightline.language.kinds import KINDS_OF, SYNONYMS, coverage, kind_of, plain_kind, same_kind


@pytest.mark.parametrize(
    ("name", "plain"),
    [
        ("Cats", "cat"), ("the hot dogs", "hot dog"), ("a bus", "bus"), ("buses", "bus"), ("boxes", "box"),
        ("glass", "glass"), ("wine glasses", "wine glasses"), ("cherries", "cherry"), ("knives", "knife"),
        ("people", "person"), ("sheep", "sheep"), ("scissors", "scissors"), ("tomatoes", "tomato"),
        ("horses", "horse"), ("potted_plant", "potted plant"), ("tennis", "tennis"), ("cacti", "cactus"),
        ("watches", "watch"), ("gas", "gas"), ("ties", "tie"), ("", ""),
    ],
)  # fmt: skip
def test_plurals_and_articles(name: str, plain: str) -> None:
    assert plain_kind(name) == plain
    assert plain_kind(plain) == plain


def test_synonyms_and_kinds() -> None:
    assert same_kind("sofas", "couch") and same_kind("television", "TV") and same_kind("ball", "sports ball")
    assert same_kind("cat", "tabby, cat"), "a class of ImageNet has several names"
    assert (
        not same_kind("hot dog", "dog")
        and not same_kind("teddy bear", "bear")
        and not same_kind("car", "cat")
    )
    assert kind_of("women", "person") and kind_of("puppy", "animal"), "at any depth"
    assert kind_of("doughnut", "food"), "by any name"
    assert not kind_of("person", "woman") and not kind_of("dog", "dog") and not kind_of("couch", "sofa")


def test_no_kind_is_below_itself_and_no_name_has_two_meanings() -> None:
    for upper, below in KINDS_OF.items():
        assert not any(kind_of(upper, lower) for lower in below)
    names = [plain_kind(name) for group in SYNONYMS for name in group]
    assert len(names) == len({*names})


def test_what_a_vocabulary_covers() -> None:
    coco = ("person", "dog", "cat", "couch")
    assert coverage("sofa", coco) == ({"couch"}, frozenset(), frozenset())
    assert coverage("man", coco) == (frozenset(), frozenset(), {"person"})
    assert coverage("animals", coco) == (frozenset(), {"dog", "cat"}, frozenset())
    assert not any(coverage("hedgehog", coco))
