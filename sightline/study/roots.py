"""Files below a root, which is a local folder or an address of object storage that fsspec knows."""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from sightline.errors import MissingPackage, StudyError, UsageError

TOGETHER = 16
"""Objects that are on their way to or from a store at the same time."""
CONNECT_SECONDS = 5
READ_SECONDS = 20
ATTEMPTS = 3
"""How long a store may be silent, and how often it is asked; fsspec's own settings change them."""
PACKAGES = {"s3": '"sightline[s3]"', "s3a": '"sightline[s3]"', "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs"}
S3 = ("s3", "s3a")
FULL = ("quotaexceeded", "storagefull", "storage full", "insufficientstorage", "no space left", "(507)")
DENIED = ("accessdenied", "forbidden", "invalidaccesskeyid", "signaturedoesnotmatch", "expiredtoken")
T = TypeVar("T")
U = TypeVar("U")


class Entry(NamedTuple):
    """What a listing says of a file: its bytes, and when it was written, in seconds since 1970."""

    size: int
    modified: float


class Root:
    """A folder or an address; every file below it has a place such as images/ab/abcd."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        local = "://" not in self.address or self.address.startswith("file://")
        self.folder = Path(self.address.removeprefix("file://")) if local else None
        """None where the files are on another machine."""
        self._kind = "" if local else self.address.partition("://")[0]
        self._far: Any = None

    def read(self, place: str) -> bytes | None:
        """The bytes of a file, or None where there is none."""
        with self._explained("read", place):
            try:
                if self.folder is not None:
                    return (self.folder / place).read_bytes()
                # Otherwise s3fs asks for the size first: two requests for each small file.
                once = {"max_concurrency": 1} if self._kind in S3 else {}
                data: bytes = self._store().cat_file(self._at(place), **once)
                return data
            except FileNotFoundError as error:
                if _code(error) == "NoSuchBucket":
                    raise
                return None

    def write(self, place: str, data: bytes) -> None:
        """Have a file hold these bytes; it is never half there."""
        with self._explained("write", place):
            if self.folder is not None:
                _replace(self.folder / place, lambda part: part.write_bytes(data))
                return
            self._with_parents(place, lambda: self._store().pipe_file(self._at(place), data))

    def take(self, file: Path, place: str) -> None:
        """Have a file hold what a local one does, which may be moved there."""
        with self._explained("write", place):
            if self.folder is None:
                self._with_parents(place, lambda: self._store().put_file(str(file), self._at(place)))
                return
            target = self.folder / place
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.replace(file, target)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                _replace(target, lambda part: shutil.copyfile(file, part))
            _sync_folder(target.parent)

    def fetch(self, place: str, target: Path) -> bool:
        """Write a file to a local one; False where there is none."""
        with self._explained("read", place):
            try:
                if self.folder is not None:
                    target.write_bytes((self.folder / place).read_bytes())
                else:
                    self._store().get_file(self._at(place), str(target))
                return True
            except FileNotFoundError as error:
                if _code(error) == "NoSuchBucket":
                    raise
                return False

    def has(self, place: str) -> bool:
        """Whether there is such a file, as of now."""
        if self.folder is not None:
            return (self.folder / place).exists()
        with self._explained("read", place):
            self._store().invalidate_cache()
            return bool(self._store().isfile(self._at(place)))

    def listing(self, below: str) -> dict[str, Entry]:
        """All files below a folder by place, as of now, those under way included."""
        with self._explained("list", below):
            if self.folder is not None:
                return dict(_walk(self.folder, self.folder / below))
            self._store().invalidate_cache()
            try:
                rows: Mapping[str, Any] = self._store().find(self._at(below), detail=True)
            except FileNotFoundError as error:
                if _code(error) == "NoSuchBucket":
                    raise
                return {}
            start = len(str(self._store()._strip_protocol(self.address)).rstrip("/")) + 1
            return {path[start:]: Entry(int(row["size"] or 0), _time(row)) for path, row in rows.items()}

    def remove(self, places: Iterable[str]) -> None:
        """Remove files, those that are not there any more included."""
        chosen = list(places)
        with self._explained("remove", chosen[0] if chosen else ""):
            if self.folder is not None:
                for place in chosen:
                    (self.folder / place).unlink(missing_ok=True)
                return
            for start in range(0, len(chosen), 1000):
                part = [self._at(place) for place in chosen[start : start + 1000]]
                try:
                    self._store().rm(part)
                except FileNotFoundError:
                    for path in part:
                        with suppress(FileNotFoundError):
                            self._store().rm_file(path)

    def check(self) -> None:
        """Write a small file, read it again and remove it; an error says what to do about it."""
        place, said = f".check-{uuid.uuid4().hex}", b"sightline"
        self.write(place, said)
        try:
            if self.read(place) != said:
                raise StudyError(
                    "what was written here does not come back",
                    where=self.address,
                    remedy="Look at the store's own settings, such as lifecycle rules, or choose another.",
                )
        finally:
            self.remove([place])

    def _at(self, place: str) -> str:
        return f"{self.address}/{place}"

    def _with_parents(self, place: str, write: Callable[[], Any]) -> None:
        # Object storage has no folders; what has some says so, once per folder.
        try:
            write()
        except FileNotFoundError as error:
            if _code(error):
                raise
            self._store().makedirs(self._at(place).rpartition("/")[0], exist_ok=True)
            write()

    def _store(self) -> Any:
        if self._far is None:
            import fsspec

            far = fsspec.core.url_to_fs(self.address, **_patience(self._kind))[0]
            if hasattr(far, "retries"):
                far.retries = 2  # s3fs repeats five times what botocore has repeated already
            self._far = far
        return self._far

    @contextmanager
    def _explained(self, does: str, place: str) -> Iterator[None]:
        try:
            yield
        except (StudyError, UsageError):
            raise
        except Exception as error:
            explanation = _explanation(error, does, place, self.address, self.folder is not None)
            if explanation is None:
                raise
            raise explanation from None


def in_parallel(work: Callable[[T], U], items: Sequence[T]) -> Iterator[U]:
    """The results of work that waits for a store, in order; few wait to be used at any time."""
    if len(items) < 2:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(TOGETHER, thread_name_prefix="store") as pool:
        for start in range(0, len(items), 4 * TOGETHER):
            yield from pool.map(work, items[start : start + 4 * TOGETHER])


def _patience(kind: str) -> dict[str, Any]:
    """How s3fs is asked: within bounded time, and never from a listing it remembers."""
    if kind not in S3:
        return {}
    from fsspec.config import conf

    own = {
        "connect_timeout": CONNECT_SECONDS,
        "read_timeout": READ_SECONDS,
        "retries": {"max_attempts": ATTEMPTS - 1},
        "max_pool_connections": 2 * TOGETHER,
    }
    # What is passed here counts more than fsspec's own settings, so those are read first.
    given = {**conf.get("s3", {}), **conf.get(kind, {})}
    return {"use_listings_cache": False, "config_kwargs": {**own, **given.get("config_kwargs", {})}}


def _walk(root: Path, folder: Path) -> Iterator[tuple[str, Entry]]:
    for home, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            with suppress(FileNotFoundError):
                path = Path(home) / name
                seen = path.stat()
                yield str(path.relative_to(root)), Entry(seen.st_size, seen.st_mtime)


def _replace(path: Path, write: Callable[[Path], Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".part-{uuid.uuid4().hex}")
    try:
        write(part)
        os.replace(part, path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _time(row: Mapping[str, Any]) -> float:
    when = row.get("LastModified") or row.get("mtime") or row.get("created") or 0
    return float(when.timestamp() if hasattr(when, "timestamp") else when)


def _code(error: BaseException) -> str:
    """What the store itself calls an error; "" for an error that is not from S3."""
    response = getattr(error.__cause__ or error, "response", None) or {}
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, Mapping) else ""


def _explanation(
    error: Exception, does: str, place: str, where: str, local: bool
) -> StudyError | UsageError | None:
    kind = where.partition("://")[0]
    said = " ".join(str(error).split()) or type(error).__name__
    low = f"{_code(error)} {said}".lower()
    if isinstance(error, ImportError):
        package = PACKAGES.get(kind, "the package that fsspec names")
        return MissingPackage(f"files at {kind}:// need another package", remedy=f"pip install {package}")
    if isinstance(error, ValueError) and "protocol not known" in low:
        return UsageError(f"no store is addressed by {kind}://", remedy="For example s3://bucket/path.")
    if getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT) or any(each in low for each in FULL):
        what = f"{place} cannot be written: no space is left ({said})"
        return StudyError(what, where=where, remedy="Free some space and run the same command again.")
    if local:
        remedy = "Check free space and permissions of the study's folder."
        why = getattr(error, "strerror", None) or said
        what = f"cannot {does} {_thing(place)} ({why})"
        return StudyError(what, where=where, remedy=remedy) if isinstance(error, OSError) else None
    if "nosuchbucket" in low or "bucket does not exist" in low:
        remedy = "Create the bucket, or correct the address."
        return StudyError("there is no such bucket", where=where, remedy=remedy)
    if "credentials" in low:
        remedy = "Give them in the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) or ~/.aws."
        return StudyError("there are no credentials for this store", where=where, remedy=remedy)
    if isinstance(error, PermissionError) or any(each in low for each in DENIED):
        remedy = "Check the credentials in the environment and what they may do: read, write, list, delete."
        return StudyError(f"the store refuses to {does} {place} ({said})", where=where, remedy=remedy)
    from_store = type(error).__module__.partition(".")[0] in ("botocore", "aiobotocore", "aiohttp")
    if isinstance(error, OSError) or from_store:
        remedy = "Check the address, the network and the store, then run the same command again: it resumes."
        return StudyError(f"the store does not answer ({said})", where=where, remedy=remedy)
    return None


def _thing(place: str) -> str:
    return {"images": "an image", "vectors": "vectors", "thumbnails": "a thumbnail"}.get(
        place.partition("/")[0], place
    )
