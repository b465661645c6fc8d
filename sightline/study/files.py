"""Image files by content hash, and their thumbnails, on a local disk or any fsspec address."""

from __future__ import annotations

import hashlib
import os
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

from sightline.errors import DataError, StudyError
from sightline.pictures import Picture, shrunk

THUMBNAIL = 192


class ImageFiles:
    """`images/ab/abcd...` below a root; written once, never changed."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.local = "://" not in self.root or self.root.startswith("file://")
        self._folder = Path(self.root.removeprefix("file://")) if self.local else None
        self._remote: Any = None

    def put(self, data: bytes) -> str:
        """Keep these bytes; gives their sha256. What is there already is not written again."""
        sha256 = hashlib.sha256(data).hexdigest()
        self._write(f"images/{sha256[:2]}/{sha256}", data)
        return sha256

    def read(self, sha256: str) -> bytes:
        """The bytes of an image, checked against its name where they come from afar."""
        data = self._read(f"images/{sha256[:2]}/{sha256}")
        if data is None:
            raise DataError(
                f"the image file {sha256[:12]}... is missing from the study",
                where=self.root,
                remedy="Restore the study's images folder from a copy, or import the images again.",
            )
        if self._folder is None and hashlib.sha256(data).hexdigest() != sha256:
            raise DataError(
                f"the image file {sha256[:12]}... came back changed", where=self.root, remedy="Try again."
            )
        return data

    def picture(self, sha256: str, name: str = "") -> Picture:
        """The image as extensions see it; read only when asked for."""
        if self._folder is not None:
            path = self._folder / "images" / sha256[:2] / sha256
            if path.is_file():
                return Picture(path=path, sha256=sha256, name=name or sha256)
        return Picture(self.read(sha256), sha256=sha256, name=name or sha256)

    def thumbnail(self, sha256: str, side: int = THUMBNAIL) -> bytes:
        """A small JPEG of the image, made once."""
        place = f"thumbnails/{side}/{sha256[:2]}/{sha256}.jpg"
        known = self._read(place)
        if known is not None:
            return known
        made = shrunk(self.read(sha256), side, sha256)
        # A study on a read-only disk can be looked at too; its thumbnails are then made each time.
        with suppress(StudyError):
            self._write(place, made)
        return made

    def _read(self, place: str) -> bytes | None:
        try:
            if self._folder is not None:
                return (self._folder / place).read_bytes()
            found: bytes = self._far().cat_file(f"{self.root}/{place}")
            return found
        except FileNotFoundError:
            return None
        except OSError as error:
            raise DataError(
                f"cannot read {place} ({error.strerror or error})",
                where=self.root,
                remedy="Check the disk and permissions.",
            ) from None

    def _write(self, place: str, data: bytes) -> None:
        if self._folder is None:
            address = f"{self.root}/{place}"
            if not self._far().exists(address):
                self._far().makedirs(address.rpartition("/")[0], exist_ok=True)
                self._far().pipe_file(address, data)
            return
        path = self._folder / place
        if path.exists() and path.stat().st_size == len(data):
            return
        temporary = path.with_name(f".part-{uuid.uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_bytes(data)
            os.replace(temporary, path)
        except OSError as error:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise StudyError(
                f"cannot write an image ({error.strerror})",
                where=str(path.parent),
                remedy="Check free space and permissions of the study's folder.",
            ) from None

    def _far(self) -> Any:
        if self._remote is None:
            import fsspec

            self._remote = fsspec.core.url_to_fs(self.root)[0]
        return self._remote
