"""The references that come with the program: every light distance over the sample study's pictures.

    python -m sightline.samples.reference

writes them again; a test fails when a distance has changed.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from sightline.data.import_ import import_
from sightline.samples.study import write_sample
from sightline.statistics.reference import Reference
from sightline.study.study import create_study
from sightline.variability.reference import SHIPPED, reference_of, write_reference

DISTANCES = ("colour_histogram", "embedding", "ms_ssim", "perceptual_hash", "pixel_l2", "ssim")
PROMPTS, SAMPLES = 80, 8
"""80 prompts x 3 systems x 28 pairs: 6,720 pairs a distance."""


def sample_references(
    *, prompts: int = PROMPTS, samples: int = SAMPLES, distances: tuple[str, ...] = DISTANCES
) -> dict[str, Reference]:
    """The references of these distances, by name."""
    with tempfile.TemporaryDirectory() as folder:
        sample = write_sample(Path(folder) / "files", prompts=prompts, samples=samples, votes=0)
        with create_study(Path(folder) / "study") as study:
            import_(study, sample.prompts)
            import_(study, sample.answers)
            return {name: reference_of(study, distance=name) for name in distances}


def main() -> None:
    """Write the shipped files."""
    SHIPPED.mkdir(exist_ok=True)
    for name, reference in sample_references().items():
        print(write_reference(reference, SHIPPED / f"{name}.npz"), reference.n)


if __name__ == "__main__":
    main()
