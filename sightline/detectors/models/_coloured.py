"""What detectors of objects share: boxes within the image, and the colours of what is in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sightline.statistics.colours import object_colours

PLAIN = 0.4
"""The proportion of an object that one colour must cover to be called its colour."""


def seen_object(rgb: np.ndarray, kind: str, corners: Sequence[float], confidence: float) -> dict[str, Any]:
    """An object as a scene has it: kind, box, confidence, its colours, and its colour where one is plain.

    Corners are left, top, right and bottom as fractions, as a network gave them: what lies beyond the image
    is cut off here only where something of the box is left; a box outside the image stays as it is.
    """
    left, top, right, bottom = (round(float(corner), 4) for corner in corners)
    made: dict[str, Any] = {
        "kind": kind,
        "box": [left, top, right, bottom],
        "confidence": round(min(max(float(confidence), 0.0), 1.0), 4),
    }
    inside = (max(left, 0.0), max(top, 0.0), min(right, 1.0), min(bottom, 1.0))
    if inside[0] > inside[2] or inside[1] > inside[3]:
        return made
    colours = object_colours(rgb, inside)
    main = max(colours, key=colours.__getitem__)
    made |= {"box": list(inside), "colours": colours}
    return {**made, "colour": main} if colours[main] >= PLAIN else made
