"""Pages of judging as the papers describe them."""

from __future__ import annotations

from sightline import registry
from sightline.records import Mode


def mode(name: str) -> Mode:
    return registry.configure("annotation_mode", name).load()()


def test_two_sliders_of_agiqa() -> None:
    found = mode("two_sliders")
    assert [(each.name, each.low, each.high, each.step) for each in found.questions] == [
        ("quality", 0, 5, 0.1),
        ("alignment", 0, 5, 0.1),
    ]
    assert found.images == 1


def test_relevance4_of_pqpp_can_be_settled_by_hbpp() -> None:
    found = mode("relevance4")
    assert found.images == 5
    assert set(found.questions[0].labels) == {"2", "1", "0", "-1"}
    assert found.questions[0].scale in registry.get("consensus", "hbpp").spec.details["scales"]


def test_yes_no_of_gimbrr() -> None:
    assert mode("yes_no").questions[0].labels == {"1": "yes", "0": "no"}
