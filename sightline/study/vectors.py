"""Vectors of images and texts, kept once per encoder and content, memory-mapped.

A shard is a plain .npy file: written whole under a temporary name, renamed, and only then entered in the
table. A process killed in between leaves a file nobody refers to, never a row without its numbers.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Engine, func, select

from sightline.errors import DataError, StudyError
from sightline.study.schema import database, tables

if TYPE_CHECKING:
    import numpy as np

SHARD_ROWS = 1024
"""Vectors are added to a shard until it has so many."""


class Vectors:
    """The vectors of a study, below a local folder."""

    def __init__(self, engine: Engine, folder: Path) -> None:
        self.engine = engine
        self.folder = folder

    def put(self, encoder: str, contents: Sequence[str], matrix: np.ndarray) -> None:
        """Store one row per content; contents that are there already are left as they are."""
        import numpy as np

        if len(contents) != len(matrix):
            raise ValueError(f"{len(contents)} contents but {len(matrix)} vectors")
        fresh = [i for i, at in enumerate(self._where(encoder, contents)) if at is None]
        first = {contents[i]: i for i in reversed(fresh)}
        if not first:
            return
        rows = sorted(first.values())
        kept = np.ascontiguousarray(matrix[rows], dtype=np.float32)
        if not np.isfinite(kept).all():
            raise DataError("an encoder gave a vector that is not finite", where=encoder[:12])
        home = self.folder / encoder
        home.mkdir(parents=True, exist_ok=True)
        with database.writing(self.engine) as connection:
            vector = tables.vector
            newest = connection.execute(
                select(func.max(vector.c.shard)).where(vector.c.encoder == encoder)
            ).scalar()
            shard, before = (0, 0) if newest is None else self._last(encoder, int(newest), kept)
            if before:
                kept = np.concatenate([self._shard(encoder, shard), kept])
            part = home / f".part-{os.getpid()}.npy"
            np.save(part, kept)
            os.replace(part, self.file(encoder, shard))
            entries = [(encoder, contents[i], shard, place) for place, i in enumerate(rows, before)]
            database.upsert(
                connection, vector, ["encoder", "content", "shard", "row"], entries, replace=False
            )

    def _last(self, encoder: str, newest: int, fresh: np.ndarray) -> tuple[int, int]:
        """The shard that vectors are written to, and how many it holds: the newest while it is small.

        Whoever asks for a few vectors at a time would leave a file for each time. Readers keep the shard they
        opened; of the longer one, rows that no committed entry names are never read.
        """
        try:
            opened = self._shard(encoder, newest)
        except StudyError:
            return newest + 1, 0
        fits = len(opened) + len(fresh) <= SHARD_ROWS and opened.shape[1] == fresh.shape[1]
        return (newest, len(opened)) if fits else (newest + 1, 0)

    def known(self, encoder: str, contents: Sequence[str]) -> set[str]:
        """Which of these contents have a vector of this encoder."""
        places = self._where(encoder, contents)
        return {content for content, place in zip(contents, places, strict=True) if place is not None}

    def get(self, encoder: str, contents: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Rows for these contents, and which of them are known; unknown rows are zero.

        One shard is open at a time, so that besides the rows asked for nothing stays in memory.
        """
        import numpy as np

        places = self._where(encoder, contents)
        known = np.array([place is not None for place in places], dtype=bool)
        asked = np.flatnonzero(known)
        at = np.array([place for place in places if place is not None], dtype=np.int64).reshape(-1, 2)
        order = np.argsort(at[:, 0], kind="stable")
        shards, starts = np.unique(at[order, 0], return_index=True)
        out = np.zeros((len(contents), 0), dtype=np.float32)
        for shard, rows in zip(shards.tolist(), np.split(order, starts[1:]), strict=False):
            opened = self._shard(encoder, shard)
            if not out.shape[1]:
                out = np.zeros((len(contents), opened.shape[1]), dtype=np.float32)
            out[asked[rows]] = opened[at[rows, 1]]
        return out, known

    def file(self, encoder: str, shard: int) -> Path:
        """Where a shard is."""
        return self.folder / encoder / f"{shard:06d}.npy"

    def lost(self) -> dict[tuple[str, int], int]:
        """The shards, by encoder and number, whose file does not hold what it should, with their vectors."""
        query = "SELECT encoder, shard, count(*), max(row) FROM vector GROUP BY encoder, shard ORDER BY 1, 2"
        with database.reading(self.engine) as connection:
            rows = database.fetch(connection, query)
        lost = {}
        for encoder, shard, n, last in rows:
            try:
                whole = len(self._shard(encoder, int(shard))) > int(last)
            except StudyError:
                whole = False
            if not whole:
                lost[encoder, int(shard)] = int(n)
        return lost

    def forget(self, shards: Sequence[tuple[str, int]]) -> None:
        """Drop shards: their vectors are computed again when they are asked for."""
        with database.writing(self.engine) as connection:
            database.execute_many(connection, "DELETE FROM vector WHERE encoder = ? AND shard = ?", shards)

    def _shard(self, encoder: str, shard: int) -> np.ndarray:
        import numpy as np

        file = self.file(encoder, shard)
        try:
            opened: np.ndarray = np.load(file, mmap_mode="r")
        except (OSError, ValueError, EOFError) as error:
            raise StudyError(
                f"vectors of the study cannot be read ({error})",
                where=str(file),
                remedy="Have them computed again: sightline doctor STUDY --repair",
            ) from None
        return opened

    def _where(self, encoder: str, contents: Sequence[str]) -> list[tuple[int, int] | None]:
        with database.reading(self.engine) as connection:
            keys = [(encoder, content) for content in set(contents)]
            by, columns = ("encoder", "content"), ("shard", "row")
            rows = database.look_up(connection, tables.vector, by, keys, columns)
        at = {content: (int(shard), int(row)) for _, content, shard, row in rows}
        return [at.get(content) for content in contents]
