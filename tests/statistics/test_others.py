"""Each vote beside those of the others, against the plain definition."""

from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.others import majority_of_others, mean_of_others

votes = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-1, 3), st.integers(-1, 2), st.integers(1, 3)), max_size=30
)


@given(votes)
def test_mean_of_others_is_what_it_says(rows):
    item, who, value, n = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(4))
    found = mean_of_others(item, who, value.astype(float), n.astype(float))
    assert found.shape == (len(rows),)
    for i, (of_item, of, _, _) in enumerate(rows):
        others = [
            vote
            for j, (other, by, vote, times) in enumerate(rows)
            if other == of_item and (by != of if of >= 0 else j != i)
            for _ in range(times)
        ]
        np.testing.assert_allclose(found[i], np.mean(others) if others else np.nan, atol=1e-12)


@given(votes)
def test_majority_of_others_is_what_it_says(rows):
    item, _, value, n = (np.array([row[i] for row in rows], dtype=np.int64) for i in range(4))
    found = majority_of_others(item, value.astype(float), n.astype(float))
    for i, (of_item, _, _, _) in enumerate(rows):
        others = Counter()
        for j, (other, _, vote, times) in enumerate(rows):
            if other == of_item and j != i:
                others[vote] += times
        top = [vote for vote, times in others.items() if times == max(others.values())]
        np.testing.assert_equal(found[i], top[0] if len(top) == 1 else np.nan)
