"""How prompts are chosen without repeats and in equal shares, and the simple ones that others build on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from sightline.errors import UsageError
from sightline.expects import thing as demand
from sightline.records import NewPrompt
from sightline.skills.tasks._things import Thing, listing

PAIRS = ("any", "common", "rare")
LARGEST = 2**60
"""So many prompts are told apart; grammars with more are used up to here."""


class Stratum(NamedTuple):
    """Prompts of one sort, such as those that ask for three: how many there are, and each by its number."""

    size: int
    make: Callable[[int], NewPrompt]


def draw(
    task: str, rng: np.random.Generator, n: int, strata: Sequence[Stratum], remedy: str = ""
) -> Iterator[NewPrompt]:
    """n different prompts, the strata taking turns as long as they have any left."""
    possible = sum(each.size for each in strata)
    if n > possible:
        raise UsageError(
            f"{task} has {possible:,} different prompts with these parameters, not {n:,}",
            remedy=remedy or "Ask for fewer prompts, or widen its parameters.",
        )
    wanted = _turns([each.size for each in strata], n)
    chosen = [
        rng.choice(min(each.size, LARGEST), count, replace=False) if count else ()
        for each, count in zip(strata, wanted, strict=True)
    ]
    for place in range(max(wanted, default=0)):
        for each, numbers in zip(strata, chosen, strict=True):
            if place < len(numbers):
                yield each.make(int(numbers[place]))


def _turns(sizes: Sequence[int], n: int) -> list[int]:
    """How many of each: equal shares, none more than it has; the first ones get what is left over."""
    taken = [0] * len(sizes)
    while n > 0:
        open_ = [k for k, size in enumerate(sizes) if taken[k] < size]
        share = max(1, n // len(open_))
        for k in open_:
            more = min(share, sizes[k] - taken[k], n)
            taken[k] += more
            n -= more
    return taken


def check(task: str, name: str, value: int, least: int, most: int) -> None:
    """Refuse a parameter outside its range."""
    if not least <= value <= most:
        raise UsageError(f"{task}: {name}={value}", remedy=f"Between {least} and {most}.")


def check_word(task: str, name: str, value: str, allowed: Sequence[str]) -> None:
    """Refuse a parameter that is none of its words."""
    if value not in allowed:
        raise UsageError(f"{task}: {name}={value!r}", remedy=f"It is one of {', '.join(allowed)}.")


def cut(number: int, *sizes: int) -> list[int]:
    """A number taken apart into one number below each size: the number of a combination of choices."""
    found = []
    for size in sizes:
        number, rest = divmod(number, size)
        found.append(rest)
    return found


def sets_of(things: Sequence[Thing], k: int, pairs: str) -> tuple[int, Callable[[int], list[Thing]]]:
    """How many sets of k things there are, and each by its number.

    Of common things all are of one place, of rare things no two are.
    """
    places: dict[str, list[Thing]] = {}
    for each in things:
        places.setdefault(each.place, []).append(each)
    if pairs == "rare":
        parts = [[places[name] for name in chosen] for chosen in combinations(places, k)]
        sizes = [prod(map(len, part)) for part in parts]
    else:
        parts = [[own] for own in ([list(things)] if pairs == "any" else places.values())]
        sizes = [comb(len(part[0]), k) for part in parts]

    def nth(number: int) -> list[Thing]:
        at = 0
        while number >= sizes[at]:
            number -= sizes[at]
            at += 1
        if pairs == "rare":
            chosen = cut(number, *map(len, parts[at]))
            made = [own[which] for own, which in zip(parts[at], chosen, strict=True)]
        else:
            made = [parts[at][0][which] for which in _combination(number, len(parts[at][0]), k)]
        # A set has no order of its own: which is named first should not always follow the list of things.
        turn = number % k
        return made[turn:] + made[:turn]

    return sum(sizes), nth


def _combination(number: int, total: int, k: int) -> list[int]:
    """The combination of k out of total with this number, in the order of the dictionary."""
    found: list[int] = []
    at = 0
    while len(found) < k:
        after = comb(total - at - 1, k - len(found) - 1)
        if number < after:
            found.append(at)
        else:
            number -= after
        at += 1
    return found


def pairs_of(things: Sequence[Thing], pairs: str) -> tuple[int, Callable[[int], tuple[Thing, Thing]]]:
    """How many ordered pairs of things there are, and each by its number."""
    size, nth = sets_of(things, 2, pairs)

    def pair(number: int) -> tuple[Thing, Thing]:
        swapped, which = divmod(number, size)
        first, second = nth(which)
        return (second, first) if swapped else (first, second)

    return 2 * size, pair


def single(thing: Thing) -> NewPrompt:
    """The prompt for one object, on which all others that use it build."""
    return NewPrompt(thing.a, {"skill": "single_object"}, {"objects": [demand(thing.kind)], "complete": True})


def several(things: Sequence[Thing]) -> NewPrompt:
    """The prompt for some objects together."""
    return NewPrompt(
        listing([each.a for each in things]),
        {"skill": "multiple_objects", "objects": str(len(things)), "pairs": pairing(things)},
        {"objects": [demand(each.kind) for each in things], "complete": True},
        [single(each) for each in things],
    )


def pairing(things: Sequence[Thing]) -> str:
    """Whether things are usually seen together: all of one place, no two of one place, or neither."""
    places = {each.place for each in things}
    return "common" if len(places) == 1 else "rare" if len(places) == len(things) else "mixed"


def counted(things: Sequence[Thing], numbers: Sequence[int]) -> NewPrompt:
    """The prompt for an exact number of each thing."""
    parts = list(zip(things, numbers, strict=True))
    if len(parts) == 1:
        tags, simpler = {"number": str(numbers[0])}, [single(things[0])]
    else:
        tags = {"numbers": " ".join(map(str, numbers)), "pairs": pairing(things)}
        simpler = [*(counted([each], [n]) for each, n in parts if n > 1), *with_parts(several(things))]
    return NewPrompt(
        listing([each.counted(number) for each, number in parts]),
        {"skill": "counting", "objects": str(len(parts)), **tags},
        {"objects": exactly(things, numbers), "complete": True},
        simpler,
    )


def exactly(things: Sequence[Thing], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Demands for exact numbers."""
    return [demand(each.kind, n, at_least=False) for each, n in zip(things, numbers, strict=True)]


def with_parts(prompt: NewPrompt) -> list[NewPrompt]:
    """A prompt and the simpler ones that it builds on."""
    return [prompt, *prompt.builds_on]
