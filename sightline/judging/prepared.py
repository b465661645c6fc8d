"""Images as annotators get them, made when a round opens and kept in the study's folder `prepared`.

Were an image made when it is first asked for, controls, which everybody gets, would arrive sooner than work,
and the time would tell which is which. For the same reason nothing is kept in this process: whoever asks for
whichever image, one file is read.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.errors import DataError, StudyError
from sightline.judging import blinding
from sightline.judging.store import pictures, showing
from sightline.study.schema import database
from sightline.study.study import Study
from sightline.study.writing.sweeping import PREPARED

if TYPE_CHECKING:
    from sightline.judging.annotate import OpenRound
    from sightline.judging.rounds import RoundSettings

VERSION = 1
"""Counts changes of what `blind` and `redrawn` make: what an older version made is made again."""
MEDIA = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
THREADS = 4


class Preparation(NamedTuple):
    """What opening rounds made: new files, and content hashes that cannot be shown, with the reason."""

    made: int
    failed: Sequence[tuple[str, str]]


class PreparedImages:
    """Image bytes without what they tell of their maker."""

    def __init__(self, study: Study) -> None:
        self._study = study

    def get(self, image_id: int, alike: bool = False) -> tuple[bytes, str]:
        """The bytes and media type of an image of the study; `alike` makes all of one type.

        Where photos are hidden among generated images, a JPEG among PNGs would tell which they are.
        """
        with database.reading(self._study.engine) as connection:
            sha256 = showing.content_of(connection, image_id)
        if sha256 is None:
            raise DataError("the bytes of this image are not here", remedy="Import its file.")
        with suppress(FileNotFoundError):
            data = self._place(sha256, alike).read_bytes()
            if media := _media(data):
                return data, media
        return self._make(sha256, alike)

    def missing(self, rounds: Sequence[OpenRound]) -> list[tuple[str, bool]]:
        """What is to be made of the images that these rounds show: content hashes, and whether alike."""
        return [each for each in dict.fromkeys(self._wanted(rounds)) if not self._warm(*each)]

    def prepare(self, missing: Sequence[tuple[str, bool]]) -> Preparation:
        """Make these images."""
        with ThreadPoolExecutor(min(THREADS, os.cpu_count() or 1)) as pool:
            reasons = list(pool.map(lambda each: self._fault(*each), missing))
        failed = [(sha256, why) for (sha256, _), why in zip(missing, reasons, strict=True) if why]
        return Preparation(len(missing) - len(failed), failed)

    def _wanted(self, rounds: Sequence[OpenRound]) -> Iterator[tuple[str, bool]]:
        for each in rounds:
            alike = looks_alike(each.settings)
            with database.reading(self._study.engine) as connection:
                yield from ((one, alike) for one in pictures.shown_contents(connection, each.round.id))
                if each.settings.found.linked:
                    yield from ((one, False) for one in pictures.linked_contents(connection, each.round.id))

    def _warm(self, sha256: str, alike: bool) -> bool:
        """Whether a file is there; if so the system reads it ahead, the same for all."""
        try:
            with self._place(sha256, alike).open("rb") as file:
                if hasattr(os, "posix_fadvise"):
                    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_WILLNEED)
                return bool(_media(file.read(8)))
        except FileNotFoundError:
            return False

    def _fault(self, sha256: str, alike: bool) -> str:
        try:
            self._make(sha256, alike)
        except StudyError:
            raise
        except DataError as error:
            return error.what
        return ""

    def _make(self, sha256: str, alike: bool) -> tuple[bytes, str]:
        data = self._study.files.read(sha256)
        made = blinding.blind(data, "image")
        if alike and made[1] != "image/png":
            made = (blinding.redrawn(data, "image"), "image/png")
        place = self._place(sha256, alike)
        aside = place.with_name(f".part-{uuid.uuid4().hex}")
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(made[0])
            os.replace(aside, place)
        except OSError as error:
            with suppress(OSError):
                aside.unlink(missing_ok=True)
            raise StudyError(
                f"cannot write a prepared image ({error.strerror})",
                where=str(place.parent),
                remedy="Check free space and permissions of the study's folder.",
            ) from None
        return made

    def _place(self, sha256: str, alike: bool) -> Path:
        kind = f"{VERSION}-alike" if alike else str(VERSION)
        return self._study.home / PREPARED / kind / sha256[:2] / sha256


def looks_alike(settings: RoundSettings) -> bool:
    """Whether what is known beforehand is hidden among the images of this round."""
    return bool(settings.reference or settings.controls.file)


def _media(data: bytes) -> str | None:
    return next((media for start, media in MEDIA.items() if data.startswith(start)), None)
