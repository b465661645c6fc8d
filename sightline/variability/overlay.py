"""Two images laid over each other: one in green, the other in magenta, grey where they agree."""

from __future__ import annotations

import dataclasses
import io
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.estimate import clean
from sightline.rendering.blocks import Overlay, picture
from sightline.rendering.shown import Thumbnail

SIDE = 256
"""Pixels of the longer side of what is embedded."""
SAME_SHAPE = 0.02


@dataclass(frozen=True)
class Side:
    """One of the two images: its pixels and what it is called ("stable-diffusion, image 2")."""

    rgb: NDArray[np.uint8]
    name: str


def overlay(
    first: Side, second: Side, *, prompt: str, distance: float, measured: str, note: str = ""
) -> Overlay:
    """The two images, and both in one, made ready for the page.

    `measured` names the distance. Images of different shapes are stretched to the first's, which is said.
    """
    text = clean(prompt).strip()
    size = small_size(first.rgb.shape)
    notes = [note] if note else []
    if abs(_shape(first) / _shape(second) - 1) > SAME_SHAPE:
        notes.append("The second image has another shape and was stretched to the first's.")
    if first.rgb.shape == second.rgb.shape and np.array_equal(first.rgb, second.rgb):
        notes.append("The two images are the same, pixel by pixel.")
    small = [_resized(side.rgb, size) for side in (first, second)]
    pictures = [
        dataclasses.replace(
            picture(Thumbnail(_jpeg(rgb), name), text, {}), alt=f"{name}: {text[:120]}", colour=""
        )
        for rgb, name in zip([*small, green_magenta(*small)], [first.name, second.name, "both"], strict=True)
    ]
    both = dataclasses.replace(
        pictures[2], alt=f"{first.name} in green and {second.name} in magenta, one on the other"
    )
    return Overlay(
        title=text,
        first=pictures[0],
        second=pictures[1],
        both=both,
        value=f"{distance:.3g}",
        what=f"distance between the two ({measured})",
        caption="The green of the first with the red and blue of the second: their own colours where both "
        "agree, green where only the first is bright, magenta where only the second is.",
        note=" ".join(notes),
    )


def green_magenta(first: ArrayLike, second: ArrayLike) -> NDArray[np.uint8]:
    """The green of one image with the red and the blue (magenta) of the other.

    Where both agree their own colours come back. Source: W1KP (Tang et al. 2024), figure 4.
    """
    one, two = (np.asarray(rgb, dtype=np.uint8) for rgb in (first, second))
    if one.shape != two.shape:
        raise ValueError(f"images of {one.shape} and {two.shape} pixels do not lie on each other")
    both = two.copy()
    both[..., 1] = one[..., 1]
    return both


def small_size(shape: tuple[int, ...], side: int = SIDE) -> tuple[int, int]:
    """Width and height of the small picture: in proportion, never enlarged."""
    height, width = shape[:2]
    scale = min(1.0, side / max(height, width))
    return max(1, round(width * scale)), max(1, round(height * scale))


def _shape(side: Side) -> float:
    return side.rgb.shape[1] / side.rgb.shape[0]


def _resized(rgb: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    from PIL import Image

    return np.asarray(Image.fromarray(rgb).resize(size, Image.Resampling.LANCZOS))


def _jpeg(rgb: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    out = io.BytesIO()
    # Full colour resolution: green beside magenta would smear at the usual half of it.
    Image.fromarray(rgb).save(out, "JPEG", quality=85, subsampling=0, optimize=True)
    return out.getvalue()
