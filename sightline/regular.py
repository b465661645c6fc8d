"""Opening files that somebody else made: regular files only, and only as large as they may be."""

from __future__ import annotations

import os
import stat
from io import BufferedReader
from pathlib import Path

from sightline.errors import DataError

LONGEST_TEXT = 131_072
"""Bytes of one text in a table: as much as a cell of a CSV file may have."""
LONGEST_LINE = 16_000_000
MOST_TEXT = 64_000_000
"""Bytes of a text file that is read as a whole, such as JSON."""


def open_regular(path: str | Path, where: str = "", most: int | None = None) -> BufferedReader:
    """A regular file of at most `most` bytes opened for reading; a DataError for a pipe, device or folder.

    A pipe would wait for ever for somebody to write into it, and a device may never end. Other faults of
    opening are the OSError they are.
    """
    where = where or str(path)
    # Without O_NONBLOCK the opening of a pipe itself would wait. It changes nothing for regular files.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    status = os.fstat(handle)
    if not stat.S_ISREG(status.st_mode):
        os.close(handle)
        raise not_regular(status.st_mode, where)
    if most is not None and status.st_size > most:
        os.close(handle)
        raise DataError(
            f"the file has {status.st_size:,} bytes: more than the {most:,} that are read",
            where=where,
            remedy="Split it, make it smaller, or leave it out.",
        )
    return os.fdopen(handle, "rb")


def read_regular(path: str | Path, where: str = "", most: int | None = None) -> bytes:
    """The bytes of a regular file."""
    with open_regular(path, where, most) as stream:
        return stream.read()


def not_regular(mode: int, where: str) -> DataError:
    """What is said of something that is no regular file."""
    kinds = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a folder"}
    kind = kinds.get(stat.S_IFMT(mode), "a device")
    return DataError(f"it is {kind}, not a file", where=where, remedy="Give a regular file.")
