"""What an importer reads from: a file or a folder, with every row and path checked on the way."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from sightline.data.sources import readers
from sightline.data.sources.archives import Features, Sample, is_shard, samples, tfrecords
from sightline.data.sources.json_lists import entries
from sightline.data.sources.rows import Columns, Required, Row
from sightline.data.sources.strict_json import parse_json
from sightline.errors import DataError, UsageError
from sightline.pickles import read_pickle_file
from sightline.published import looks_like_score
from sightline.records import NOTHING
from sightline.regular import MOST_TEXT, not_regular, open_regular

TABLES = readers.TABLES
IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
HOLDING = (".tar", ".parquet", ".pq")
"""Files that may have images inside."""
_HASHED = (*TABLES, ".json", ".txt", ".pickle", ".pkl", ".run", ".qrels", ".trec", ".test", "")
_REMEMBERED = 200_000
COLUMNS_LEFT = "columns not taken (keep one as a tag with --column tags.NAME=THEIRS)"
SCORES_LEFT = "columns that look like scores (import them too: --format scores --option measures=NAME)"
SLIP = 0.8
"""How alike two column names must be for one to be a slip of the other: `positon`, `annotater`, `Seed`."""


class Source:
    """A file or folder to import from; `columns` maps our column names to theirs."""

    def __init__(self, path: str | Path, *, columns: Mapping[str, str] = NOTHING) -> None:
        self.path = Path(path)
        if not self.path.exists():
            raise DataError(
                "there is no such file or folder", where=str(path), remedy="Look at the path again."
            )
        self.is_file = self.path.is_file()
        if not self.is_file and not self.path.is_dir():
            raise not_regular(self.path.stat().st_mode, str(path))
        if self.is_file:
            _refuse_packed(self.path)
        self.root = self.path.parent if self.is_file else self.path
        self.columns = dict(columns)
        self.skipped: dict[str, list[str]] = {}
        self.skipped_count: dict[str, int] = {}
        self.noted: set[str] = set()
        self._used: set[str] = set()
        self._headers: dict[str, tuple[str, ...]] = {}
        self._real_root = os.path.realpath(self.root)
        self._root = str(self.root)
        self._folders: dict[str, bool] = {}
        self._shards: list[str] | None = None
        self._pictured: dict[str, Sequence[str]] = {}
        self._passed_over: set[str] = set()

    @property
    def name(self) -> str:
        """The name of the file or folder itself."""
        return self.path.resolve().name

    def files(self, pattern: str = "*", under: str = "") -> Iterator[str]:
        """The files that fit a pattern such as `*/metadata.jsonl`, relative to the root, in natural order."""
        if self.is_file:
            if fnmatchcase(self.path.name, pattern):
                yield self.path.name
            return
        yield from self._walk(under, pattern.split("/"))

    def folders(self, under: str = "") -> list[str]:
        """The folders of a folder, relative to the root, in natural order; hidden ones are left out."""
        if self.is_file:
            return []
        return [_joined(under, name) for name, is_folder in self._entries(under) if is_folder]

    def pictures(self, under: str = "") -> list[str]:
        """The image files of a folder, relative to the root, in natural order."""
        if self.is_file:
            return []
        return [
            _joined(under, name)
            for name, is_folder in self._entries(under)
            if not is_folder and name.lower().endswith(IMAGES)
        ]

    def has(self, pattern: str) -> bool:
        """Whether any file fits the pattern."""
        return next(self.files(pattern), None) is not None

    def the_file(self) -> str:
        """The name of the source's one file; for importers that read a single table."""
        if not self.is_file:
            raise DataError(
                "this is a folder, and this format is a single file",
                where=str(self.path),
                remedy="Name the file in it that is to be imported.",
            )
        return self.path.name

    def one_file(self, name: str) -> str | None:
        """The source's one file, or the file of this name in its folder, or None."""
        if self.is_file:
            return self.path.name
        return name if self.has(name) else None

    def has_table(self, name: str, columns: Iterable[str]) -> bool:
        """Whether the source is a table with these columns, or its folder has one of this name."""
        file = self.one_file(name)
        return file is not None and file.lower().endswith(TABLES) and set(columns) <= set(self.header(file))

    def need(self, files: Sequence[str], of: str, also: str = "") -> None:
        """Refuse a folder without one of the files that make up a data set."""
        for file in files:
            if not self.has(file):
                raise DataError(
                    f"{file} is missing, so this is only a part of {of}",
                    where=str(self.path),
                    remedy=f"Put {', '.join(files)} into one folder{also}.",
                )

    def pictured(self, file: str) -> Sequence[str]:
        """The columns of a Parquet file that hold image files; none for other tables."""
        if file not in self._pictured:
            inside = file.lower().endswith(readers.PARQUET)
            self._pictured[file] = readers.pictured(self._readable(file), file) if inside else ()
        return self._pictured[file]

    def shards(self, *suffixes: str) -> list[str]:
        """The source's one file, or all files with these suffixes in its folder and the folders below."""
        if self._shards is None:
            patterns = ("*", "*/*", "*/*/*", "*/*/*/*")
            every = (file for pattern in patterns for file in self.files(pattern))
            self._shards = [file for file in every if not file.lower().endswith(IMAGES)]
        return [file for file in self._shards if file.lower().endswith(suffixes)]

    def samples(self, file: str) -> Iterator[Sample]:
        """The samples of a WebDataset shard."""
        yield from samples(self._readable(file), file)

    def is_shard(self, file: str) -> bool:
        """Whether a file is a tar archive."""
        return is_shard(self._readable(file))

    def tfrecords(self, file: str) -> Iterator[tuple[str, Features]]:
        """The records of a TFRecord file, each after its place."""
        for number, features in tfrecords(self._readable(file), file):
            yield f"{file}:record {number}", features

    def is_table(self) -> bool:
        """Whether the source is one CSV, TSV, JSONL or Parquet file."""
        return self.is_file and self.path.suffix.lower() in TABLES

    def header(self, file: str) -> tuple[str, ...]:
        """The column names of a table, ours where --column maps them; of JSONL those of the first line."""
        if file not in self._headers:
            names = readers.header(self._readable(file), file)
            ours = [mine for mine, theirs in self.columns.items() if theirs in names]
            renamed = {self.columns[mine] for mine in ours}
            kept = [name for name in names if name not in renamed and name not in ours]
            self._headers[file] = (*kept, *ours)
        return self._headers[file]

    def rows(
        self,
        file: str,
        required: Required = (),
        known: tuple[str, ...] | None = None,
        renamed: Mapping[str, str] = NOTHING,
    ) -> Iterator[Row]:
        """The rows of a table. `known` are the columns the importer takes; others are noted as left out.

        `renamed` maps our names to theirs as `columns` does, but not at the user's wish.
        """
        columns = Columns({**renamed, **self.columns}, required, self._used)
        rows = readers.rows(self._readable(file), file, columns)
        first = next(rows, None)
        if first is None:
            raise DataError("there are no rows in it", where=file, remedy="Give a file that holds data.")
        if known is not None:
            self._note_unknown(file, (*known, *renamed.values()))
        yield first
        yield from rows

    def lines(self, file: str) -> Iterator[tuple[str, str]]:
        """The lines of a text file that are not blank, each after its place, such as `topics.tsv:3`."""
        for number, line in enumerate(readers.read_lines(self._readable(file), file), 1):
            if line.strip():
                yield f"{file}:{number}", line.rstrip("\r\n")

    def text(self, file: str) -> str:
        """A whole text file."""
        path = self._readable(file, MOST_TEXT)
        return "".join(readers.read_lines(path, file, MOST_TEXT))

    def json(self, file: str) -> Any:
        """A whole JSON file."""
        text = self.text(file)
        try:
            return parse_json(text)
        except ValueError as error:
            line = getattr(error, "lineno", None)
            raise DataError(
                f"not JSON ({error})",
                where=f"{file}:{line}" if line else file,
                remedy="Correct the file or write it again.",
            ) from None

    def entries(self, file: str) -> Iterator[tuple[int, Any]]:
        """The entries of a JSON list of any length, numbered from 1."""
        yield from entries(self._readable(file), file)

    def pickle(self, file: str) -> Any:
        """What a pickle of plain data holds; nothing in it is run."""
        return read_pickle_file(self._readable(file), file)

    def inside(self, relative: str, at: str = "") -> Path:
        """The path a file names, or a DataError if it leads out of the source's folder."""
        return Path(self._inside(relative, at)[0])

    def picture(self, relative: str, at: str = "") -> str | None:
        """The path of an image a file names if it is there, None if it is not."""
        path, status = self._inside(relative, at)
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        return path

    def need_picture(self, relative: str, at: str) -> str:
        """The path of an image a file names, which must be there."""
        path = self.picture(relative, at)
        if path is None:
            what = f"there is no image {relative!r}"
            raise DataError(what, where=at, remedy="Add the file or take out the row.")
        return path

    def _inside(self, relative: str, at: str) -> tuple[str, os.stat_result | None]:
        # Asked a million times over: plain strings, one look at the disk, folders looked at once.
        if _suspect(relative):
            raise self._outside(relative, at)
        path = f"{self._root}/{relative}"
        folder = path.rpartition("/")[0]
        known = self._folders.get(folder)
        if known is None:
            if not self._within(os.path.realpath(folder)):
                raise self._outside(relative, at)
            known = os.path.isdir(folder)
            if len(self._folders) < _REMEMBERED:
                self._folders[folder] = known
        if not known:
            return path, None
        try:
            status = os.lstat(path)
            if stat.S_ISLNK(status.st_mode):
                if not self._within(os.path.realpath(path)):
                    raise self._outside(relative, at)
                status = os.stat(path)
        except OSError:
            # Not there, or a name the file system cannot hold: both mean there is no such file.
            return path, None
        return path, status

    def skip(self, what: str, reason: str) -> None:
        """Note that something was left out and why; reported after the import."""
        self.skipped_count[reason] = self.skipped_count.get(reason, 0) + 1
        examples = self.skipped.setdefault(reason, [])
        if len(examples) < 5:
            examples.append(what)

    def note(self, what: str, reason: str) -> None:
        """Note something that was taken as it is but should be known; reported after the import."""
        self.noted.add(reason)
        self.skip(what, reason)

    def check_columns_used(self) -> None:
        """Raise if a column mapping named something no file of the source has."""
        for ours, theirs in self.columns.items():
            if ours not in self._used:
                known = sorted({name for header in self._headers.values() for name in header if name})
                raise UsageError(
                    f"--column {ours}={theirs} was not used: there is no column {theirs!r}",
                    where=str(self.path),
                    remedy=f"There are: {', '.join(known)}." if known else "",
                )

    def digest(self) -> str:
        """sha256 of what is imported: contents of tables and texts, sizes and times of images, columns."""
        whole = hashlib.sha256(repr(sorted(self.columns.items())).encode())
        if self.is_file:
            whole.update(_content(self.path))
            return whole.hexdigest()
        for relative in self._everything(""):
            path = self.root / relative
            status = path.stat()
            whole.update(f"{relative}\0{status.st_size}\0".encode("utf-8", "surrogateescape"))
            if path.suffix.lower() in _HASHED:
                whole.update(_content(path))
            else:
                whole.update(str(status.st_mtime_ns).encode())
        return whole.hexdigest()

    def picture_bytes(self) -> int:
        """How many bytes of images a folder holds, or a file that has them inside."""
        if self.is_file:
            return self.path.stat().st_size if self.path.suffix.lower() in HOLDING else 0
        return sum(
            (self.root / relative).stat().st_size
            for relative in self._everything("")
            if relative.lower().endswith((*IMAGES, ".tar"))
        )

    def _everything(self, under: str) -> Iterator[str]:
        for name, is_folder in self._entries(under):
            relative = _joined(under, name)
            if is_folder:
                yield from self._everything(relative)
            else:
                yield relative

    def _walk(self, under: str, parts: list[str]) -> Iterator[str]:
        first, rest = parts[0], parts[1:]
        for name, is_folder in self._entries(under):
            if fnmatchcase(name, first) and is_folder == bool(rest):
                if rest:
                    yield from self._walk(_joined(under, name), rest)
                else:
                    yield _joined(under, name)

    def _entries(self, under: str) -> list[tuple[str, bool]]:
        folder = self.inside(under) if under else self.root
        found = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.name.startswith("."):
                        continue
                    relative = _joined(under, entry.name)
                    if entry.is_symlink() and not self._good_link(entry, relative):
                        continue
                    if not entry.is_dir() and not entry.is_file():
                        self._pass_over(relative, "pipes, sockets or devices")
                        continue
                    found.append((_shown_name(entry.name, relative), entry.is_dir()))
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as error:
            raise _unreadable(error, under or str(self.root)) from None
        found.sort(key=lambda entry: natural(entry[0]))
        return found

    def _good_link(self, entry: os.DirEntry[str], relative: str) -> bool:
        self.inside(relative, relative)
        if entry.is_file():
            return True
        # A link to a folder may lead back to where it stands.
        self._pass_over(relative, "links to folders or to nothing")
        return False

    def _pass_over(self, entry: str, reason: str) -> None:
        # A folder is listed by every importer that looks at it.
        if entry not in self._passed_over:
            self._passed_over.add(entry)
            self.skip(entry, reason)

    def _readable(self, file: str, most: int | None = None) -> Path:
        path = self.path if self.is_file and file == self.path.name else self.inside(file, file)
        try:
            with open_regular(path, file, most):
                return path
        except FileNotFoundError:
            raise DataError(
                "there is no such file", where=file, remedy=f"It is expected in {self.root}."
            ) from None
        except OSError as error:
            raise _unreadable(error, file) from None

    def _note_unknown(self, file: str, known: tuple[str, ...]) -> None:
        prefixes = tuple(name for name in known if name.endswith("."))
        header = self.header(file)
        for column in header:
            if column and column not in known and not column.startswith(prefixes):
                self._refuse_slip(file, column, [name for name in known if name not in header])
                self.skip(column, SCORES_LEFT if looks_like_score(column) else COLUMNS_LEFT)

    def _refuse_slip(self, file: str, column: str, absent: Sequence[str]) -> None:
        """A column that is all but one we would take is a slip: leaving it out would be silently wrong."""
        wanted = column.lower().replace(" ", ".")
        close = get_close_matches(wanted, absent, 1, SLIP) or [
            name + wanted.partition(".")[2]
            for name in absent
            if name.endswith(".") and get_close_matches(wanted.partition(".")[0] + ".", [name], 1, SLIP)
        ]
        if close:
            raise DataError(
                f"there is a column {column!r}: is it {close[0]!r}?",
                where=f"{file}:1",
                remedy=f"If so: --column {close[0]}={column}. If not: rename it, or keep it as a tag: "
                f"--column tags.{column}={column}.",
            )

    def _within(self, real: str) -> bool:
        return real == self._real_root or real.startswith(self._real_root.rstrip(os.sep) + os.sep)

    def _outside(self, relative: str, at: str) -> DataError:
        return DataError(
            f"the path {relative!r} leaves the folder {self.root}",
            where=at,
            remedy="Put the file into the folder and name it relative to the folder.",
        )


