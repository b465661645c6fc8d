"""Near hashes against comparing all with all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import UsageError
from sightline.statistics.near_duplicates import near_pairs

HASHES = st.lists(st.integers(0, 2**64 - 1), max_size=40)


def found(hashes: list[int], within: int) -> list[tuple[int, int, int]]:
    batches = near_pairs(np.array(hashes, dtype=np.uint64), within=within)
    return sorted((int(a), int(b), int(bits)) for batch in batches for a, b, bits in zip(*batch, strict=True))


def by_hand(hashes: list[int], within: int) -> list[tuple[int, int, int]]:
    return [
        (i, j, (a ^ b).bit_count())
        for i, a in enumerate(hashes)
        for j, b in enumerate(hashes)
        if i < j and (a ^ b).bit_count() <= within
    ]


@given(HASHES, st.integers(0, 63))
def test_every_pair_is_found_once(hashes: list[int], within: int) -> None:
    assert found(hashes, within) == by_hand(hashes, within)


@given(st.integers(0, 2**64 - 1), st.lists(st.sets(st.integers(0, 63), max_size=6), max_size=20))
def test_neighbours_of_one_hash_are_found(centre: int, flips: list[set[int]]) -> None:
    hashes = [centre] + [centre ^ sum(1 << bit for bit in flipped) for flipped in flips]
    assert found(hashes, 6) == by_hand(hashes, 6)


@pytest.mark.parametrize("within", [-1, 64])
def test_a_distance_that_means_nothing_is_refused(within: int) -> None:
    with pytest.raises(UsageError, match="cannot be compared"):
        list(near_pairs([1, 2], within=within))
