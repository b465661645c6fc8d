"""The colours keep their promises: readable, and apart for readers with colour-vision deficiencies."""

import itertools

import numpy as np
import pytest

from sightline.rendering.theme import (
    ACCENT,
    ALARM,
    CARD,
    COLOURS,
    CONTROLS,
    EDGE,
    INK,
    MUTED,
    ON_ACCENT,
    PAPER,
    SERIES,
    SOFT,
    SOFT_ALARM,
    css_variables,
    system_colours,
)

# Machado, Oliveira, Fernandes (2009), full severity, for linear RGB.
SIGHT = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def linear(colour: str) -> np.ndarray:
    share = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)


def contrast(first: str, second: str) -> float:
    """The contrast ratio of WCAG 2."""
    low, high = sorted(float(linear(c) @ [0.2126, 0.7152, 0.0722]) for c in (first, second))
    return (high + 0.05) / (low + 0.05)


def lab(rgb: np.ndarray) -> np.ndarray:
    x = XYZ @ np.clip(rgb, 0, 1) / XYZ.sum(axis=1)
    f = np.where(x > 0.008856, np.cbrt(x), 7.787 * x + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_contrast_is_the_published_one() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_text_is_readable(mode: str) -> None:
    for colour, ground in itertools.product((INK, MUTED, ACCENT, ALARM), (PAPER, CARD)):
        assert contrast(getattr(colour, mode), getattr(ground, mode)) >= 4.5, (colour.name, ground.name)
    for colour, ground in (
        (ON_ACCENT, ACCENT),
        (ACCENT, SOFT),
        (INK, SOFT),
        (ALARM, SOFT_ALARM),
        (CARD, ALARM),
    ):
        assert contrast(getattr(colour, mode), getattr(ground, mode)) >= 4.5, (colour.name, ground.name)
    for ground in (PAPER, CARD):
        # What bounds a field or a button must be seen (WCAG 1.4.11).
        assert contrast(getattr(EDGE, mode), getattr(ground, mode)) >= 3, ground.name


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_series_stand_out_from_the_card(mode: str) -> None:
    for colour in SERIES:
        assert contrast(getattr(colour, mode), getattr(CARD, mode)) >= 3, colour.name


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_series_are_told_apart(mode: str, sight: str) -> None:
    seen = [lab(SIGHT[sight] @ linear(getattr(colour, mode))) for colour in SERIES]
    # A difference of 20 in CIELAB is plain to see; just noticeable is about 2.3.
    assert min(float(np.linalg.norm(a - b)) for a, b in itertools.combinations(seen, 2)) >= 20


def test_a_system_keeps_its_colour_whatever_the_order() -> None:
    assert system_colours(["b", "a", "c"]) == system_colours(["c", "b", "a", "a"])
    assert system_colours([]) == {}
    assert system_colours(["only"]) == {"only": SERIES[0]}


def test_more_systems_than_colours_share_the_accent() -> None:
    assert set(system_colours(f"system {n}" for n in range(30)).values()) == {ACCENT}


def test_every_colour_is_told_once() -> None:
    # Charts are drawn in light values and then given the others: two colours must not share one.
    assert len({colour.light for colour in COLOURS}) == len(COLOURS)
    assert len({colour.name for colour in COLOURS + CONTROLS}) == len(COLOURS + CONTROLS)
    for colour in COLOURS + CONTROLS:
        assert css_variables().count(f"--{colour.name}:") == 2
