"""The files of vectors: plain .npy files named after the rows they hold, and when small ones are joined.

The rows of an encoder are numbered through all its files: 0000000000-0000001024.npy holds the rows 0 to 1023.
Files that follow each other can thus be joined without anything else changing, and no file ever changes once
it has its name. After its numbers a file has their sha256, which numpy does not read.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sightline.study.roots import Entry

if TYPE_CHECKING:
    import numpy as np

MOST_ROWS = 65_536
MOST_BYTES = 64 << 20
"""Files are joined while the result has no more of either."""
FEW = 8
"""So many small files that follow each other are joined; fewer, where the result is large enough to stay."""
MARK = b"sha256: "
TRAILER = len(MARK) + 32
HEADER = 128
PIECE = 4 << 20
"""Bytes that are copied at a time."""
NAME = re.compile(r"(\d{10})-(\d{10})\.npy")


class Shard(NamedTuple):
    """A file with the rows from `first` up to `end`, which is not one of them."""

    first: int
    end: int
    size: int

    @property
    def name(self) -> str:
        return f"{self.first:010d}-{self.end:010d}.npy"

    @property
    def rows(self) -> int:
        return self.end - self.first

    @property
    def width(self) -> int:
        return (self.size - HEADER - TRAILER) // (4 * self.rows)


def listed(entries: Mapping[str, Entry]) -> list[Shard]:
    """The shards among files by their place, in order of their rows."""
    shards = []
    for place, entry in entries.items():
        matched = NAME.fullmatch(place.rpartition("/")[2])
        if matched:
            first, end = int(matched[1]), int(matched[2])
            shards.append(Shard(first, end, entry.size))
    return sorted(shards, key=lambda each: (each.first, -each.end))


def apart(shards: Iterable[Shard]) -> tuple[list[Shard], list[Shard]]:
    """Shards of which none holds another, and those that a longer one has made superfluous."""
    kept: list[Shard] = []
    covered: list[Shard] = []
    for shard in sorted(shards, key=lambda each: (each.first, -each.end)):
        if kept and shard.end <= kept[-1].end:
            covered.append(shard)
        else:
            kept.append(shard)
    return kept, covered


def to_join(shards: Sequence[Shard]) -> Sequence[Shard]:
    """Neighbours to join into one file now, the smallest such group; empty where there is none.

    No file is more than half of the result: each time a row is copied its file at least doubles, so that n
    rows cost at most n log2(n) copies, and no large file is written again for a few rows.
    """
    best: Sequence[Shard] = ()
    for start in range(len(shards)):
        rows = size = largest = 0
        for stop in range(start, len(shards)):
            each = shards[stop]
            if stop > start and (each.first != shards[stop - 1].end or each.width != shards[start].width):
                break
            rows, size, largest = rows + each.rows, size + each.size, max(largest, each.rows)
            if rows > MOST_ROWS or size > MOST_BYTES:
                break
            enough = stop - start + 1 >= FEW or 2 * rows >= MOST_ROWS or 2 * size >= MOST_BYTES
            if enough and 2 * largest <= rows:
                if not best or rows < best[-1].end - best[0].first:
                    best = shards[start : stop + 1]
                break
    return best


def write_shard(path: Path, pieces: Iterable[bytes | memoryview], rows: int, width: int) -> None:
    """Write the numbers of `rows` vectors, given piece by piece, and have them on the disk."""
    import numpy as np

    digest = hashlib.sha256()
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(
            file, {"descr": "<f4", "fortran_order": False, "shape": (rows, width)}
        )
        for piece in pieces:
            digest.update(piece)
            file.write(piece)
        file.write(MARK + digest.digest())
        file.flush()
        os.fsync(file.fileno())


def matrix_pieces(matrix: np.ndarray) -> Iterator[memoryview]:
    """The numbers of a matrix, row after row."""
    flat = matrix.data.cast("B")
    return (flat[start : start + PIECE] for start in range(0, len(flat), PIECE))


def file_pieces(paths: Iterable[Path]) -> Iterator[bytes]:
    """The numbers of several files, one after the other, of which no more than a piece is in memory.

    A file whose numbers do not have the hash written after them is a ValueError: joined with others it would
    pass for whole.
    """
    for path in paths:
        digest = hashlib.sha256()
        with path.open("rb") as file:
            left = os.fstat(file.fileno()).st_size - HEADER - TRAILER
            file.seek(HEADER)
            while left > 0 and (piece := file.read(min(PIECE, left))):
                left -= len(piece)
                digest.update(piece)
                yield piece
            if file.read() != MARK + digest.digest():
                raise ValueError(f"{path.name} is damaged")


def is_whole(path: Path, shard: Shard) -> bool:
    """Whether a file has the rows of its name, and numbers that have the hash written after them."""
    try:
        whole = path.stat().st_size == shard.size and open_shard(path).shape == (shard.rows, shard.width)
        return whole and sum(map(len, file_pieces([path]))) == 4 * shard.rows * shard.width
    except (OSError, ValueError, EOFError):
        return False


def open_shard(path: Path) -> np.ndarray:
    """The rows of a file, read as they are used."""
    import numpy as np

    opened: np.ndarray = np.load(path, mmap_mode="r")
    return opened
