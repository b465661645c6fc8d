"""A detector that sees nothing: to leave one out where a measure asks for several."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightline.extension import Detector, Picture, detector


@detector(sees=("objects", "text"), source="ours", licence="Apache-2.0")
def nothing() -> Detector:
    """Sees nothing, and needs nothing: stands for a detector that is not installed or not wanted."""
    return _Nothing()


class _Nothing:
    def detect(self, images: Sequence[Picture]) -> list[dict[str, Any]]:
        return [{} for _ in images]
