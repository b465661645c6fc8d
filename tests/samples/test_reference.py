"""The references that come with the program are of the sample study."""

from __future__ import annotations

import numpy as np
import pytest

from sightline.samples.reference import DISTANCES, sample_references
from sightline.variability.reference import SHIPPED, find_reference


def test_every_light_distance_has_one() -> None:
    assert sorted(file.stem for file in SHIPPED.glob("*.npz")) == sorted(DISTANCES)


@pytest.mark.slow
def test_a_small_sample_is_of_the_same_distribution() -> None:
    made = sample_references(prompts=12, samples=4, distances=("colour_histogram", "pixel_l2"))
    for name, reference in made.items():
        shipped = find_reference("sample", name)
        assert reference.n == 12 * 3 * 6 and reference.identity == shipped.identity
        # 216 pairs, six of a set depend on each other: deciles are off by .15 at the most.
        shares = shipped.normalise(np.quantile(reference.distances, np.arange(0.1, 1, 0.1)))
        assert shares == pytest.approx(np.arange(0.1, 1, 0.1), abs=0.15)