def _refuse_packed(path: Path) -> None:
    """A packed file, whole or cut short, is reported as what it is instead of as damaged text."""
    try:
        with open_regular(path) as file:
            start = file.read(4)
    except OSError as error:
        raise _unreadable(error, str(path)) from None
    if start[:2] == b"\x1f\x8b":
        raise DataError(
            "it is packed (gzip)", where=str(path), remedy=f"Unpack it first: gunzip -k {path.name}"
        )
    if start == b"PK\x03\x04" and path.suffix.lower() == ".zip":
        raise DataError("it is packed (zip)", where=str(path), remedy=f"Unpack it: unzip {path.name}")


class Once:
    """Tells whether something is met for the first time; forgets all when it has met very many."""

    def __init__(self) -> None:
        self._met: set[Hashable] = set()

    def new(self, what: Hashable) -> bool:
        """True for what was not met before, or so long ago that it may be reported again."""
        if what in self._met:
            return False
        if len(self._met) >= _REMEMBERED:
            self._met.clear()
        self._met.add(what)
        return True


def prompt_ref(text: str) -> str:
    """The id of a prompt that came without one: the beginning of the hash of its text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def natural(name: str) -> tuple[tuple[int, int | str], ...]:
    """A sort key that puts 2.png before 10.png."""
    return tuple(
        (0, int(part)) if part.isdecimal() else (1, part) for part in re.split(r"(\d+)", name) if part
    )


def composed(name: str) -> str:
    """A file name as text: some file systems take letters and accents apart."""
    return unicodedata.normalize("NFC", name)


def _joined(under: str, name: str) -> str:
    return f"{under}/{name}" if under else name


def _suspect(relative: str) -> bool:
    """Whether a path could lead out of its folder by its mere wording, here or on another system."""
    if relative.startswith(("/", "\\")) or "\0" in relative:
        return True
    if ".." in relative and ".." in relative.replace("\\", "/").split("/"):
        return True
    return ":" in relative and PureWindowsPath(relative).drive != ""


def _content(path: Path) -> bytes:
    try:
        with open_regular(path) as stream:
            return hashlib.file_digest(stream, "sha256").digest()
    except OSError as error:
        raise _unreadable(error, str(path)) from None


def _shown_name(name: str, relative: str) -> str:
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DataError(
            f"the file name {relative!r} is not UTF-8",
            where=os.path.dirname(relative),
            remedy="Rename the file.",
        ) from None
    return name


def _unreadable(error: OSError, where: str) -> DataError:
    said = error.strerror or str(error)
    return DataError(f"it cannot be read ({said})", where=where, remedy="Look at the file's permissions.")


__all__ = ["IMAGES", "TABLES", "Once", "Row", "Source", "composed", "natural", "prompt_ref"]
