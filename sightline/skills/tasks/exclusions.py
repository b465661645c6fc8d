"""Prompts that say what must not be there: by name, or because it does not fit a condition."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from sightline.expects import thing as demand
from sightline.extension import task
from sightline.records import NewPrompt
from sightline.skills.tasks._grammar import Stratum, check, check_word, cut, draw, single
from sightline.skills.tasks._things import Thing, things

PLACES = {
    "street": ("street", "crossing", "car park"),
    "travel": ("railway station", "airport"),
    "farm": ("farmyard", "meadow"),
    "wilderness": ("savanna", "zoo enclosure"),
    "sports": ("playing field", "beach"),
    "kitchen": ("kitchen", "restaurant table"),
    "room": ("living room", "office"),
    "bathroom": ("bathroom",),
    "garden": ("garden", "greenhouse"),
}
"""Where things are usually seen, in words."""
CONDITIONS = ("show only the {category}", "show only the one that is not {a_category}")


@task(skill="negation", source="GIMBRR (negation)", licence="Apache-2.0")
def negation(
    rng: np.random.Generator, n: int, *, absent: int = 1, setting: str = "object", vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts for one thing without another that is usually seen with it: "a bowl without any spoons".

    Expects the first, and none of the others. `absent` is how many kinds must not be there, 1 to 3. With a
    `setting` of place the first is a place, such as a kitchen, which most detectors do not know. `vocabulary`
    is coco or wide.
    """
    check("negation", "absent", absent, 1, 3)
    check_word("negation", "setting", setting, ("object", "place"))
    named = things("negation", vocabulary)
    places: dict[str, list[Thing]] = {}
    for each in named:
        places.setdefault(each.place, []).append(each)
    found: list[tuple[Thing | str, tuple[Thing, ...]]] = []
    for place, own in places.items():
        for gone in combinations(own, absent):
            hosts = [each for each in own if each not in gone] if setting == "object" else PLACES[place]
            found += [(host, gone) for host in hosts]
    yield from draw("negation", rng, n, [Stratum(len(found), lambda number: _without(*found[number]))])


def _without(host: Thing | str, gone: tuple[Thing, ...]) -> NewPrompt:
    if isinstance(host, Thing):
        kind, first, simpler = host.kind, host.a, [single(host)]
    else:
        expects = {"objects": [demand(host)], "complete": True}
        kind, first = host, f"a{'n' if host[0] in 'aeiou' else ''} {host}"
        simpler = [NewPrompt(first, {"skill": "single_object"}, expects)]
    missing = " or ".join(each.many for each in gone)
    return NewPrompt(
        f"{first} without any {missing}",
        {"skill": "negation", "absent": str(len(gone))},
        {"objects": [demand(kind)], "absent": [each.kind for each in gone], "complete": True},
        simpler,
    )


@task(skill="conditional", source="GIMBRR (conditional generation)", licence="Apache-2.0")
def conditional(
    rng: np.random.Generator, n: int, *, condition: str = "any", vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts that name two things and say which to show: "an apple or a bus: show only the food".

    Expects the one that fits the condition, and none of the other. `condition` is is (the thing of a
    category), is_not (the thing that is not of it) or any, both equally often. `vocabulary` is coco or wide.
    """
    check_word("conditional", "condition", condition, ("any", "is", "is_not"))
    named = [each for each in things("conditional", vocabulary) if each.category != "person"]
    pairs = [(a, b) for a in named for b in named if a.category != b.category]

    def made(form: int) -> Stratum:
        def make(number: int) -> NewPrompt:
            which, order = cut(number, len(pairs), 2)
            return _chosen(*pairs[which], form, swapped=bool(order))

        return Stratum(2 * len(pairs), make)

    forms = {"any": (0, 1), "is": (0,), "is_not": (1,)}[condition]
    yield from draw("conditional", rng, n, [made(form) for form in forms])


def _chosen(right: Thing, wrong: Thing, form: int, swapped: bool) -> NewPrompt:
    category = (wrong if form else right).category
    with_word = category if category in ("food", "tableware", "sports equipment") else None
    a_category = with_word or f"a{'n' if category[0] in 'aeiou' else ''} {category}"
    condition = CONDITIONS[form].format(category=category, a_category=a_category)
    first, second = (wrong, right) if swapped else (right, wrong)
    return NewPrompt(
        f"{first.a} or {second.a}: {condition}",
        {"skill": "conditional", "condition": "is_not" if form else "is", "category": category},
        {"objects": [demand(right.kind)], "absent": [wrong.kind], "complete": True},
        [single(right), single(wrong)],
    )
