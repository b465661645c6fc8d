"""Loading costs what it should: memory by the batch, time by the row; benchmarks/load.py measures more."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from studies import put

from sightline.records import Answer, ImageKey, Item, Judgement, Prompt, PromptKey, Record
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing import entities
from sightline.study.writing.loading import load, undo


def records(n: int, mark: str) -> Iterator[Record]:
    for i in range(n):
        key = PromptKey(mark, str(i // 20))
        if i % 20 == 0:
            yield Prompt(key, f"prompt {i // 20}")
        yield Answer(key, f"sys{i % 4}", i % 20 // 4, ImageKey(mark, f"img{i}.png"), 0.5, i, at=f"f.csv:{i}")


@pytest.mark.slow
def test_memory_is_bounded_by_the_batch(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entities, "REMEMBERED", 1_000)
    load(study, records(1_000, "warm"), importer="t", path="p", digest="w", batch=500)
    peaks = []
    for n in (2_000, 8_000):
        tracemalloc.start()
        load(study, records(n, f"s{n}"), importer="t", path="p", digest=str(n), batch=500)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Four times the rows: kept in memory they would be four times the peak.
    assert peaks[1] < 1.3 * peaks[0]
    assert reading.counts(study)["answer"] == 11_000


def test_the_time_of_loading_grows_with_the_rows(tmp_path: Path) -> None:
    took = []
    with create_study(tmp_path / "s") as study:
        for n in (8_000, 32_000):
            start = time.process_time()
            load(study, records(n, str(n)), importer="t", path="p", digest=str(n))
            took.append(time.process_time() - start)
    assert took[1] < 4 * 2 * took[0]


@pytest.mark.slow
def test_undo_does_not_go_through_a_table_for_each_row(study: Study) -> None:
    """Pairs with votes of two sources: were each deletion to scan the votes, this would take minutes."""
    n = 8_000

    def votes(mark: str) -> Iterator[Record]:
        for i in range(n):
            key = PromptKey("s", str(i // 100))
            if i % 100 == 0:
                yield Prompt(key, f"prompt {i // 100}")
            pair = Item(key, None, ImageKey(mark, f"{i}a"), ImageKey(mark, f"{i}b"))
            yield Judgement("better", pair, i % 2, n=3)

    for mark in ("a", "b"):
        start = time.perf_counter()
        put(study, votes(mark), mark)
        loading = time.perf_counter() - start
    start = time.perf_counter()
    gone = undo(study, 1)
    took = time.perf_counter() - start
    assert (gone["judgement"], gone["item"], gone["image"]) == (n, n, 2 * n)
    assert took < 10 * loading
    counts = reading.counts(study)
    assert (counts["judgement"], counts["image"], counts["prompt"]) == (n, 2 * n, n // 100)
