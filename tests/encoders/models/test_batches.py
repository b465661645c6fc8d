"""Batches of texts: every row once, and never more threads of BLAS than there are cores."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from sightline.cores import cores
from sightline.encoders.models._batches import alike, equal, on_all_cores


def blas() -> list[int]:
    return [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]


@given(st.lists(st.integers(0, 9), max_size=40), st.integers(1, 7))
def test_every_row_is_in_one_batch(lengths: list[int], most: int) -> None:
    for batches in (list(alike(lengths, most)), list(equal(lengths, most))):
        assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
        assert all(0 < len(batch) <= most for batch in batches)
    assert all(len({lengths[row] for row in batch}) == 1 for batch in equal(lengths, most))
    spread = [length for batch in alike(lengths, most) for length in (lengths[row] for row in batch)]
    assert spread == sorted(lengths)


def test_batches_share_the_cores_with_one_thread_each() -> None:
    before, seen, threads = blas(), [], set()

    def work(batch: int) -> int:
        seen.append(blas())
        threads.add(threading.get_ident())
        return -batch

    assert on_all_cores(work, range(8)) == [0, -1, -2, -3, -4, -5, -6, -7]
    assert seen == [[1] * len(before)] * 8 and len(threads) <= cores()
    assert blas() == before
    assert on_all_cores(work, [3]) == [-3] and on_all_cores(work, []) == []


def test_several_encoders_at_once_leave_the_limit_as_it_was() -> None:
    before = blas()
    several = [threading.Thread(target=on_all_cores, args=(lambda n: n, range(20))) for _ in range(6)]
    for each in several:
        each.start()
    for each in several:
        each.join()
    assert blas() == before
