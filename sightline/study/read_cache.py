"""Local copies of what lies in object storage: bounded in size, used by several processes at once."""

from __future__ import annotations

import hashlib
import os
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sightline.errors import StudyError

GIGABYTES = 10.0
"""What the copies of one store may use; SIGHTLINE_CACHE_GB says otherwise."""
STALE_SECONDS = 3600
"""A file under way for so long belongs to a process that was killed."""


def cache_home() -> Path:
    """Where this user's programs keep what they can make again."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "sightline"


class ReadCache:
    """Copies of files that never change, by their place; the longest unused go first.

    A copy is written under another name and renamed. Whoever has opened one keeps it when it is removed.
    """

    def __init__(self, address: str, most: int | None = None) -> None:
        self.folder = cache_home() / "files" / hashlib.sha256(address.encode()).hexdigest()[:16]
        self.most = _most() if most is None else most
        self._written = 0

    def find(self, place: str) -> Path | None:
        """The copy of a file, noted as used now; None where there is none."""
        path = self.folder / place
        try:
            os.utime(path)
        except OSError:
            return None
        return path

    def add(self, place: str, write: Callable[[Path], bool]) -> Path | None:
        """Make a copy by `write`, which gets the path to write to and says whether there is such a file."""
        path = self.folder / place
        part = path.with_name(f".part-{uuid.uuid4().hex}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not write(part):
                return None
            size = part.stat().st_size
            self._make_room(size)
            os.replace(part, path)
            self._written += size
        except OSError as error:
            raise StudyError(
                f"no local copy can be made ({error.strerror or error})",
                where=str(path.parent),
                remedy="Free some space there, or have XDG_CACHE_HOME name a folder with room.",
            ) from None
        finally:
            with suppress(OSError):
                part.unlink(missing_ok=True)
        return path

    def drop(self, place: str) -> None:
        """Forget a copy."""
        with suppress(OSError):
            (self.folder / place).unlink(missing_ok=True)

    def use(self) -> tuple[int, int]:
        """How many copies there are, and their bytes."""
        held = self._held()
        return len(held), sum(size for _, size, _ in held)

    def shrink(self, most: int) -> tuple[int, int]:
        """Remove the longest unused copies until no more than `most` bytes are left; gives what has gone."""
        held = sorted(self._held())
        size = sum(each for _, each, _ in held)
        files = gone = 0
        for used, each, path in held:
            stale = path.name.startswith(".part-") and time.time() - used > STALE_SECONDS
            if not stale and (size - gone <= most or path.name.startswith(".part-")):
                continue
            with suppress(OSError):
                path.unlink()
                files, gone = files + 1, gone + each
        return files, gone

    def _make_room(self, size: int) -> None:
        # Looking at every file for each that is added would cost more than the copies save.
        if self._written == 0 or self._written + size > self.most / 10:
            self.shrink(max(0, self.most - size))
            self._written = 1

    def _held(self) -> list[tuple[float, int, Path]]:
        held = []
        for home, _, names in os.walk(self.folder):
            for name in names:
                with suppress(OSError):
                    path = Path(home) / name
                    seen = path.stat()
                    held.append((seen.st_mtime, seen.st_size, path))
        return held


def _most() -> int:
    given = os.environ.get("SIGHTLINE_CACHE_GB", "")
    try:
        return int(float(given or GIGABYTES) * 1e9)
    except ValueError:
        raise StudyError(
            f"SIGHTLINE_CACHE_GB is {given!r}", remedy="It must be a number of gigabytes, such as 20."
        ) from None
