"""Vectors of images and texts, kept once per encoder and content, memory-mapped.

A put reserves rows, writes them as a file of their own (`shards`) and only then enters them in the table: a
process killed in between leaves rows that nobody refers to, never an entry without its numbers. Small files
are joined as they come, those joined removed; whoever looked just before looks again.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, Engine

from sightline.errors import DataError, StudyError
from sightline.study.files import ImageFiles
from sightline.study.schema import database, tables
from sightline.study.shards import (
    MOST_BYTES,
    MOST_ROWS,
    Shard,
    apart,
    file_pieces,
    is_whole,
    listed,
    matrix_pieces,
    open_shard,
    to_join,
    write_shard,
)

if TYPE_CHECKING:
    import numpy as np

HOME = "vectors"
NUMBERED = -1
"""The `shard` of rows that are numbered through all files; before 0.3 files had numbers and own rows."""
MOVED = "moved"
"""The setting that says where the files are, once they are not where the study was made."""
LOOKS = 6
"""How often a file that has gone is looked for again: each time others joined it with more."""


class Vectors:
    """The vectors of a study, below the root of its files."""

    def __init__(self, engine: Engine, files: ImageFiles, home: Path, moved: str = "") -> None:
        self.engine = engine
        self.moved = moved
        """What `moved_to` was when the study was opened."""
        self.root = files.below
        self.copies = files.copies
        self.folder = None if self.root.folder is None else self.root.folder / HOME
        """None where the files are on another machine."""
        self._former = home / HOME
        self._seen: dict[str, list[Shard]] = {}
        self._begun: dict[str, int] = {}

    # -- writing ------------------------------------------------------------------------------------------

    def put(self, encoder: str, contents: Sequence[str], matrix: np.ndarray) -> None:
        """Store one row per content; contents that are there already are left as they are."""
        import numpy as np

        if len(contents) != len(matrix):
            raise ValueError(f"{len(contents)} contents but {len(matrix)} vectors")
        known = self.known(encoder, contents)
        fresh = {content: n for n, content in reversed([*enumerate(contents)]) if content not in known}
        if not fresh:
            return
        chosen = sorted(fresh.values())
        most = min(MOST_ROWS, max(1, MOST_BYTES // max(1, 4 * matrix.shape[1])))
        parts = [chosen[start : start + most] for start in range(0, len(chosen), most)]
        if not all(np.isfinite(matrix[part]).all() for part in parts):
            raise DataError("an encoder gave a vector that is not finite", where=encoder[:12])
        for part in parts:
            self._put(encoder, [contents[n] for n in part], np.asarray(matrix[part], dtype="<f4", order="C"))
            self.join(encoder)

    def _put(self, encoder: str, contents: Sequence[str], rows: np.ndarray) -> None:
        import numpy as np

        with database.writing(self.engine, durable=False) as connection:
            places = _where(connection, encoder, contents)
            left = [n for n, content in enumerate(contents) if content not in places]
            first = self._reserve(connection, encoder, len(left))
        if not left:
            return
        rows = rows if len(left) == len(rows) else np.ascontiguousarray(rows[left])
        shard = self._keep(encoder, first, rows)
        entries = [(encoder, contents[n], NUMBERED, first + at) for at, n in enumerate(left)]
        with database.writing(self.engine, durable=False) as connection:
            refuse_moved(connection, self.moved)
            # As the one writer we meet no sweep: what it took for unused before is written again.
            if not self._has(encoder, shard):
                self._keep(encoder, first, rows)
            columns = ["encoder", "content", "shard", "row"]
            database.upsert(connection, tables.vector, columns, sorted(entries), replace=False)

    def _reserve(self, connection: Connection, encoder: str, n: int) -> int:
        """The first of n rows that no other writer of this encoder has or will have."""
        if encoder not in self._begun:
            # A database restored from a backup knows less than the files that were written since.
            self._begun[encoder] = max((shard.end for shard in self._listed(encoder)), default=0)
        name = f"vectors:{encoder}"[:64]
        rows = database.fetch(connection, "SELECT value FROM setting WHERE name = ?", [name])
        first = max(int(rows[0][0]) if rows else 0, self._begun[encoder])
        if n:
            database.upsert(
                connection, tables.setting, ["name", "value"], [(name, str(first + n))], replace=True
            )
        return first

    def _keep(self, encoder: str, first: int, rows: np.ndarray) -> Shard:
        with self._draft() as draft:
            write_shard(draft, matrix_pieces(rows), *rows.shape)
            return self._take(draft, encoder, first, len(rows))

    def _take(self, draft: Path, encoder: str, first: int, rows: int) -> Shard:
        shard = Shard(first, first + rows, draft.stat().st_size)
        place = shard_place(encoder, shard)
        self.root.take(draft, place)
        if self.copies is not None:
            # Whoever wrote it is the first to read it.
            with suppress(StudyError):
                self.copies.add(place, lambda part: bool(shutil.move(draft, part)))
        self._seen[encoder] = [*self._seen.get(encoder, []), shard]
        return shard

    def join(self, encoder: str) -> None:
        """Join small files that follow each other.

        One that has gone was joined by another process; one that is damaged is left to `doctor`.
        """
        with suppress(_Gone):
            shards, covered = apart(self._listed(encoder))
            while group := to_join(shards):
                paths = [self._path(encoder, shard) for shard in group]
                with self._draft() as draft:
                    rows = group[-1].end - group[0].first
                    try:
                        write_shard(draft, file_pieces(paths), rows, group[0].width)
                    except (FileNotFoundError, ValueError):
                        raise _Gone from None
                    made = self._take(draft, encoder, group[0].first, rows)
                covered += group
                shards = [*(shard for shard in shards if shard not in group), made]
                shards.sort()
            self._remove(encoder, covered)

    def _remove(self, encoder: str, shards: Sequence[Shard]) -> None:
        places = [shard_place(encoder, shard) for shard in shards]
        if places:
            self.root.remove(places)
            self._seen[encoder] = [each for each in self._seen.get(encoder, []) if each not in shards]
        for place in places if self.copies is not None else ():
            assert self.copies is not None
            self.copies.drop(place)

    @contextmanager
    def _draft(self) -> Iterator[Path]:
        """A name to write a file under; in the folder it goes to, where that is local."""
        near = self.folder if self.copies is None else self.copies.folder
        assert near is not None
        try:
            near.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(prefix=".part-", dir=near) as aside:
                yield Path(aside) / "rows.npy"
        except OSError as error:
            raise StudyError(
                f"cannot write vectors ({error.strerror or error})",
                where=str(near),
                remedy="Check free space and permissions, then run the same command again: it resumes.",
            ) from None

    # -- reading ------------------------------------------------------------------------------------------

    def known(self, encoder: str, contents: Sequence[str]) -> set[str]:
        """Which of these contents have a vector of this encoder."""
        with database.reading(self.engine) as connection:
            return set(_where(connection, encoder, contents))

    def get(self, encoder: str, contents: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Rows for these contents, and which of them are known; unknown rows are zero.

        One file is open at a time, so that besides the rows asked for nothing stays in memory.
        """
        for _ in range(LOOKS):
            with database.reading(self.engine) as connection:
                places = _where(connection, encoder, contents)
            with suppress(_Gone):
                return self._gather(encoder, contents, places)
            self._seen.pop(encoder, None)
        raise StudyError(
            "vectors of the study cannot be read (their file is missing)",
            where=f"{self.root.address}/{HOME}/{encoder}",
            remedy="Have them computed again: sightline doctor STUDY --repair",
        )

    def _gather(
        self, encoder: str, contents: Sequence[str], places: Mapping[str, tuple[int, int]]
    ) -> tuple[np.ndarray, np.ndarray]:
        import numpy as np

        known = np.array([content in places for content in contents], dtype=bool)
        asked = np.flatnonzero(known)
        at = np.array([places[contents[n]] for n in asked.tolist()], dtype=np.int64).reshape(-1, 2)
        out = np.zeros((len(contents), 0), dtype=np.float32)
        for path, start, mine in self._files(encoder, at):
            opened = self._open(path)
            if not out.shape[1]:
                out = np.zeros((len(contents), opened.shape[1]), dtype=np.float32)
            out[asked[mine]] = opened[at[mine, 1] - start]
        return out, known

    def _files(self, encoder: str, at: np.ndarray) -> Iterator[tuple[Path, int, np.ndarray]]:
        """The files that hold these rows, the number of the first row of each, and which of them it holds."""
        import numpy as np

        for former in np.unique(at[at[:, 0] != NUMBERED, 0]).tolist():
            yield self._former_path(encoder, former), 0, np.flatnonzero(at[:, 0] == former)
        numbered = np.flatnonzero(at[:, 0] == NUMBERED)
        if not len(numbered):
            return
        shards, _ = apart(self._known_shards(encoder))
        ends = np.array([shard.end for shard in shards], dtype=np.int64)
        which = np.searchsorted(ends, at[numbered, 1], side="right")
        for n in np.unique(which).tolist():
            mine = numbered[which == n]
            if n == len(shards) or at[mine, 1].min() < shards[n].first:
                raise _Gone
            yield self._path(encoder, shards[n]), shards[n].first, mine

    def _open(self, path: Path) -> np.ndarray:
        try:
            return open_shard(path)
        except FileNotFoundError:
            raise _Gone from None
        except (OSError, ValueError, EOFError) as error:
            raise StudyError(
                f"vectors of the study cannot be read ({error})",
                where=str(path),
                remedy="Have them computed again: sightline doctor STUDY --repair",
            ) from None

    def _path(self, encoder: str, shard: Shard) -> Path:
        """A local file with the rows of a shard: itself, or a copy."""
        place = shard_place(encoder, shard)
        if self.copies is None:
            assert self.root.folder is not None
            return self.root.folder / place
        found = self.copies.find(place)
        if found is None:
            found = self.copies.add(place, lambda part: self._fetch(place, shard, part))
        if found is None:
            raise _Gone
        return found

    def _fetch(self, place: str, shard: Shard, part: Path) -> bool:
        there = self.root.fetch(place, part)
        if there and not is_whole(part, shard):
            raise StudyError(
                "vectors of the study cannot be read (the object has changed)",
                where=f"{self.root.address}/{place}",
                remedy="Have them computed again: sightline doctor STUDY --repair",
            )
        return there

    def _former_path(self, encoder: str, number: int) -> Path:
        own = self._former if self.folder is None else self.folder
        path = own / encoder / f"{number:06d}.npy"
        return path if path.exists() else self._former / encoder / path.name

    def _known_shards(self, encoder: str) -> list[Shard]:
        """The shards as they were seen last; where looking costs nothing, as they are now."""
        if self.copies is None or encoder not in self._seen:
            return self._listed(encoder)
        return self._seen[encoder]

    def _listed(self, encoder: str) -> list[Shard]:
        self._seen[encoder] = listed(self.root.listing(f"{HOME}/{encoder}"))
        return self._seen[encoder]

    def _has(self, encoder: str, shard: Shard) -> bool:
        if self.root.has(shard_place(encoder, shard)):
            return True
        # Another process may have joined it with its neighbours by now.
        return any(each.first <= shard.first and shard.end <= each.end for each in self._listed(encoder))

    # -- keeping it whole ---------------------------------------------------------------------------------

    def encoders(self) -> list[str]:
        """The encoders that the table has vectors of."""
        with database.reading(self.engine) as connection:
            rows = database.fetch(connection, "SELECT DISTINCT encoder FROM vector ORDER BY encoder")
        return [str(row[0]) for row in rows]

    def shards(self, encoder: str) -> list[Shard]:
        """The files of an encoder, as of now, of which none holds another."""
        return apart(self._listed(encoder))[0]

    def is_whole(self, encoder: str, shard: Shard) -> bool:
        """Whether a file has its rows and their hash, read from the store itself; so has one that is gone."""
        place = shard_place(encoder, shard)
        if self.root.folder is not None:
            return is_whole(self.root.folder / place, shard) or not self.root.has(place)
        with self._draft() as draft:
            return not self.root.fetch(place, draft) or is_whole(draft, shard)

    def discard(self, encoder: str, shards: Sequence[Shard]) -> None:
        """Remove damaged files: their vectors are lost then."""
        self._remove(encoder, shards)

    def lost(self) -> dict[str, int]:
        """By encoder, how many vectors have no file, or one that is too short."""
        lost: dict[str, int] = {}
        for encoder in self.encoders():
            with database.reading(self.engine) as connection:
                condition, values = self._lost(connection, encoder)
                query = f"SELECT count(*) FROM vector WHERE {condition}"
                n = int(database.fetch(connection, query, values)[0][0])
            if n:
                lost[encoder] = n
        return lost

    def forget_lost(self) -> None:
        """Drop vectors that have no file: they are computed again when they are asked for."""
        for encoder in self.encoders():
            with database.writing(self.engine) as connection:
                condition, values = self._lost(connection, encoder)
                database.execute_many(connection, f"DELETE FROM vector WHERE {condition}", [values])

    def _lost(self, connection: Connection, encoder: str) -> tuple[str, list[str | int]]:
        """The condition for vectors without their numbers, with its values; `wanted` are the rows there are.

        Files are listed after the table is read: what the table names was written before.
        """
        query = 'SELECT shard, max("row") FROM vector WHERE encoder = ? GROUP BY shard'
        newest = dict(database.fetch(connection, query, [encoder]))
        database.matching(connection, _SPAN, [(each.first, each.end) for each in self._listed(encoder)])
        gone = [n for n, last in newest.items() if n != NUMBERED and self._former_rows(encoder, n) <= last]
        marks = ", ".join("?" * len(gone)) or "NULL"
        condition = f"encoder = ? AND (shard IN ({marks}) OR shard = {NUMBERED} AND NOT EXISTS ({_COVERING}))"
        return condition, [encoder, *gone]

    def _former_rows(self, encoder: str, number: int) -> int:
        try:
            return len(open_shard(self._former_path(encoder, number)))
        except (OSError, ValueError, EOFError):
            return 0

    def used_places(self, connection: Connection) -> set[str]:
        """Where the files are that hold at least one vector of the table."""
        query = "SELECT DISTINCT encoder, shard FROM vector"
        used = set()
        for encoder, number in database.fetch(connection, query):
            if number != NUMBERED:
                used.add(f"{HOME}/{encoder}/{number:06d}.npy")
                continue
            shards = {(each.first, each.end): each for each in self._listed(encoder)}
            database.matching(connection, _SPAN, list(shards))
            query = (
                "SELECT low, high FROM wanted WHERE EXISTS (SELECT 1 FROM vector WHERE encoder = ? "
                f'AND shard = {NUMBERED} AND "row" >= low AND "row" < high)'
            )
            rows = database.fetch(connection, query, [encoder])
            used |= {shard_place(encoder, shards[int(low), int(high)]) for low, high in rows}
        return used

    def copy_to(self, other: Vectors, earlier: Path | None = None) -> int:
        """Copy the files of all vectors to where a copy of this study has its own, checked.

        The copy's table is one of ours, as of then or now. What cannot be copied is dropped from it, to be
        computed again, and counted. Files that are in the folder `earlier` too are linked to.
        """
        for encoder in other.encoders():
            self.copy_files(other, encoder, earlier)
        left = sum(other.lost().values())
        if left:
            other.forget_lost()
        return left

    def copy_files(self, other: Vectors, encoder: str, earlier: Path | None = None) -> int:
        """Copy the files of an encoder that are not there yet, each checked where it arrived; how many."""
        copied = 0
        for _ in range(LOOKS):
            with suppress(_Gone):
                there = set(other._listed(encoder))
                for shard in self.shards(encoder):
                    if shard not in there:
                        copied += self._copy(other, encoder, shard, earlier)
                break
            self._seen.pop(encoder, None)
        for path in self._former_files(encoder):
            target = other._former if other.folder is None else other.folder
            (target / encoder).mkdir(parents=True, exist_ok=True)
            if not (target / encoder / path.name).exists():
                shutil.copyfile(path, target / encoder / path.name)
        return copied

    def _copy(self, other: Vectors, encoder: str, shard: Shard, earlier: Path | None) -> bool:
        source, place = self._path(encoder, shard), shard_place(encoder, shard)
        try:
            whole = is_whole(source, shard)
        except FileNotFoundError:
            raise _Gone from None
        if not whole:
            if not source.exists():
                raise _Gone
            return False
        with other._draft() as draft:
            kept = earlier / place if earlier is not None else None
            if kept is not None and is_whole(kept, shard):
                _link(kept, draft)
            else:
                shutil.copyfile(source, draft)
            other._take(draft, encoder, shard.first, shard.rows)
        if not other.is_whole(encoder, shard):
            other.discard(encoder, [shard])
            raise StudyError(
                "a copy of vectors is not what was written",
                where=f"{other.root.address}/{place}",
                remedy="Look at the disk or the store, and run the same command again.",
            )
        return True

    def renumber(self) -> int:
        """Put vectors that were written before 0.3, a thousand to a file, into files of today; how many."""
        done = 0
        for encoder in self.encoders():
            for path in self._former_files(encoder):
                done += self._renumber(encoder, path)
        return done

    def _renumber(self, encoder: str, path: Path) -> int:
        import numpy as np

        try:
            rows = np.array(open_shard(path), dtype="<f4", order="C")
        except (OSError, ValueError, EOFError):
            return 0  # damaged: `lost` names them
        with database.writing(self.engine) as connection:
            first = self._reserve(connection, encoder, len(rows))
        shard = self._keep(encoder, first, rows)
        moved = f'UPDATE vector SET shard = {NUMBERED}, "row" = "row" + ? WHERE encoder = ? AND shard = ? '
        moved += 'AND "row" < ?'
        with database.writing(self.engine) as connection:
            if not self._has(encoder, shard):
                self._keep(encoder, first, rows)
            values = [(first, encoder, int(path.stem), len(rows))]
            database.execute_many(connection, moved, values)
        path.unlink(missing_ok=True)
        self.join(encoder)
        return len(rows)

    def _former_files(self, encoder: str) -> list[Path]:
        """The files of before 0.3 that the table names."""
        with database.reading(self.engine) as connection:
            query = f"SELECT DISTINCT shard FROM vector WHERE encoder = ? AND shard <> {NUMBERED}"
            numbers = sorted(int(row[0]) for row in database.fetch(connection, query, [encoder]))
        paths = [self._former_path(encoder, number) for number in numbers]
        return [path for path in paths if path.exists()]


