"""Prompts that relate two things: where they are, who does what to whom, and how they hardly ever are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from sightline.expects import thing as demand
from sightline.extension import task
from sightline.records import NewPrompt
from sightline.skills.tasks._grammar import (
    PAIRS,
    Stratum,
    check_word,
    draw,
    pairing,
    pairs_of,
    several,
    with_parts,
)
from sightline.skills.tasks._things import Thing, things

PLANE: Mapping[str, str] = {
    "left of": "to the left of",
    "right of": "to the right of",
    "above": "above",
    "below": "below",
}
DEPTH: Mapping[str, str] = {"in front of": "in front of", "behind": "behind"}
RELATIONS: Mapping[str, Mapping[str, str]] = {"plane": PLANE, "depth": DEPTH, "all": {**PLANE, **DEPTH}}
ACTIONS = (
    "looking at", "chasing", "touching", "sniffing", "sitting on", "standing on", "jumping over", "carrying",
    "pushing", "pulling", "following", "running away from",
)  # fmt: skip
ARRANGEMENTS = (
    "riding on", "hugging", "balancing on", "sleeping on", "dancing with", "growing out of", "flying over",
    "hiding inside", "melting over", "hanging from",
)  # fmt: skip


@task(skill="spatial", source="GIMBRR (spatial relationships); VISOR", licence="Apache-2.0")
def spatial(
    rng: np.random.Generator,
    n: int,
    *,
    relations: str = "plane",
    pairs: str = "any",
    vocabulary: str = "coco",
) -> Iterator[NewPrompt]:
    """Prompts for one thing to the left or right of, above or below another, equally often.

    Expects both, related so. `relations` is plane (these four, which boxes show), depth (in front of, behind)
    or all. `pairs` is common (things of one place), rare (no two of one place) or any; `vocabulary` is coco
    or wide.
    """
    check_word("spatial", "relations", relations, tuple(RELATIONS))
    check_word("spatial", "pairs", pairs, PAIRS)
    size, nth = pairs_of(things("spatial", vocabulary), pairs)

    def made(where: str, words: str) -> Stratum:
        def make(number: int) -> NewPrompt:
            first, second = nth(number)
            expects = {
                "objects": [demand(first.kind), demand(second.kind)],
                "relation": {"first": first.kind, "where": where, "second": second.kind},
                "complete": True,
            }
            tags = {"skill": "spatial", "relation": where, "pairs": pairing((first, second))}
            simpler = with_parts(several((first, second)))
            return NewPrompt(f"{first.a} {words} {second.a}", tags, expects, simpler)

        return Stratum(size, make)

    yield from draw("spatial", rng, n, [made(*each) for each in RELATIONS[relations].items()])


@task(skill="directed_actions", source="GIMBRR (directed actions)", licence="Apache-2.0")
def directed_actions(
    rng: np.random.Generator, n: int, *, pairs: str = "any", vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts for an animal or a person that does something to another thing, every action equally often.

    Expects both; the action itself has no place in what is expected, so that it is not complete. `pairs` is
    common, rare or any, `vocabulary` coco or wide.
    """
    yield from _acting("directed_actions", rng, n, ACTIONS, pairs, vocabulary, _acts)


@task(skill="unusual_arrangements", source="GIMBRR (unusual arrangements)", licence="Apache-2.0")
def unusual_arrangements(
    rng: np.random.Generator, n: int, *, vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts for two things of different places in an arrangement that is hardly ever seen.

    Expects both; the arrangement itself has no place in what is expected, so that it is not complete.
    `vocabulary` is coco or wide.
    """
    yield from _acting("unusual_arrangements", rng, n, ARRANGEMENTS, "rare", vocabulary, lambda _: True)


def _acts(thing: Thing) -> bool:
    return thing.category in ("animal", "person")


def _acting(
    skill: str,
    rng: np.random.Generator,
    n: int,
    actions: tuple[str, ...],
    pairs: str,
    vocabulary: str,
    may_act: Callable[[Thing], bool],
) -> Iterator[NewPrompt]:
    """Prompts in which one thing acts on another."""
    check_word(skill, "pairs", pairs, PAIRS)
    named = things(skill, vocabulary)
    wanted = {"any": ("common", "rare"), "common": ("common",), "rare": ("rare",)}[pairs]
    chosen = [
        (first, second)
        for first in named
        for second in named
        if first != second and may_act(first) and pairing((first, second)) in wanted
    ]

    def made(action: str) -> Stratum:
        def make(number: int) -> NewPrompt:
            first, second = chosen[number]
            expects = {"objects": [demand(first.kind), demand(second.kind)], "complete": False}
            tags = {"skill": skill, "action": action, "pairs": pairing((first, second))}
            simpler = with_parts(several((first, second)))
            return NewPrompt(f"{first.a} {action} {second.a}", tags, expects, simpler)

        return Stratum(len(chosen), make)

    yield from draw(skill, rng, n, [made(action) for action in actions])
