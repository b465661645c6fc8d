"""The arithmetic behind docs/scale.md: exponents, lines and costs, against numbers worked out by hand."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def modules(monkeypatch: pytest.MonkeyPatch) -> tuple[ModuleType, ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("growth"), importlib.import_module("cost")


def test_an_exponent_is_the_slope_of_logarithms(modules: tuple[ModuleType, ModuleType]) -> None:
    growth, _ = modules
    exponent, margin = growth.slope([1, 2, 4, 8], [3, 12, 48, 192])
    assert exponent == pytest.approx(2) and margin == pytest.approx(0, abs=1e-9)
    _, margin = growth.slope([1, 2, 4, 8], [3, 13, 44, 200])
    assert margin > 0


def test_a_cost_is_what_its_inputs_say(modules: tuple[ModuleType, ModuleType]) -> None:
    _, cost = modules
    assert cost.fitted([1, 2, 3], [5, 7, 9]) == pytest.approx((3, 2))
    work = cost.Work(
        images=3_600, seconds=[1, 2], decode=0.5, keep=0.25, workers=4, start=3_600, price_an_hour=2,
        image_bytes=1e6, score_bytes=5e5, vector_bytes=1e6, price_a_gigabyte_month=0.1,
    )  # fmt: skip
    # An image takes 0.5 + 3 + 2 x 0.25 = 4 s, four workers an hour for all; one hour goes before the first.
    assert cost.cost(work) == cost.Cost(2.0, 16.0, pytest.approx(10.8), pytest.approx(1.08))
    page = (BENCHMARKS.parent / "docs" / "scale.md").read_text("utf-8")
    example = cost.cost(cost.EXAMPLE)
    assert f"{example.hours:.1f} hours and {example.compute:.2f} for computing" in page
    assert f"{example.gigabytes:,.0f} GB and {example.storage_a_month:.2f} a month" in page
