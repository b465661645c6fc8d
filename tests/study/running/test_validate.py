"""What passes the gate and what does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.errors import ExtensionError
from sightline.extension import Spec
from sightline.records import NoValue, Value
from sightline.study.running.validate import SLACK, gate
from sightline.study.scores import Outcome

SHARE = Spec("of_image", "share", "A share.", range=(0, 1))
OPEN = Spec("of_image", "anything", "A number.")


def test_values_pass_in_order() -> None:
    given = [0.25, Value(0.5, {"boxes": [[1, 2]]}), NoValue("nothing to see"), np.float32(0.75), 1]
    assert gate(SHARE, given, 5) == [
        Outcome(0.25),
        Outcome(0.5, None, {"boxes": [[1, 2]]}),
        Outcome(None, "nothing to see"),
        Outcome(0.75),
        Outcome(1.0),
    ]
    assert gate(OPEN, np.array([1.5, -2]), 2) == [Outcome(1.5), Outcome(-2.0)]
    assert gate(OPEN, (float(n) for n in range(3)), 3) == [Outcome(0.0), Outcome(1.0), Outcome(2.0)]


@pytest.mark.parametrize(
    "single", [0.5, np.float32(0.5), np.float64(0.5), np.array(0.5), Value(0.5), [0.5], np.array([0.5])]
)
def test_one_input_may_have_a_bare_result(single: Any) -> None:
    assert gate(SHARE, single, 1) == [Outcome(0.5)]


def test_one_input_may_have_a_bare_reason() -> None:
    assert gate(SHARE, NoValue("too small"), 1) == [Outcome(None, "too small")]


@pytest.mark.parametrize(
    ("results", "expected", "said"),
    [
        ([0.1, 0.2], 3, "gave 2 results for 3 inputs"),
        ([], 1, "gave 0 results for 1 inputs"),
        (np.zeros((3, 2)), 2, "gave 3 results for 2 inputs"),
        (np.zeros((2, 2)), 2, "result 0 is .*, not a number"),
        (0.5, 3, "gave 0.5 for 3 inputs"),
        # Both are tuples of two: taken for lists they would pass.
        (Value(0.5, None), 2, "gave Value.* for 2 inputs"),
        ("12", 2, "gave '12' for 2 inputs"),
        ("1", 1, "gave '1' for 1 inputs"),
        (["0.5"], 1, "result 0 is '0.5', not a number"),
        ([b"1"], 1, "not a number"),
        (None, 1, "result 0 is None, not a number"),
        (None, 2, "gave 1 results for 2 inputs"),
        ({0.1: "a", 0.2: "b"}, 2, "for 2 inputs"),
        ({0.1, 0.2}, 2, "for 2 inputs"),
        ([0.5, math.nan], 2, "result 1 is nan"),
        ([math.inf], 1, "result 0 is inf"),
        ([-math.inf], 1, "result 0 is -inf"),
        ([Value(math.nan, {})], 1, "result 0 is nan"),
        ([1.1], 1, r"result 0 is 1.1, outside its range \(0, 1\)"),
        ([0.5, -0.001], 2, "result 1 is -0.001, outside"),
        ([NoValue("")], 1, "no value and no reason"),
        ([NoValue("  ")], 1, "no value and no reason"),
        ([NoValue(None)], 1, "no value and no reason"),  # type: ignore[arg-type]
        ([Value(0.5, {"n": math.nan})], 1, "evidence of result 0 cannot be kept"),
        ([Value(0.5, {"n": object()})], 1, "evidence of result 0 cannot be kept"),
    ],
)
def test_broken_promises_are_told(results: Any, expected: int, said: str) -> None:
    with pytest.raises(ExtensionError, match=said):
        gate(SHARE, results, expected)


def test_rounding_is_put_back_onto_the_border() -> None:
    assert gate(SHARE, [1 + 5e-10, -5e-10], 2) == [Outcome(1.0), Outcome(0.0)]
    with pytest.raises(ExtensionError, match="outside"):
        gate(SHARE, [1 + 2e-9], 1)
    wide = Spec("of_image", "wide", "Up to a million.", range=(None, 1e6))
    # The slack is relative beyond 1: 1e-9 of a million is 0.001.
    assert gate(wide, [1e6 + 0.0005, -1e300], 2) == [Outcome(1e6), Outcome(-1e300)]
    with pytest.raises(ExtensionError, match="outside"):
        gate(wide, [1e6 + 0.002], 1)


@given(st.lists(st.floats(), min_size=1, max_size=8))
def test_what_passes_is_finite_and_in_range(values: list[float]) -> None:
    try:
        passed = gate(SHARE, values, len(values))
    except ExtensionError:
        assert any(not math.isfinite(v) or v < 0 or v > 1 for v in values)
        return
    for before, after in zip(values, passed, strict=True):
        assert after.value is not None and 0 <= after.value <= 1
        assert abs(after.value - before) <= SLACK
