"""The image encoder without weights."""

from __future__ import annotations

import numpy as np
import pytest
from images import picture

from sightline.encoders.models.colour_layout import colour_layout
from sightline.errors import UsageError


def test_cells_hold_their_mean_colour_in_reading_order() -> None:
    pixels = np.zeros((64, 64, 3))
    pixels[:32, 32:] = (255, 0, 0)
    pixels[32:, :32] = (0, 0, 255)
    (vector,) = colour_layout(grid=2).image([picture(pixels)])
    assert vector.shape == (2 * 2 * (3 + 8),)
    assert vector[:12] == pytest.approx([0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0])


@pytest.mark.parametrize(("turned", "sector"), [(False, 0), (True, 1)])
def test_a_ramp_points_one_way(turned: bool, sector: int) -> None:
    # Grey rises by 1 of 255 a pixel along one axis; with two sectors, 0-90 degrees is across, 90-180 down.
    ramp = np.repeat(np.tile(np.arange(64), (64, 1))[:, :, None], 3, axis=2)
    (vector,) = colour_layout(grid=1, directions=2).image(
        [picture(ramp.transpose(1, 0, 2) if turned else ramp)]
    )
    expected = [0.0, 0.0]
    expected[sector] = 1 / 255
    assert vector[3:] == pytest.approx(expected, abs=1e-6)


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(UsageError):
        colour_layout(grid=5)
