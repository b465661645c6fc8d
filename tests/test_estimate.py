import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.estimate import (
    Estimate,
    absent,
    clean,
    column_decimals,
    common_decimals,
    direction_said,
    format_cell,
    format_number,
    plain,
    plural,
    range_decimals,
    shared_decimals,
)


def test_plurals() -> None:
    assert [plural(n, "prompt") for n in (0, 1, 1234)] == ["0 prompts", "1 prompt", "1,234 prompts"]


def test_no_percentage_is_minus_nothing() -> None:
    assert [format_number(each, "%") for each in (-0.004, 0.004, -0.01)] == ["0 %", "0 %", "−1 %"]


def test_an_estimate_shows_its_interval() -> None:
    assert format_cell(Estimate(4.1234, 3.951, 4.283, 24)) == "4.12 [3.95, 4.28]"


@pytest.mark.parametrize(
    ("cell", "style", "shown"),
    [
        (1234567, "", "1,234,567"),
        (0.31249, "p", "0.312"),
        (0.00004, "p", "<0.001"),
        (0.125, "%", "12 %"),
        (Estimate(0.16, -0.14, 0.46), "+", "+0.16 [−0.14, +0.46]"),
        (Estimate(2.0), "", "2.00"),
        (True, "", "yes"),
        (absent("why"), "", "-"),
        (None, "", "-"),
        (math.nan, "", "-"),
        (math.inf, "", "-"),
        (np.float32(0.5), "", "0.500"),
        (np.int64(7), "", "7"),
        (-0.0001, ".1f", "−0.0"),
        ("plain", "", "plain"),
    ],
)
def test_cells_in_words(cell: object, style: str, shown: str) -> None:
    assert format_cell(cell, style) == shown  # type: ignore[arg-type]


def test_what_rounds_to_nothing_has_no_sign() -> None:
    assert format_number(-0.004, decimals=2) == "0.00"


def test_digits_follow_the_interval_not_the_value() -> None:
    # half-widths 2, 0.2 and 0.02: the last place printed is a twentieth of each
    assert format_cell(Estimate(50.12345, 48.12345, 52.12345)) == "50.1 [48.1, 52.1]"
    assert format_cell(Estimate(50.12345, 49.92345, 50.32345)) == "50.12 [49.92, 50.32]"
    assert format_cell(Estimate(50.12345, 50.10345, 50.14345)) == "50.123 [50.103, 50.143]"


def test_one_narrow_interval_does_not_make_all_look_precise() -> None:
    wide = [Estimate(3.0, 2.8, 3.2)] * 4  # asks for 2 places
    assert common_decimals([*wide, Estimate(3.0, 2.9999, 3.0001)]) == 3
    assert common_decimals([]) == 2


def test_numbers_far_apart_keep_their_own_digits() -> None:
    thousands, share = Estimate(2636.43, 2018.794, 3254.067), Estimate(0.458, 0.414, 0.501)
    # half-widths 618 and 0.044: the last place worth printing is the unit and the hundredth
    assert column_decimals([thousands, share]) == [0, 2]
    assert format_cell(thousands, decimals=0) == "2,636 [2,019, 3,254]"
    # correlations near zero and near one belong to one scale: they line up
    assert column_decimals([Estimate(0.71, 0.58, 0.81), Estimate(0.01, -0.1, 0.1)]) == [2, 2]
    assert column_decimals([]) == []


def test_values_without_interval_take_the_digits_of_their_scale() -> None:
    spans = ((0, 1), (1, 5), (0, 10), (0, 100), (0, 1000), (0, 0.5), (3, 3))
    assert [range_decimals(*span) for span in spans] == [2, 2, 2, 1, 0, 3, 2]
    assert shared_decimals([Estimate(0.0952), Estimate(1.0), None, absent("why")], (0, 1)) == 2
    assert shared_decimals([Estimate(0.487), Estimate(4.41)]) == 2  # their own range is 3.9
    assert shared_decimals([Estimate(4.1, 3.9, 4.3), Estimate(0.5)], (0, 1000)) == 2  # by the interval
    assert shared_decimals([]) == 2


def test_the_direction_is_said_in_one_way() -> None:
    said = [direction_said(direction) for direction in ("higher", "lower", "none")]
    assert said == ["↑ higher is better", "↓ lower is better", ""]


@pytest.mark.parametrize(
    "arguments", [(math.nan,), (1.0, math.inf, 2.0), (1.0, 0.5), (1.0, None, 2.0), (1.0, 2.0, 1.0)]
)
def test_an_estimate_that_is_none_is_refused(arguments: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match=r"finite|both its ends|upside down"):
        Estimate(*arguments)


def test_a_cell_of_another_kind_is_refused() -> None:
    with pytest.raises(TypeError, match="dict"):
        plain({})  # type: ignore[arg-type]


@given(st.text())
def test_clean_text_can_be_written_and_commands_nothing(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert not any(ord(c) < 32 and c not in "\n\t" for c in cleaned)
    assert clean(cleaned) == cleaned


def test_line_ends_of_every_system_are_line_feeds() -> None:
    assert clean("a\r\nb\rc\nd") == "a\nb\nc\nd"


@given(st.floats(-1e6, 1e6), st.floats(1e-6, 1e3))
def test_the_printed_interval_is_within_a_third_of_its_half_width(value: float, half: float) -> None:
    estimate = Estimate(value, value - half, value + half)
    printed = format_cell(estimate).replace("−", "-").replace(",", "").replace("[", "").replace("]", "")
    # four places are the most that is printed
    tolerance = max(half / 3, 1e-4)
    for shown, exact in zip(map(float, printed.split()), (value, value - half, value + half), strict=True):
        assert abs(shown - exact) <= tolerance
