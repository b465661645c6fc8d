"""How alike the images of a set are."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from sightline import registry
from sightline.extension import NoValue, Picture
from sightline.measures.of_image_set.pairwise_mean import pairwise_mean


def grey(level: int) -> Picture:
    file = io.BytesIO()
    Image.fromarray(np.full((16, 16, 3), level, dtype=np.uint8)).save(file, "PNG")
    return Picture(file.getvalue())


def test_similarity_by_hand() -> None:
    # Greys 0, 51, 255: distances 0.2, 1.0 and 0.8, mean 2/3.
    measure = registry.configure("of_image_set", "pairwise_mean(distance=pixel_l2)").load()
    assert measure([grey(0), grey(51), grey(255)]) == pytest.approx(1 - 2 / 3)


def test_duplicates_are_alike() -> None:
    measure = registry.configure("of_image_set", "pairwise_mean").load()
    assert measure([grey(7)] * 3) == pytest.approx(1)


@pytest.mark.parametrize("count", [0, 1])
def test_one_image_cannot_vary(count: int) -> None:
    assert pairwise_mean([grey(0)] * count, distance=None) == NoValue("fewer than two images")
