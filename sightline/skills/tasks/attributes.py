"""Prompts for things with a characteristic: colours, materials, parts, and parts of other animals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import perm
from typing import Any

import numpy as np

from sightline.expects import thing as demand
from sightline.extension import task
from sightline.records import NewPrompt
from sightline.skills.tasks._grammar import (
    Stratum,
    check,
    check_word,
    cut,
    draw,
    sets_of,
    several,
    single,
    with_parts,
)
from sightline.skills.tasks._things import BY_KIND, COLOURS, Thing, listing, things, with_article

COLOURED = (
    "bicycle", "car", "motorcycle", "bus", "truck", "boat", "bench", "backpack", "umbrella", "handbag",
    "tie", "suitcase", "frisbee", "kite", "skateboard", "surfboard", "bottle", "cup", "bowl", "chair",
    "couch", "bed", "clock", "vase", "book", "cell phone", "toothbrush", "hat", "shoe", "scarf", "lamp",
    "candle", "pillow", "box", "plate", "kettle", "towel", "lantern", "mailbox", "guitar",
)  # fmt: skip
"""What comes in any colour, so that habit gives no answer away."""
MATERIALS = ("wooden", "metal", "glass", "plastic", "paper", "stone", "woollen")
PATTERNS = ("striped", "spotted", "checked")
MADE_OF = (
    "boat", "bench", "handbag", "kite", "bottle", "cup", "fork", "spoon", "bowl", "chair", "bed", "clock",
    "vase", "horse", "elephant", "car", "train", "suitcase", "apple", "teddy bear",
)  # fmt: skip
PARTS: Mapping[str, Sequence[str]] = {
    "tail": ("cat", "dog", "horse", "cow", "zebra", "giraffe", "elephant"),
    "nose": ("cat", "dog", "sheep", "cow", "bear", "teddy bear"),
    "wheels": ("bicycle", "car", "motorcycle", "bus", "truck", "skateboard"),
    "handle": (
        "cup",
        "umbrella",
        "suitcase",
        "knife",
        "tennis racket",
        "toothbrush",
        "refrigerator",
    ),
    "lid": ("bottle", "toilet", "laptop"),
    "collar": ("cat", "dog", "sheep", "bear"),
    "saddle": ("horse", "cow", "elephant", "zebra", "bicycle", "motorcycle"),
}
ATTRIBUTES = ("colour", "material", "pattern", "part")
BODIES = ("bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe")
DONORS: Mapping[str, Sequence[str]] = {
    "elephant": ("trunk", "ears"),
    "giraffe": ("neck",),
    "zebra": ("stripes",),
    "bird": ("wings", "beak"),
    "lion": ("mane", "tail"),
    "eagle": ("wings", "beak"),
    "deer": ("antlers",),
    "peacock": ("tail feathers",),
    "tiger": ("stripes",),
    "rhinoceros": ("horn",),
    "crocodile": ("tail", "teeth"),
    "rabbit": ("ears",),
    "camel": ("hump",),
    "hedgehog": ("spines",),
    "kangaroo": ("hind legs", "pouch"),
    "frog": ("legs",),
    "butterfly": ("wings",),
    "pig": ("snout",),
}


def _things(task_name: str, vocabulary: str, kinds: Sequence[str]) -> list[Thing]:
    known = {each.kind: each for each in things(task_name, vocabulary)}
    return [known[kind] for kind in kinds if kind in known]


@task(skill="compositional", source="Huang et al. 2023 (T2I-CompBench)", licence="Apache-2.0", version=2)
def colour_binding(
    rng: np.random.Generator, n: int, *, things: int = 2, vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts that name `things` different things, each in another colour; right only if none is swapped.

    The things are such as come in any colour, so that habit gives no answer away. Expects at least one of
    each in its colour. `vocabulary` is coco or wide. No two prompts ask for the same.
    """
    named = _things("colour_binding", vocabulary, COLOURED)
    check("colour_binding", "things", things, 2, 5)
    size, nth = sets_of(named, things, "any")
    orders = perm(len(COLOURS), things)

    def make(number: int) -> NewPrompt:
        which, order = cut(number, size, orders)
        return _coloured(nth(which), _arranged(COLOURS, things, order))

    yield from draw("colour_binding", rng, n, [Stratum(size * orders, make)])


def _arranged(words: Sequence[str], k: int, number: int) -> list[str]:
    """The arrangement of k different words with this number."""
    left, found = list(words), []
    for _ in range(k):
        number, which = divmod(number, len(left))
        found.append(left.pop(which))
    return found


