"""Resampling in parts: the same numbers, whoever computes them."""

from __future__ import annotations

import os

import numpy as np
import pytest

from sightline.errors import SightlineError
from sightline.statistics import comparison, intervals, significance
from sightline.study.running.mapping import mapped_at
from sightline.study.running.place import HERE, Place

# What a process can compute that knows nothing of this file: expressions.
PROCESS = "__import__('os').getpid()"
ENDED = "__import__('os').kill(__import__('os').getpid(), 9)"


def test_order_and_who_computes() -> None:
    assert list(mapped_at(HERE, worth=0.0)(abs, [-3, 1, -2])) == [3, 1, 2]
    # Little work is done here, whatever the place.
    assert set(mapped_at(Place(2))(eval, [PROCESS] * 9)) == {os.getpid()}
    assert list(mapped_at(Place(2), worth=0.0)(abs, [])) == []


def test_processes_compute_all_but_the_first() -> None:
    first, *others = mapped_at(Place(2), worth=0.0)(eval, [PROCESS] * 6)
    assert first == os.getpid() and os.getpid() not in others


@pytest.mark.slow
def test_processes_resample_as_one_does() -> None:
    matrix = np.random.default_rng(0).random((40, 4))
    matrix[3, 1] = np.nan
    there = comparison.compare(matrix, test="bootstrap", each=mapped_at(Place(2), worth=0.0))
    assert there == comparison.compare(matrix, test="bootstrap")


@pytest.mark.parametrize("columns", [1, 2, 5, 100])
def test_signs_of_parts_are_those_of_all(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    differences = np.random.default_rng(1).normal(size=(33, 40))
    # Drawn in blocks whose size the width of all columns decides: a part must not draw other signs.
    monkeypatch.setattr(intervals, "BLOCK_CELLS", 999)
    whole = significance.sign_flip_columns(differences, permutations=5000)
    monkeypatch.setattr(significance, "COLUMNS", columns)
    parts = significance.sign_flip_columns(differences, permutations=5000, each=map)
    assert parts.tolist() == whole.tolist()


@pytest.mark.slow
def test_what_ends_its_workers_is_an_error() -> None:
    with pytest.raises(SightlineError, match="a part of this cannot be computed"):
        mapped_at(Place(2), worth=-1.0)(eval, ["0", ENDED])
