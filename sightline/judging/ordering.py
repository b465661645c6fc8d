"""Everything that a round of judging leaves to chance, each choice recorded by the round's seed.

A choice is a function of the seed and of what it is made for (an annotator, a block of pages, a page), never
of when it is asked for: two servers, or one that was killed, choose the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping
from enum import IntEnum
from itertools import accumulate
from math import comb, isqrt

import numpy as np

MOST_REPEATS = 50
"""So many draws in a row that were all drawn before: probably nothing new is left."""


class Purpose(IntEnum):
    """What chance is asked for; part of each choice's key, so that no two choices share their numbers."""

    SAMPLE = 1
    PAGES = 2
    DRAWS = 3
    ITEMS = 4
    ATTENTION = 5
    CONTROLS = 6
    ORDER = 7
    PAGE = 8
    REPEAT = 9
    KNOWN = 10
    CHOICE = 11


def generator(seed: int, purpose: Purpose, *key: int) -> np.random.Generator:
    """The random numbers of one choice; other keys give independent ones."""
    # Every number of the key takes two words of 32 bits, since SeedSequence joins words without marking where
    # a number ends: (1, 2) must not be the same as one large number.
    words = [word for number in (int(purpose), *key) for word in divmod(number, 2**32)]
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=words))


def control_places(seed: int, annotator_id: int, block: int, pages: int, of: int) -> frozenset[int]:
    """The control pages of a block: `pages` of the places 0 to `of` - 1, all choices equally likely."""
    chosen = generator(seed, Purpose.CONTROLS, annotator_id, block).choice(of, pages, replace=False)
    return frozenset(int(place) for place in chosen)


def starting_place(seed: int, annotator_id: int, page: int, items: int) -> int:
    """Where among a round's items, numbered from 0, the search for the one on a page begins.

    A page gets the first fitting item from there on, so that an annotator's order is random from page to
    page and a database finds it without sorting. Items behind those already taken come a little sooner, which
    favours none, since a round's items are numbered at random.
    """
    return int(generator(seed, Purpose.ORDER, annotator_id, page).integers(max(items, 1)))


def shuffled(
    seed: int, annotator_id: int, page: int, slots: int, swaps: bool = False
) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    """How one page is shown: the item's slots in order of appearance, and whether each has A and B swapped.

    `page` is the number of the annotator's page; all orders and all patterns of swaps are equally likely.
    """
    rng = generator(seed, Purpose.PAGE, annotator_id, page)
    order = tuple(int(slot) for slot in rng.permutation(slots))
    if not swaps:
        return order, (False,) * slots
    return order, tuple(bool(flag) for flag in rng.integers(2, size=slots))


def repeats_here(seed: int, annotator_id: int, page: int, share: float) -> bool:
    """Whether a page shows again what the annotator judged before, so often that `share` of the work does.

    One page of work and `share` repeats of it are 1 + share pages: the chance is share / (1 + share).
    """
    return bool(generator(seed, Purpose.REPEAT, annotator_id, page).random() < share / (1 + share))


def in_random_order(rng: np.random.Generator, population: int) -> Iterator[int]:
    """The numbers below `population`, each once, every order equally likely.

    Fisher-Yates over a list that is never written down: the first few of very many cost only those few.
    """
    moved: dict[int, int] = {}
    for last in range(population - 1, -1, -1):
        place = int(rng.integers(last + 1))
        yield moved.get(place, place)
        at_end = moved.pop(last, last)
        if place != last:
            moved[place] = at_end


def pairs(n: int) -> int:
    """How many pairs n things make."""
    return comb(n, 2)


def pair(number: int) -> tuple[int, int]:
    """The pair of this number, counted (0, 1), (0, 2), (1, 2), (0, 3), ...: every pair has one number."""
    high = (1 + isqrt(1 + 8 * number)) // 2
    return number - comb(high, 2), high


def triplets(n: int) -> int:
    """How many triplets n things make: one is the reference, the order of the other two does not matter."""
    return n * comb(n - 1, 2) if n else 0


def triplet(number: int, n: int) -> tuple[int, int, int]:
    """The triplet of this number among n things: the reference, and a pair of the others."""
    reference, rest = divmod(number, comb(n - 1, 2))
    low, high = pair(rest)
    # The pair is counted without the reference: what stands at or behind it moves up by one.
    return reference, low + (low >= reference), high + (high >= reference)


def combinations(
    rng: np.random.Generator, answered: Mapping[int, frozenset[int]], *, triple: bool, across: bool
) -> Iterator[tuple[int, int, int]]:
    """All (reference, A, B), or (0, A, B) unless `triple`: each once, all orders equally likely.

    `answered` are images with the systems that answered with them. Within systems, what two of them both
    answered with has a number in each; only the first counts, which leaves every combination the same chance.
    A is the lower id. With `across`, different systems can have answered with A and B.
    """
    groups: dict[int, list[int]] = {0: sorted(answered)} if across else {}
    for image in () if across else sorted(answered):
        for system in sorted(answered[image]):
            groups.setdefault(system, []).append(image)
    names = sorted(groups)
    ends = list(accumulate((triplets if triple else pairs)(len(groups[name])) for name in names))
    for number in in_random_order(rng, ends[-1] if ends else 0):
        at = bisect_right(ends, number)
        group, inner = groups[names[at]], number - (ends[at - 1] if at else 0)
        chosen = [group[place] for place in (triplet(inner, len(group)) if triple else pair(inner))]
        if across:
            counts = len(answered[chosen[-2]] | answered[chosen[-1]]) > 1
        else:
            counts = min(frozenset.intersection(*(answered[image] for image in chosen))) == names[at]
        if counts:
            yield (chosen[0] if triple else 0, chosen[-2], chosen[-1])


def by_system(answered: Mapping[int, frozenset[int]]) -> list[Mapping[int, frozenset[int]]]:
    """The images of each system apart; one that several answered with is in each."""
    systems = sorted(frozenset[int]().union(*answered.values()))
    own = {system: frozenset((system,)) for system in systems}
    return [{image: own[each] for image, of in answered.items() if each in of} for each in systems]


def dealt(
    rng: np.random.Generator, answered: Mapping[int, frozenset[int]], size: int
) -> Iterator[tuple[int, ...]]:
    """Sets of `size` images by as many systems, none twice; smaller ones where there are fewer systems.

    `answered` are images with the systems that answered with them. Systems are dealt like cards, so that all
    come about equally often, each with one of its images at random.
    """
    by_system: dict[int, list[int]] = {}
    for image in sorted(answered):
        for system in sorted(answered[image]):
            by_system.setdefault(system, []).append(image)
    systems = sorted(by_system)
    size = min(size, len(systems))
    drawn: set[frozenset[int]] = set()
    repeats = 0
    while size >= 2 and repeats < MOST_REPEATS:
        order = [systems[int(n)] for n in rng.permutation(len(systems))]
        for first in range(0, len(order) - size + 1, size):
            images = tuple(int(rng.choice(by_system[each])) for each in order[first : first + size])
            # What two systems both answered with cannot be compared with itself.
            fresh = len(set(images)) == size and frozenset(images) not in drawn
            repeats = 0 if fresh else repeats + 1
            if fresh:
                drawn.add(frozenset(images))
                yield images
