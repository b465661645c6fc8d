"""The shapes that the detector of the sample study's drawings compares with.

    python -m sightline.samples.templates

writes them again; a test fails when a shape has changed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from sightline.detectors.models.paper_cutouts import KINDS, TEMPLATES, described
from sightline.samples.drawing import MIRRORED, UPRIGHT
from sightline.samples.shapes import PAINT, cutout

SIZES = (26, 60)
PAINTS = ("red", "yellow", "black")
TILTS = (-8, 0, 8)
GROUND = 243


def templates() -> tuple[np.ndarray, np.ndarray]:
    """The kind, by its number, and the shape of every template."""
    kinds, shapes = [], []
    for number, kind in enumerate(KINDS):
        for colour in PAINTS:
            for size in SIZES:
                for tilt in (0,) if kind in UPRIGHT else TILTS:
                    drawn = cutout(kind, colour, size, tilt)
                    for image in (drawn, *([_mirrored(drawn)] if kind in MIRRORED else [])):
                        kinds.append(number)
                        shapes.append(_shape(image))
    return np.array(kinds, np.uint8), np.array(shapes, np.float32)


def _mirrored(image: Image.Image) -> Image.Image:
    return image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)


def _shape(image: Image.Image) -> np.ndarray:
    alpha = np.asarray(image.getchannel("A"))
    rows, columns = (np.flatnonzero((alpha > 127).any(axis=axis)) for axis in (1, 0))
    place = slice(rows[0], rows[-1] + 1), slice(columns[0], columns[-1] + 1)
    ground = Image.new("RGB", image.size, (GROUND,) * 3)
    ground.paste(image, mask=image)
    return described(np.asarray(ground, np.float64).mean(axis=2)[place], alpha[place] > 127)


def main() -> None:
    """Write the shipped file."""
    assert set(PAINTS) <= set(PAINT)
    kind, shape = templates()
    np.savez_compressed(Path(TEMPLATES), kind=kind, shape=shape.astype(np.float16))
    print(f"{TEMPLATES.name}: {len(kind)} shapes")


if __name__ == "__main__":
    main()
