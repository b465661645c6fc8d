"""Fusion of rankings, by hand arithmetic and against loops over dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.statistics.fusion import comb_mnz, comb_sum, rrf, scaled

# Query 0: engine 0 lists a, b, c (0, 1, 2) with scores 10, 6, 2; engine 1 lists c, a with 0.9, 0.1.
QUERY = [0, 0, 0, 0, 0]
ENGINE = [0, 0, 0, 1, 1]
ITEM = [0, 1, 2, 2, 0]
SCORE = [10.0, 6.0, 2.0, 0.9, 0.1]
RANK = [1, 2, 3, 1, 2]


def test_rrf_by_hand() -> None:
    query, item, value = rrf(QUERY, ITEM, RANK)
    # a: 1/61 + 1/62; c: 1/63 + 1/61; b: 1/62.
    assert item.tolist() == [0, 2, 1] and query.tolist() == [0, 0, 0]
    assert value == pytest.approx([1 / 61 + 1 / 62, 1 / 63 + 1 / 61, 1 / 62])


def test_comb_sum_and_mnz_by_hand() -> None:
    # Min-max: engine 0 gives a 1, b 0.5, c 0; engine 1 gives c 1, a 0. Sums: a 1, c 1, b 0.5.
    _, item, value = comb_sum(QUERY, ENGINE, ITEM, SCORE)
    assert item.tolist() == [0, 2, 1] and value == pytest.approx([1, 1, 0.5])
    _, item, value = comb_mnz(QUERY, ENGINE, ITEM, SCORE)
    assert item.tolist() == [0, 2, 1] and value == pytest.approx([2, 2, 0.5])


def test_z_by_hand() -> None:
    # Engine 0: SD of 10, 6, 2 is sqrt(32/3); a (10-2)/SD, b 4/SD. Engine 1: SD of .9, .1 is .4; c .8/.4 = 2.
    sd = np.sqrt(32 / 3)
    assert scaled(QUERY, ENGINE, SCORE, scaling="z") == pytest.approx([8 / sd, 4 / sd, 0, 2, 0])
    _, item, value = comb_sum(QUERY, ENGINE, ITEM, SCORE, scaling="z")
    assert item.tolist() == [0, 2, 1] and value == pytest.approx([8 / sd, 2, 4 / sd])


def test_a_list_of_equal_scores_counts_as_found() -> None:
    for scaling in ("minmax", "z"):
        assert scaled([0, 0, 1], [0, 0, 0], [5, 5, -3], scaling=scaling).tolist() == [1, 1, 1]  # type: ignore[arg-type]


def test_nothing_and_wrong_input() -> None:
    assert [part.size for part in rrf([], [], [])] == [0, 0, 0]
    assert [part.size for part in comb_mnz([], [], [], [])] == [0, 0, 0]
    for call, said in (
        (lambda: comb_sum([0], [0], [0], [np.nan]), "not finite"),
        (lambda: comb_sum([0], [0], [0], [1], scaling="max"), "none of minmax, z"),  # type: ignore[arg-type]
        (lambda: rrf([0, 1], [0, 1], [1]), "different lengths"),
        (lambda: rrf([0], [0], [1], k=-1), "0 or more"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


runs = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 5), st.integers(-4, 4)),
    unique_by=lambda row: row[:3],
    max_size=40,
)


@given(runs, st.sampled_from(["minmax", "z"]), st.randoms())
def test_columns_equal_loops_over_dictionaries(rows: list, scaling: str, chance: object) -> None:
    lists: dict[tuple[int, int], dict[int, float]] = {}
    for query, engine, item, score in rows:
        lists.setdefault((query, engine), {})[item] = float(score)
    sums: dict[tuple[int, int], float] = {}
    times: dict[tuple[int, int], int] = {}
    for (query, _), scores in lists.items():
        listed = np.array(list(scores.values()))
        spread = np.ptp(listed) if scaling == "minmax" else listed.std()
        for item, score in scores.items():
            part = (score - listed.min()) / spread if np.ptp(listed) else 1.0
            sums[query, item] = sums.get((query, item), 0) + part
            times[query, item] = times.get((query, item), 0) + 1
    chance.shuffle(rows)  # type: ignore[attr-defined]
    columns = [np.array([row[n] for row in rows], dtype=float) for n in range(4)]
    products = {key: value * times[key] for key, value in sums.items()}
    for fuse, wanted in ((comb_sum, sums), (comb_mnz, products)):
        query, item, value = fuse(*columns, scaling=scaling)  # type: ignore[arg-type]
        found = dict(zip(zip(query.tolist(), item.tolist(), strict=True), value.tolist(), strict=True))
        assert found == pytest.approx(wanted)
        keys = list(zip(query.tolist(), (-value).tolist(), item.tolist(), strict=True))
        assert keys == sorted(keys)


@given(runs)
def test_rrf_is_one_over_ranks(rows: list) -> None:
    ranks: dict[tuple[int, int], list[float]] = {}
    for query, _, item, score in rows:
        ranks.setdefault((query, item), []).append(score + 5)
    query, item, value = rrf(*([row[n] for row in rows] for n in (0, 2)), [row[3] + 5 for row in rows], k=3)
    found = dict(zip(zip(query.tolist(), item.tolist(), strict=True), value.tolist(), strict=True))
    assert found == pytest.approx(
        {key: sum(1 / (3 + rank) for rank in given) for key, given in ranks.items()}
    )
