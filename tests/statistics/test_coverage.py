"""The simulations of docs/statistics.md in small: intervals hold and errors stay rare."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

REPETITIONS = 120
SLACK = 3 * (0.05 * 0.95 / REPETITIONS) ** 0.5


@pytest.fixture(scope="module")
def simulations() -> ModuleType:
    file = Path(__file__).parents[2] / "benchmarks" / "intervals.py"
    spec = importlib.util.spec_from_file_location("benchmark_intervals", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("prompts", "raters", "crossed", "kind"),
    [
        (10, 3, True, "continuous"),
        (40, 5, True, "ordinal"),
        (40, 3, False, "ordinal, near an end"),
        (40, 2, True, "yes/no"),
        (10, 1, False, "yes/no"),
    ],
)
def test_coverage_and_errors(
    simulations: ModuleType, prompts: int, raters: int, crossed: bool, kind: str
) -> None:
    rates = simulations.one(simulations.Design(prompts, raters, crossed, kind), REPETITIONS, seed=1)
    assert rates["mean"] >= 0.94 - SLACK and rates["difference"] >= 0.94 - SLACK
    for name in ("false alarm", "gate", "equivalence"):
        assert rates[name] is None or rates[name] <= 0.06 + SLACK


@pytest.mark.parametrize(("n", "worst"), [(5, 0.90), (10, 0.90), (40, 0.93)])
def test_proportions(simulations: ModuleType, n: int, worst: float) -> None:
    mean, least = simulations.proportions(n)
    assert mean >= 0.945 and least >= worst


def test_criteria_are_reported(simulations: ModuleType) -> None:
    row = {"kind": "ordinal", "prompts": 40, "mean": 0.8, "difference": 0.95}
    row |= {"false alarm": 0.2, "gate": None, "equivalence": 0.05}
    assert simulations.verdicts(row, 0.01) == ["mean 0.800 < 0.93", "false alarm 0.200 > .06"]
