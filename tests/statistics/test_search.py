"""Exact search, against a full sort of products worked out term by term in float64."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import DataError, UsageError
from sightline.statistics import search
from sightline.statistics.search import owners_above, top_k, top_k_owners, unit


def full_products(queries: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return (queries[:, None, :].astype(np.float64) * rows[None].astype(np.float64)).sum(axis=2)


def full_sort(queries: np.ndarray, rows: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Every product, a stable sort, cut at k: what top_k must equal."""
    products = full_products(queries, rows)
    order = np.argsort(-products, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(products, order, axis=1)


def drawn(kind: str, n: int, d: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return rng.normal(size=(n, d)).astype(np.float32)
    if kind == "tied":
        return rng.integers(-1, 2, (n, d)).astype(np.float32)
    if kind == "copies":
        few = rng.normal(size=(max(1, n // 20), d)).astype(np.float32)
        return few[rng.integers(0, len(few), n)]
    if kind == "near":
        # Neighbours nearer to each other than float32 products can tell.
        return (1 + 1e-6 * rng.normal(size=(n, d))).astype(np.float32)
    return np.full((n, d), 0.1, dtype=np.float32)


KINDS = ("normal", "tied", "copies", "near", "equal")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", [None, (7, 64), (64, 17), (1, 1)])
def test_it_equals_a_full_sort(kind: str, block: tuple[int, int] | None) -> None:
    rows, queries = drawn(kind, 700, 24, 0), drawn("normal" if kind == "equal" else kind, 30, 24, 1)
    wanted, products = full_sort(queries, rows, 25)
    found, scores = top_k(queries, rows, 25, block=block)
    assert (found == wanted).all()
    assert scores == pytest.approx(products, rel=1e-12, abs=1e-12)


@given(st.data())
def test_it_equals_a_full_sort_whatever_the_shape(data: st.DataObject) -> None:
    n, d = data.draw(st.integers(1, 60)), data.draw(st.integers(1, 6))
    rows = drawn(data.draw(st.sampled_from(KINDS)), n, d, data.draw(st.integers(0, 99)))
    queries = drawn(data.draw(st.sampled_from(KINDS)), data.draw(st.integers(1, 9)), d, 7)
    k = data.draw(st.integers(1, 70))
    block = (data.draw(st.integers(1, 9)), data.draw(st.integers(1, 70)))
    wanted, _ = full_sort(queries, rows, k)
    found, scores = top_k(queries, rows, k, block=block, threads=data.draw(st.integers(1, 3)))
    most = min(k, n)
    assert (found[:, :most] == wanted).all() and (found[:, most:] == -1).all()
    assert (np.isnan(scores) == (found < 0)).all()


def test_neither_threads_nor_blocks_change_a_digit() -> None:
    rows, queries = drawn("normal", 3000, 100, 2), drawn("normal", 90, 100, 3)
    one = top_k(queries, rows, 40, threads=1)
    for threads, block in ((2, None), (3, (11, 100)), (1, (90, 3000))):
        found, scores = top_k(queries, rows, 40, threads=threads, block=block)
        assert (found == one[0]).all() and (scores == one[1]).all()


def test_rows_that_crowd_within_rounding_stay_in_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    # All of 20,000 rows are nearly equal for every query: pending ones must be ranked on the way.
    ranked = []
    rank = search._Block.rank
    monkeypatch.setattr(search._Block, "rank", lambda self: (ranked.append(self._held), rank(self))[1])
    rows, queries = drawn("near", 20_000, 8, 4), np.ones((4, 8), dtype=np.float32)
    wanted, _ = full_sort(queries, rows, 10)
    assert (top_k(queries, rows, 10, block=(4, 500))[0] == wanted).all()
    assert len(ranked) > 2 and max(ranked) < 4 * 20_000


def test_a_query_of_zeros_and_no_rows_or_queries() -> None:
    rows = drawn("normal", 50, 4, 0)
    assert top_k(np.zeros((1, 4)), rows, 3)[0].tolist() == [[0, 1, 2]]
    assert top_k(np.zeros((0, 4)), rows, 3)[0].shape == (0, 3)
    assert top_k(rows[:2], np.zeros((0, 4)), 3)[0].tolist() == [[-1] * 3] * 2


def test_a_memory_mapped_file_of_any_number_type(tmp_path: Path) -> None:
    rows, queries = drawn("normal", 400, 12, 5), drawn("normal", 6, 12, 6)
    for dtype in (np.float32, np.float64, np.float16):
        np.save(tmp_path / "rows.npy", rows.astype(dtype))
        mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
        wanted, _ = full_sort(queries, rows.astype(dtype).astype(np.float32), 9)
        assert (top_k(queries, mapped, 9, block=(6, 100))[0] == wanted).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused_by_name(bad: float) -> None:
    rows = drawn("normal", 3000, 4, 0)
    rows[2500, 1] = bad
    with pytest.raises(DataError, match="row 2500 is not finite"):
        top_k(rows[:2], rows, 3)
    with pytest.raises(DataError, match="query 0 is not finite"):
        top_k(rows[2500:], rows[:10], 3)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: top_k(rows[:2, :3], rows, 3), "3 dimensions and rows 4"),
        (lambda rows: top_k(rows[0], rows, 3), "no matrix of numbers"),
        (lambda rows: top_k(rows[:2], rows.astype(str), 3), "no matrix of numbers"),
        (lambda rows: top_k(rows[:2], rows, 0), "k is 0"),
        (lambda rows: top_k(rows[:2], rows, 3, threads=0), "0 threads"),
        (lambda rows: top_k_owners(rows[:1], rows[:2], [1, 0], 1), "ordered by their owners"),
    ],
)
def test_other_wrong_input(call: Callable[[np.ndarray], object], said: str) -> None:
    with pytest.raises((DataError, UsageError, ValueError), match=said):
        call(drawn("normal", 30, 4, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_owners_are_as_good_as_their_best_row(kind: str) -> None:
    rng = np.random.default_rng(8)
    owner = np.sort(rng.choice(40, 300))
    owner[owner > 36] = 36  # one owner with many rows
    rows, queries = drawn(kind, 300, 10, 9), drawn("normal", 12, 10, 10)
    products = full_products(queries, rows)
    each = np.array([[row[owner == number].max(initial=-np.inf) for number in range(37)] for row in products])
    for k in (1, 5, 37, 50):
        found, scores = top_k_owners(queries, rows, owner, k)
        wanted = np.argsort(-each, axis=1, kind="stable")[:, :k]
        most = min(k, int(np.isfinite(each[0]).sum()))
        assert (found[:, :most] == wanted[:, :most]).all() and (found[:, most:] == -1).all()
        assert scores[:, :most] == pytest.approx(np.take_along_axis(each, wanted[:, :most], axis=1))


@pytest.mark.parametrize("kind", ["tied", "copies", "normal"])
def test_owners_above_a_limit(kind: str) -> None:
    rng = np.random.default_rng(11)
    owner = np.sort(rng.choice(40, 300))
    rows, queries = drawn(kind, 300, 10, 12), drawn(kind, 150, 10, 13)
    products = full_products(queries, rows)
    found = list(owners_above(queries, rows, owner, 1.5))
    assert len(found) == 150
    for row, (owners, scores) in zip(products, found, strict=True):
        each = {int(number): row[owner == number].max() for number in np.unique(owner)}
        wanted = sorted((-value, number) for number, value in each.items() if value > 1.5)
        # Float32 products of rows that are no copies may tie where true ones do not: the order is by value.
        assert scores == pytest.approx([-value for value, _ in wanted], rel=1e-5)
        assert set(owners.tolist()) == {number for _, number in wanted}
        if kind == "tied":
            assert owners.tolist() == [number for _, number in wanted]


def test_owners_above_in_several_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, queries, owner = drawn("tied", 300, 6, 1), drawn("tied", 9, 6, 2), np.arange(300) // 3
    whole = list(owners_above(queries, rows, owner, 0.5))
    monkeypatch.setattr(search, "ROWS", 1)
    for one, other in zip(whole, owners_above(queries, rows, owner, 0.5, block=2), strict=True):
        assert one[0].tolist() == other[0].tolist() and one[1].tolist() == other[1].tolist()


def test_nothing_is_above_where_there_is_nothing() -> None:
    assert list(owners_above(np.zeros((0, 2)), np.ones((3, 2)), [0, 1, 2], 0.5)) == []
    ((owners, scores),) = owners_above(np.ones((1, 2)), np.zeros((0, 2)), [], 0.5)
    assert owners.size == scores.size == 0


@pytest.mark.parametrize("block", [1, 7, 1024])
def test_unit_rows_in_blocks_are_those_of_double_precision(
    block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "ROWS", block)
    rng = np.random.default_rng(14)
    rows = (rng.normal(size=(50, 9)) * 10.0 ** rng.integers(-30, 18, (50, 1))).astype(np.float32)
    rows[3] = 0
    double = rows.astype(np.float64)
    lengths = np.linalg.norm(double, axis=1, keepdims=True)
    wanted = double / np.where(lengths > 0, lengths, 1)
    for vectors in (rows, np.asfortranarray(rows), rows.tolist()):
        found = unit(vectors)
        assert found.dtype == np.float32
        # Lengths added up in another order differ in the last bit of float64, so of float32 in one at most.
        np.testing.assert_allclose(found, wanted, rtol=2.0**-23, atol=1e-45)
    assert unit(rows[:0]).shape == (0, 9)
    assert np.isnan(unit([[1.0, np.nan], [0.0, 2.0]])).any(axis=1).tolist() == [True, False]
    assert not np.shares_memory(unit(rows), rows)


def test_rows_of_double_precision_count_as_single() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        # Nearer to each other than float32 can tell: there they are equal, and keep their order.
        rows = rng.normal(size=(1, 12)) + 1e-9 * rng.normal(size=(90, 12))
        queries = rng.normal(size=(5, 12)).astype(np.float32)
        wanted, products = full_sort(queries, rows.astype(np.float32), 20)
        found, scores = top_k(queries, rows, 20, block=(5, 16))
        assert (found == wanted).all() and (scores == products).all()


PEAK = """
import re
from pathlib import Path
import numpy as np
from sightline.statistics.search import top_k, unit
rows = np.random.default_rng(0).standard_normal({shape}, "f4")
run = lambda part: {call}
run(10)
peak = lambda: int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
before = peak()
run(None)
print(peak() - before)
"""


@pytest.mark.parametrize(
    ("call", "shape", "most"),
    [
        # 60,000 x 256 numbers of 4 bytes are 60,000 kB; one copy of 8 bytes would be twice that.
        ("unit(rows[:part])", (60_000, 256), 75_000),
        # 20,000 rows x 4,000 queries are 320 MB of float32 products; 64 dimensions take 5 MB.
        ("top_k(rows[: part or 4_000], rows, 20)", (20_000, 64), 120_000),
    ],
)
def test_memory_is_bounded(call: str, shape: tuple[int, int], most: int) -> None:
    if not Path("/proc/self/status").exists():
        pytest.skip("not needed here: no /proc to read the peak from")
    program = PEAK.format(call=call, shape=shape)
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert re.fullmatch(r"\d+\n", done.stdout) and int(done.stdout) < most