def _coloured(chosen: Sequence[Thing], colours: Sequence[str]) -> NewPrompt:
    pairs = list(zip(colours, chosen, strict=True))
    one = [
        NewPrompt(
            with_article(f"{colour} {each.one}"),
            {"skill": "compositional", "attribute": "colour"},
            {"objects": [demand(each.kind, colour=colour)], "complete": True},
            [single(each)],
        )
        for colour, each in pairs
    ]
    if len(one) == 1:
        return one[0]
    return NewPrompt(
        listing([each.text for each in one]),
        {"skill": "compositional", "attribute": "colour binding", "objects": str(len(one))},
        {"objects": [demand(each.kind, colour=colour) for colour, each in pairs], "complete": True},
        [*one, *with_parts(several(chosen))],
    )


@task(skill="compositional", source="GIMBRR (compositional characteristics)", licence="Apache-2.0")
def compositional(
    rng: np.random.Generator, n: int, *, attribute: str = "any", vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts for one thing with a characteristic that it need not have.

    `attribute` is colour ("a purple bus"), material ("a wooden apple"), pattern ("a striped vase"), part ("a
    horse with a yellow saddle") or any, all equally often. Expects at least one, with its colour or its
    attributes; a part has no place in what is expected, so that it is not complete. `vocabulary` is coco or
    wide.
    """
    check_word("compositional", "attribute", attribute, (*ATTRIBUTES, "any"))
    coloured = _things("compositional", vocabulary, COLOURED)
    made_of = _things("compositional", vocabulary, MADE_OF)
    parts = [(BY_KIND[kind], part) for part, kinds in PARTS.items() for kind in kinds]

    def in_colour(number: int) -> NewPrompt:
        which, colour = cut(number, len(coloured), len(COLOURS))
        return _coloured([coloured[which]], [COLOURS[colour]])

    def with_part(number: int) -> NewPrompt:
        which, colour = cut(number, len(parts), len(COLOURS))
        each, part = parts[which]
        words = f"{COLOURS[colour]} {part}"
        words = words if part.endswith("s") else with_article(words)
        made = _described(each, f"{each.a} with {words}", "part", {"attributes": [f"with {words}"]})
        return made._replace(expects={**(made.expects or {}), "complete": False})

    def worded(name: str, words: Sequence[str], own: Sequence[Thing]) -> Stratum:
        def make(number: int) -> NewPrompt:
            which, word = cut(number, len(own), len(words))
            text = with_article(f"{words[word]} {own[which].one}")
            return _described(own[which], text, name, {"attributes": [words[word]]})

        return Stratum(len(own) * len(words), make)

    strata = {
        "colour": Stratum(len(coloured) * len(COLOURS), in_colour),
        "material": worded("material", MATERIALS, made_of),
        "pattern": worded("pattern", PATTERNS, coloured),
        "part": Stratum(len(parts) * len(COLOURS), with_part),
    }
    chosen = list(strata.values()) if attribute == "any" else [strata[attribute]]
    yield from draw("compositional", rng, n, chosen)


def _described(each: Thing, text: str, attribute: str, more: Mapping[str, Any]) -> NewPrompt:
    return NewPrompt(
        text,
        {"skill": "compositional", "attribute": attribute},
        {"objects": [demand(each.kind, **more)], "complete": True},
        [single(each)],
    )


@task(skill="chimeras", source="GIMBRR (chimeras)", licence="Apache-2.0")
def chimeras(rng: np.random.Generator, n: int, *, parts: int = 1) -> Iterator[NewPrompt]:
    """Prompts for an animal with a part of another: "a horse with the wings of an eagle".

    `parts` is how many parts, 1 or 2, each of another animal. Expects the animal, with the parts as
    attributes, which are not all there is to see, so that it is not complete.
    """
    check("chimeras", "parts", parts, 1, 2)
    donated = [(BY_KIND[kind], part) for kind, own in DONORS.items() for part in own]
    found = [
        (BY_KIND[body], chosen)
        for body in BODIES
        for chosen in combinations(donated, parts)
        if body not in {each.kind for each, _ in chosen}
        and not (body == "bird" and {"wings", "beak", "tail feathers"} & {part for _, part in chosen})
        and len({each.kind for each, _ in chosen}) == len({part for _, part in chosen}) == parts
    ]

    def make(number: int) -> NewPrompt:
        return _chimera(*found[number])

    yield from draw("chimeras", rng, n, [Stratum(len(found), make)])


def _chimera(body: Thing, chosen: Sequence[tuple[Thing, str]]) -> NewPrompt:
    said = [f"the {part} of {each.a}" for each, part in chosen]
    simpler = [single(each) for each in (body, *(each for each, _ in chosen))]
    if len(chosen) > 1:
        simpler += [_chimera(body, [each]) for each in chosen]
    wanted = demand(body.kind, attributes=[f"with {each}" for each in said])
    return NewPrompt(
        f"{body.a} with {listing(said)}",
        {"skill": "chimeras", "parts": str(len(chosen))},
        {"objects": [wanted], "complete": False},
        simpler,
    )
