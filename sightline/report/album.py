"""The pictures of a page: as large as its room allows, made for it and not kept in the study."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import polars as pl

from sightline.errors import DataError
from sightline.estimate import Estimate
from sightline.pictures import shrunk
from sightline.rendering.shown import Thumbnail
from sightline.study.study import Study

SIDES = (512, 384, 320, 256, 192, 160, 128)
"""Pixels of the longer side, the largest that fits; a picture is shown small, and opens at this size."""
LOOKED_AT = 5
"""Pictures that the size of all is judged by."""
CODED = 4 / 3
"""Bytes of a page for each byte of a picture, in base64."""


class Album:
    """Pictures until the page is full: `megabytes` counts them as they stand in the page."""

    def __init__(self, study: Study, megabytes: float) -> None:
        self.study = study
        self.room = megabytes * 1e6 / CODED
        self.shown = 0
        self._made: dict[tuple[str, int], bytes] = {}

    def side(self, n: int, content: Callable[[int], str], part: float = 1.0) -> int | None:
        """The largest side at which n pictures take at most this part of the room left, if there is one.

        `content` gives the content of a picture by its number; few are looked at.
        """
        if not n:
            return SIDES[0]
        some = [content(number) for number in range(0, n, max(1, n // LOOKED_AT))[:LOOKED_AT]]
        for side in SIDES:
            made = [len(self._of(each, side) or b"") for each in some]
            known = [size for size in made if size]
            if not known or sum(known) / len(known) * n <= part * self.room:
                return side
        return None

    def thumbnails(self, answers: pl.DataFrame, each: int, side: int) -> list[Thumbnail]:
        """The first pictures of every system among these answers."""
        by_system = answers.sort("system_id", "position").group_by(
            ["system_id", "system"], maintain_order=True
        )
        return [
            self._thumbnail(str(system), row, side)
            for (_, system), rows in by_system
            for row in rows.head(each).iter_rows(named=True)
        ]

    def _thumbnail(self, system: str, row: Mapping[str, object], side: int) -> Thumbnail:
        value = row.get("value")
        estimate = Estimate(float(str(value))) if value is not None else None
        sha256 = row.get("sha256")
        if sha256 is None:
            failure = row.get("failure")
            return Thumbnail(None, system, estimate, str(failure or "the file is not here"))
        try:
            made = self._read(str(sha256), side)
        except DataError as error:
            return Thumbnail(None, system, estimate, error.what)
        if len(made) > self.room:
            return Thumbnail(None, system, estimate, "left out: the page is full")
        self.room -= len(made)
        self.shown += 1
        return Thumbnail(made, system, estimate)

    def _of(self, sha256: str, side: int) -> bytes | None:
        try:
            return self._read(sha256, side)
        except DataError:
            return None  # it takes no room; where it is shown, the reason is

    def _read(self, sha256: str, side: int) -> bytes:
        if (sha256, side) not in self._made:
            data = self.study.files.read(sha256)
            self._made[sha256, side] = shrunk(data, side, sha256, "WEBP")
        return self._made[sha256, side]