_SPAN = [("low", "BIGINT"), ("high", "BIGINT")]
_COVERING = 'SELECT 1 FROM wanted WHERE vector."row" >= low AND vector."row" < high'


class _Gone(Exception):
    """A file is not there any more: joined with others, or lost."""


def moved_to(connection: Connection) -> str:
    """Where the files of the study were moved to; "" while they are where it was made."""
    rows = database.fetch(connection, "SELECT value FROM setting WHERE name = ?", [MOVED])
    return str(rows[0][0]) if rows else ""


def refuse_moved(connection: Connection, since: str) -> None:
    """Refuse to commit what was written to a place that the files have been moved from."""
    if moved_to(connection) != since:
        raise StudyError(
            "the files of the study were moved while this was running",
            remedy="Run the same command again: what was computed before is kept.",
        )


def shard_place(encoder: str, shard: Shard) -> str:
    """Where a shard is, below the root."""
    return f"{HOME}/{encoder}/{shard.name}"


def _where(connection: Connection, encoder: str, contents: Sequence[str]) -> dict[str, tuple[int, int]]:
    """The file and row of each of these contents that has a vector."""
    # In the order of the table: a million in any order would visit each of its pages many times.
    keys = [(encoder, content) for content in sorted(set(contents))]
    by, columns = ("encoder", "content"), ("shard", "row")
    rows = database.look_up(connection, tables.vector, by, keys, columns)
    return {content: (int(shard), int(row)) for _, content, shard, row in rows}


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
