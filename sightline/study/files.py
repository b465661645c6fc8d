"""Image files by content hash, and their thumbnails, on a local disk or any fsspec address."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path

from sightline.errors import DataError, StudyError
from sightline.pictures import Picture, refuse_damaged, shrunk
from sightline.study.read_cache import ReadCache
from sightline.study.roots import TOGETHER, Root, in_parallel

THUMBNAIL = 192
ENDINGS = {"JPEG": "jpg", "WEBP": "webp"}
SYNCING = 8
"""Files that wait for the disk at the same time."""


class ImageFiles:
    """`images/ab/abcd...` below a root; written once, never changed."""

    def __init__(self, root: str) -> None:
        self.below = Root(root)
        self.root = self.below.address
        self.folder = self.below.folder
        """None where the files are on another machine."""
        self.local = self.folder is not None
        self.copies = None if self.local else ReadCache(self.root)
        """Local copies of files on another machine."""
        self._unsynced: set[Path] = set()
        self._uploads = _Uploads(self.below)

    def put(self, data: bytes) -> str:
        """Keep these bytes; gives their sha256. What is there already is not written again, unless damaged.

        They survive a power cut, or are in the store, from `sync` on.
        """
        sha256 = hashlib.sha256(data).hexdigest()
        place = image_place(sha256)
        if self.folder is None:
            self._uploads.add(place, data)
            return sha256
        path = self.folder / place
        if not (path.exists() and path.stat().st_size == len(data) and path.read_bytes() == data):
            self.below.write(place, data)
        self._unsynced.add(path)
        return sha256

    def remove(self, contents: Collection[str]) -> None:
        """Remove what is left of damaged images, and what was made of them."""
        gone = [image_place(sha256) for sha256 in contents]
        if self.folder is None:
            chosen = set(contents)
            small = [place for place in self.below.listing("thumbnails") if content_of(place) in chosen]
            for place in (*gone, *small):
                assert self.copies is not None
                self.copies.drop(place)
        else:
            globs = [f"thumbnails/*/{sha256[:2]}/{sha256}.*" for sha256 in contents]
            small = [str(path.relative_to(self.folder)) for each in globs for path in self.folder.glob(each)]
        self.below.remove([*gone, *small])

    def refresh(self) -> None:
        """Begin again: forget uploads that failed, and which images the store held, as others remove some."""
        with suppress(Exception):
            self._uploads.finish()

    def sync(self) -> None:
        """Have everything that was put on the disk or in the store: before the commit that names it.

        Files are synced after they are all written, so that the disk takes them in one go, then each folder
        once.
        """
        self._uploads.finish()
        paths, self._unsynced = sorted(self._unsynced), set()
        if not paths or self.folder is None:
            return
        homes = {path.parent for path in paths}
        folders = sorted(homes | {home.parent for home in homes} | {self.folder})
        with ThreadPoolExecutor(SYNCING) as pool:
            list(pool.map(_sync, paths))
            list(pool.map(_sync, folders))

    def lost(self, contents: Iterable[str]) -> set[str]:
        """Those whose file is not here or is empty."""
        sizes: dict[str, int] = {}
        if self.folder is None:
            sizes = {content_of(place): each.size for place, each in self.below.listing("images").items()}
        else:
            with suppress(FileNotFoundError):
                for home in os.scandir(self.folder / "images"):
                    if home.is_dir():
                        sizes.update((file.name, file.stat().st_size) for file in os.scandir(home.path))
        empty = hashlib.sha256(b"").hexdigest()
        return {sha256 for sha256 in contents if not sizes.get(sha256) and sha256 != empty}

    def read(self, sha256: str) -> bytes:
        """The bytes of an image, checked against its name."""
        place = image_place(sha256)
        self._uploads.wait(place)
        data = self._read(place, sha256)
        if data is None:
            raise DataError(
                f"the image file {sha256[:12]}... is missing from the study",
                where=self.root,
                remedy="Restore the study's images folder from a copy, or import the images again.",
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

    def prefetch(self, contents: Iterable[str]) -> None:
        """Have local copies of images that are on another machine, many at a time."""
        if self.copies is None:
            return
        wanted = {image_place(sha256): sha256 for sha256 in contents}
        far = [place for place in wanted if not (self.copies.folder / place).exists()]
        for _ in in_parallel(lambda place: self._read(place, wanted[place]), far):
            pass

    def ahead(self, contents: Iterable[str]) -> Iterator[str]:
        """The contents in order, each with its local copy at hand."""
        left = iter(contents)
        while chunk := list(islice(left, 4 * TOGETHER)):
            self.prefetch(chunk)
            yield from chunk

    def thumbnail(self, sha256: str, side: int = THUMBNAIL, form: str = "JPEG") -> bytes:
        """A small JPEG, or WebP, of the image, made once."""
        place = f"thumbnails/{side}/{sha256[:2]}/{sha256}.{ENDINGS[form]}"
        known = self._read(place)
        if known is not None:
            return known
        made = shrunk(self.read(sha256), side, sha256, form)
        # A study on a read-only disk can be looked at too; its thumbnails are then made each time.
        with suppress(StudyError):
            self.below.write(place, made)
        self._copy(place, made)
        return made

    def _read(self, place: str, sha256: str = "") -> bytes | None:
        """The bytes at a place; a local copy that does not have its hash is not used."""
        if self.copies is None:
            return self.below.read(place)
        copy = self.copies.find(place)
        if copy is not None:
            with suppress(OSError):
                data = copy.read_bytes()
                if not sha256 or hashlib.sha256(data).hexdigest() == sha256:
                    return data
        found = self.below.read(place)
        if found is not None and (not sha256 or hashlib.sha256(found).hexdigest() == sha256):
            self._copy(place, found)
        return found

    def _copy(self, place: str, data: bytes) -> None:
        if self.copies is not None:
            # Where nothing can be kept locally, it is read from the store each time.
            with suppress(StudyError):
                self.copies.add(place, lambda part: part.write_bytes(data) >= 0)


class _Uploads:
    """Images on their way to a store, a bounded number at a time; what it holds is listed by folder, once."""

    def __init__(self, root: Root) -> None:
        self._root = root
        self._pool: ThreadPoolExecutor | None = None
        self._room = threading.BoundedSemaphore(2 * TOGETHER)
        self._waiting: dict[str, Future[None]] = {}
        self._held: dict[str, dict[str, int]] = {}
        self._lock = threading.Lock()

    def add(self, place: str, data: bytes) -> None:
        with self._lock:
            if place in self._waiting:
                return
            if self._pool is None:
                self._pool = ThreadPoolExecutor(TOGETHER, thread_name_prefix="upload")
            pool, waits = self._pool, Future[None]()
            self._waiting[place] = waits
        self._room.acquire()
        pool.submit(self._upload, place, data, waits)

    def wait(self, place: str) -> None:
        waiting = self._waiting.get(place)
        if waiting is not None:
            waiting.result()

    def finish(self) -> None:
        """Wait for all; the first that failed is raised, and what arrived stays for the next attempt."""
        waiting, self._waiting = list(self._waiting.values()), {}
        failed = [each for each in waiting if each.exception() is not None]
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None
        self.forget()
        if failed:
            failed[0].result()

    def forget(self) -> None:
        with self._lock:
            self._held = {}

    def _upload(self, place: str, data: bytes, waits: Future[None]) -> None:
        try:
            if self._sizes(place.rpartition("/")[0]).get(place) != len(data):
                self._root.write(place, data)
            waits.set_result(None)
        except BaseException as error:
            waits.set_exception(error)
        finally:
            self._room.release()

    def _sizes(self, folder: str) -> dict[str, int]:
        held = self._held.get(folder)
        if held is None:
            held = {place: entry.size for place, entry in self._root.listing(folder).items()}
            with self._lock:
                self._held[folder] = held
        return held


def image_place(sha256: str) -> str:
    """Where an image is, below the root."""
    return f"images/{sha256[:2]}/{sha256}"


def content_of(place: str) -> str:
    """The content hash of the image that a file holds or was made of."""
    return place.rpartition("/")[2].partition(".")[0]


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
