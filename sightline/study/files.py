"""Image files by content hash, and their thumbnails, on a local disk or any fsspec address."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from sightline.errors import DataError, StudyError
from sightline.pictures import Picture, refuse_damaged, shrunk

THUMBNAIL = 192
ENDINGS = {"JPEG": "jpg", "WEBP": "webp"}
SYNCING = 8
"""Files that wait for the disk at the same time."""


class ImageFiles:
    """`images/ab/abcd...` below a root; written once, never changed."""

    def __init__(self, root: str) -> None:
        self.root = root.rstrip("/")
        self.local = "://" not in self.root or self.root.startswith("file://")
        self.folder = Path(self.root.removeprefix("file://")) if self.local else None
        """None where the files are on another machine."""
        self._remote: Any = None
        self._unsynced: set[Path] = set()

    def put(self, data: bytes) -> str:
        """Keep these bytes; gives their sha256. What is there already is not written again, unless damaged.

        They survive a power cut from `sync` on.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        place = image_place(sha256)
        self._write(place, data)
        if self.folder is not None:
            self._unsynced.add(self.folder / place)
        return sha256

    def remove(self, sha256: str) -> None:
        """Remove what is left of a damaged image, and what was made of it."""
        if self.folder is None:
            with suppress(FileNotFoundError):
                self._far().rm_file(f"{self.root}/{image_place(sha256)}")
            return
        small = self.folder.glob(f"thumbnails/*/{sha256[:2]}/{sha256}.*")
        for path in (self.folder / image_place(sha256), *small):
            path.unlink(missing_ok=True)

    def sync(self) -> None:
        """Have everything that was put on the disk: before the commit that names it.

        Files are synced after they are all written, so that the disk takes them in one go, then each folder
        once.
        """
        paths, self._unsynced = sorted(self._unsynced), set()
        if not paths or self.folder is None:
            return
        homes = {path.parent for path in paths}
        folders = sorted(homes | {home.parent for home in homes} | {self.folder})
        with ThreadPoolExecutor(SYNCING) as pool:
            list(pool.map(_sync, paths))
            list(pool.map(_sync, folders))

    def lost(self, contents: Iterable[str]) -> set[str]:
        """Those whose file is not here or is empty; of files on another machine none is known to be."""
        if self.folder is None:
            return set()
        sizes: dict[str, int] = {}
        with suppress(FileNotFoundError):
            for home in os.scandir(self.folder / "images"):
                if home.is_dir():
                    sizes.update((file.name, file.stat().st_size) for file in os.scandir(home.path))
        empty = hashlib.sha256(b"").hexdigest()
        return {sha256 for sha256 in contents if not sizes.get(sha256) and sha256 != empty}

    def read(self, sha256: str) -> bytes:
        """The bytes of an image, checked against its name."""
        data = self._read(image_place(sha256))
        if data is None:
            raise DataError(
                f"the image file {sha256[:12]}... is missing from the study",
                where=self.root,
                remedy="Restore the study's images folder from a copy, or import the images again.",
            )
        if self.folder is None and hashlib.sha256(data).hexdigest() != sha256:
            raise DataError(
                f"the image file {sha256[:12]}... came back changed", where=self.root, remedy="Try again."
            )
        refuse_damaged(data, sha256, self.root)
        return data

    def picture(self, sha256: str, name: str = "") -> Picture:
        """The image as extensions see it; read only when asked for."""
        if self.folder is not None:
            path = self.folder / image_place(sha256)
            if path.is_file():
                return Picture(path=path, sha256=sha256, name=name or sha256)
        return Picture(self.read(sha256), sha256=sha256, name=name or sha256)

    def thumbnail(self, sha256: str, side: int = THUMBNAIL, form: str = "JPEG") -> bytes:
        """A small JPEG, or WebP, of the image, made once."""
        place = f"thumbnails/{side}/{sha256[:2]}/{sha256}.{ENDINGS[form]}"
        known = self._read(place)
        if known is not None:
            return known
        made = shrunk(self.read(sha256), side, sha256, form)
        # A study on a read-only disk can be looked at too; its thumbnails are then made each time.
        with suppress(StudyError):
            self._write(place, made)
        return made

    def _read(self, place: str) -> bytes | None:
        try:
            if self.folder is not None:
                return (self.folder / place).read_bytes()
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
        if self.folder is None:
            address = f"{self.root}/{place}"
            if not self._far().exists(address):
                self._far().makedirs(address.rpartition("/")[0], exist_ok=True)
                self._far().pipe_file(address, data)
            return
        path = self.folder / place
        if path.exists() and path.stat().st_size == len(data) and path.read_bytes() == data:
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


def image_place(sha256: str) -> str:
    """Where an image is, below the root."""
    return f"images/{sha256[:2]}/{sha256}"


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        raise StudyError(
            f"an image cannot be written to the disk ({error.strerror})",
            where=str(path),
            remedy="Check free space and the disk.",
        ) from None
    finally:
        os.close(handle)
