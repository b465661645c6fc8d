"""Chance in a round: recorded by the seed, fair to every place, order, pair and triplet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import combinations as all_of
from itertools import islice, permutations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from sightline.judging.ordering import (
    Purpose,
    combinations,
    control_places,
    dealt,
    generator,
    in_random_order,
    pair,
    pairs,
    repeats_here,
    shuffled,
    starting_place,
    triplet,
    triplets,
)

ALMOST_NEVER = 1e-4
"""Seeds are fixed, so that a test passes always or never; a fair choice would rarely be this uneven."""


def even(found: Iterable[object], possible: int) -> bool:
    """Whether all possible outcomes came up, about equally often."""
    counts = Counter(found)
    assert len(counts) == possible
    return float(chisquare(list(counts.values())).pvalue) > ALMOST_NEVER


def test_an_uneven_choice_would_be_noticed() -> None:
    rng = np.random.default_rng(0)
    assert not even((min(int(n), 8) for n in rng.integers(10, size=4000)), 9)


# -- keys -------------------------------------------------------------------------------------------------


def test_the_same_key_gives_the_same_numbers_and_no_other_does() -> None:
    keys = [(0,), (0, 0), (0, 1), (0, 0, 0), (1,), (2**32,), (0, 1, 2), (0, 2**32 * 2 + 1)]

    def drawn(purpose: Purpose) -> list[int]:
        return [int(generator(seed, purpose, *key).integers(2**62)) for seed, *key in keys]

    assert len({*drawn(Purpose.PAGES), *drawn(Purpose.DRAWS)}) == 2 * len(keys)
    assert drawn(Purpose.PAGES) == drawn(Purpose.PAGES)


# -- control pages ----------------------------------------------------------------------------------------


@given(st.integers(0, 2**63 - 1), st.integers(1, 2**40), st.integers(0, 10**6), st.data())
def test_a_block_has_as_many_controls_as_asked(seed: int, who: int, block: int, data: st.DataObject) -> None:
    of = data.draw(st.integers(1, 60))
    pages = data.draw(st.integers(0, of))
    places = control_places(seed, who, block, pages, of)
    assert len(places) == pages and places <= set(range(of))
    assert places == control_places(seed, who, block, pages, of)


def test_the_place_of_a_control_cannot_be_told() -> None:
    assert even((control_places(7, who, 0, 1, 5) for who in range(5000)), 5)
    assert even((control_places(7, 1, block, 1, 5) for block in range(5000)), 5)
    # Two of six: all 15 choices alike, so that one control says nothing of where the other is.
    assert even((control_places(s, 1, 2, 2, 6) for s in range(6000)), comb(6, 2))


@pytest.mark.slow
def test_the_place_in_one_block_tells_nothing_of_the_next() -> None:
    both = [(control_places(3, who, 0, 1, 5), control_places(3, who, 1, 1, 5)) for who in range(10_000)]
    assert even(both, 25)
    assert even(
        [(control_places(3, who, 0, 1, 5), control_places(3, who + 1, 0, 1, 5)) for who in range(9999)], 25
    )


def test_repeats_come_as_often_as_asked() -> None:
    # A fifth of the work again: of 6 pages 5 are work and 1 is a repeat. 6 SE of 30,000 draws are 0.0129.
    drawn = [repeats_here(1, 4, page, 0.2) for page in range(30_000)]
    assert sum(drawn) / len(drawn) == pytest.approx(1 / 6, abs=0.0129)
    assert not any(repeats_here(1, 4, page, 0.0) for page in range(1000))


# -- orders -----------------------------------------------------------------------------------------------


def test_the_search_begins_anywhere_equally_often() -> None:
    assert even((starting_place(5, who, 0, 12) for who in range(4000)), 12)
    assert even((starting_place(5, 1, page, 12) for page in range(4000)), 12)
    assert starting_place(5, 1, 0, 0) == 0


def taken(who: int, items: int) -> list[int]:
    """The order one annotator gets the items in, if nobody else is there."""
    free, order = set(range(items)), []
    for page in range(items):
        start = starting_place(5, who, page, items)
        found = min(free, key=lambda item: (item < start, item))
        free.remove(found)
        order.append(found)
    return order


def test_annotators_have_orders_of_their_own() -> None:
    places = np.array([np.argsort(taken(who, 100)) for who in range(200)])
    rho = np.corrcoef(places)[np.triu_indices(200, 1)]
    # Independent orders of n items: rho has mean 0 and SD 1/sqrt(n - 1) = 0.1005.
    assert abs(rho.mean()) < 0.01 and abs(rho.std() - 0.1005) < 0.015
    # No item is early or late on average: the mean place of each over 200 people has SD 100/sqrt(12 x 200).
    assert np.abs(places.mean(axis=0) - 49.5).max() < 4 * 100 / np.sqrt(12 * 200)


@given(st.integers(0, 2**63 - 1), st.integers(1, 99), st.integers(0, 99), st.integers(0, 40), st.booleans())
def test_a_page_shows_every_slot_once(seed: int, who: int, page: int, slots: int, swaps: bool) -> None:
    order, swapped = shuffled(seed, who, page, slots, swaps)
    assert sorted(order) == list(range(slots)) and len(swapped) == slots
    assert swaps or not any(swapped)
    assert (order, swapped) == shuffled(seed, who, page, slots, swaps)


def test_all_orders_of_a_page_and_all_swaps_are_alike() -> None:
    assert even((shuffled(1, who, 0, 4)[0] for who in range(6000)), 24)
    assert even((shuffled(1, 8, page, 4)[0] for page in range(6000)), 24)
    assert even((shuffled(1, 8, page, 3, True)[1] for page in range(4000)), 8)
    assert even((shuffled(1, 8, page, 2, True) for page in range(4000)), 2 * 4)


# -- drawing ----------------------------------------------------------------------------------------------


@given(st.integers(0, 300), st.integers(0, 9))
def test_every_number_comes_once(population: int, seed: int) -> None:
    assert sorted(in_random_order(np.random.default_rng(seed), population)) == list(range(population))


def test_all_orders_are_alike() -> None:
    rng = np.random.default_rng(1)
    assert even((tuple(in_random_order(rng, 4)) for _ in range(6000)), 24)
    assert even((tuple(islice(in_random_order(rng, 6), 2)) for _ in range(6000)), 30)


def test_a_few_of_very_many_cost_only_those_few() -> None:
    few = list(islice(in_random_order(np.random.default_rng(0), 10**15), 1000))
    assert len(set(few)) == 1000 and np.median(few) == pytest.approx(5e14, rel=0.15)


@given(st.integers(0, 60))
def test_every_pair_has_one_number(n: int) -> None:
    assert {pair(number) for number in range(pairs(n))} == set(all_of(range(n), 2))
    assert pairs(n) == len(list(all_of(range(n), 2)))
    assert (pair(pairs(10**9) - 1), pair(pairs(10**9))) == ((10**9 - 2, 10**9 - 1), (0, 10**9))


@given(st.integers(0, 9))
def test_every_triplet_has_one_number(n: int) -> None:
    found = [triplet(number, n) for number in range(triplets(n))]
    assert set(found) == {(r, a, b) for r, a, b in permutations(range(n), 3) if a < b}
    assert len(found) == len(set(found))


answered_images = st.dictionaries(
    st.integers(1, 30), st.frozensets(st.integers(1, 4), min_size=1), max_size=9
)


@given(answered_images, st.booleans(), st.booleans())
def test_combinations_are_those_that_are_possible(
    answered: dict[int, frozenset[int]], triple: bool, across: bool
) -> None:
    found = list(combinations(np.random.default_rng(0), answered, triple=triple, across=across))
    assert len(found) == len(set(found))
    assert set(found) == set(by_hand(answered, triple, across))


def by_hand(
    answered: dict[int, frozenset[int]], triple: bool, across: bool
) -> Iterable[tuple[int, int, int]]:
    """All of them the slow way, from what the words say."""
    for a, b in all_of(sorted(answered), 2):
        for reference in [r for r in answered if r not in (a, b)] if triple else [0]:
            images = [a, b, *([reference] if triple else [])]
            if across and any(s != t for s in answered[a] for t in answered[b]):
                yield reference, a, b
            if not across and any(all(s in answered[i] for i in images) for s in range(1, 5)):
                yield reference, a, b


@pytest.mark.parametrize("triple", [False, True])
@pytest.mark.parametrize("across", [False, True])
def test_what_several_systems_answered_with_is_not_drawn_more_often(triple: bool, across: bool) -> None:
    # Images 1 to 3 were given by all three systems, 4 and 5 by one: pairs of the first have three numbers.
    answered = {n: frozenset((1, 2, 3) if n < 4 else (2,)) for n in range(1, 6)}
    possible = len(set(by_hand(answered, triple, across)))
    rng = np.random.default_rng(2)
    first = [next(combinations(rng, answered, triple=triple, across=across)) for _ in range(300 * possible)]
    assert even(first, possible)


# -- sets to put in order ---------------------------------------------------------------------------------


def owned(systems: int, images: int) -> dict[int, frozenset[int]]:
    """So many images a system: images 10 to 19 are those of system 1."""
    return {10 * each + n: frozenset([each]) for each in range(1, systems + 1) for n in range(images)}


@given(st.integers(2, 7), st.integers(1, 3), st.integers(2, 5), st.integers(0, 99))
def test_a_set_has_an_image_each_of_different_systems(
    systems: int, images: int, size: int, seed: int
) -> None:
    found = list(islice(dealt(np.random.default_rng(seed), owned(systems, images), size), 40))
    assert len({frozenset(each) for each in found}) == len(found) > 0
    for each in found:
        assert len({image // 10 for image in each}) == len(each) == min(size, systems)


def test_all_sets_come_and_then_no_more() -> None:
    found = list(dealt(np.random.default_rng(1), owned(5, 1), 4))
    assert len(found) == comb(5, 4)
    assert list(dealt(np.random.default_rng(1), owned(1, 3), 4)) == [], "one system cannot be compared"


def test_systems_come_equally_often() -> None:
    found = list(islice(dealt(np.random.default_rng(2), owned(8, 2), 4), 10))
    # Dealt like cards: two sets of four use each of eight systems once.
    assert set(Counter(image // 10 for each in found for image in each).values()) == {5}
    drawn = (
        tuple(image // 10 for image in next(dealt(np.random.default_rng(n), owned(4, 1), 2)))
        for n in range(3000)
    )
    assert even(drawn, 12)


def test_an_image_of_two_systems_is_not_compared_with_itself() -> None:
    shared = {1: frozenset([1, 2]), 2: frozenset([2]), 3: frozenset([3])}
    for each in dealt(np.random.default_rng(3), shared, 3):
        assert sorted(each) == [1, 2, 3]
