"""What a card is made of: printed figures, the parts of the data they come from, and the verdict on each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from math import isfinite
from pathlib import Path
from pkgutil import iter_modules

from sightline.data.sources import Source
from sightline.errors import DataError, UsageError, near
from sightline.records import NoValue

NOT_PRINTED = "The paper prints no number to compare with."

Number = int | float


@dataclass(frozen=True)
class Printed:
    """A figure as the paper, or the correction of it, gives it; `value` keeps the digits that were printed.

    The tolerance is one unit of the last printed digit, since papers round or truncate, and 0 for whole
    numbers, unless another is stated.
    """

    id: str
    value: str | None
    note: str = ""
    tolerance: float | None = None

    @property
    def number(self) -> Number | None:
        if self.value is None:
            return None
        return float(self.value) if "." in self.value else int(self.value)

    @property
    def within(self) -> float | None:
        """How far what we obtain may lie from what was printed."""
        if self.tolerance is not None or self.value is None:
            return self.tolerance
        return float(Decimal(1).scaleb(-self.places)) if self.places else 0.0

    @property
    def places(self) -> int:
        """How many digits were printed after the point."""
        return len((self.value or "").partition(".")[2])


Obtained = Mapping[str, Number | NoValue | None]
"""By figure: a value; None, the data is there and gives none; NoValue, something needed is not here."""


@dataclass(frozen=True)
class Part:
    """Figures that come from the same files by one function of the source."""

    figures: Sequence[Printed]
    obtain: Callable[[Source], Obtained]
    files: Sequence[str] = ()


@dataclass(frozen=True)
class Paper:
    """A paper: how its data is recognised, and its figures in parts.

    `marks` are its files, each with columns that tell a table from another of that name.
    """

    title: str
    marks: Mapping[str, tuple[str, ...]]
    parts: Sequence[Part]


@dataclass(frozen=True)
class Figure:
    """One line of a card; `ok` is None where nothing could be held against anything."""

    id: str
    printed: Number | None
    obtained: Number | None
    tolerance: float | None
    ok: bool | None
    note: str
    places: int = 0


@dataclass(frozen=True)
class Card:
    """What came of a paper; `folder` is None where none of its data was found."""

    paper: str
    title: str
    folder: Path | None
    figures: tuple[Figure, ...]

    @property
    def failed(self) -> bool:
        return any(figure.ok is False for figure in self.figures)


def papers() -> list[str]:
    """The names of all cards."""
    package = import_module("sightline.reproductions")
    return sorted(found.name for found in iter_modules(package.__path__) if not found.name.startswith("_"))


def paper_of(name: str) -> Paper:
    """The paper of this name, or an error that suggests near ones."""
    if name not in papers():
        raise UsageError(f"there is no reproduction card {name!r}", remedy=near(name, papers()))
    found = import_module(f"sightline.reproductions.{name}").PAPER
    assert isinstance(found, Paper)
    return found


def reproduce(name: str, data: str | Path) -> Card:
    """Obtain a paper's figures from the folder of its data, or from a folder that holds that folder."""
    paper = paper_of(name)
    folder = locate(name, paper, Path(data))
    source = Source(folder or data)
    figures = [figure for part in paper.parts for figure in _judged(part, source, folder)]
    return Card(name, paper.title, folder, tuple(figures))


def locate(name: str, paper: Paper, data: Path) -> Path | None:
    """The folder that holds the paper's files: this one, or one up to two levels below, the nearest first."""
    if not data.exists():
        raise DataError("there is no such folder", where=str(data), remedy="Look at the path again.")
    if not data.is_dir():
        raise UsageError(f"{data} is a file", remedy="Name the folder with the paper's data.")
    level = [data]
    for _ in range(3):
        for folder in level:
            if _holds(folder, paper):
                return folder
        level = [below for folder in level for below in _below(folder, name)]
    # A file of the right name that is not what it should be is read, so that its fault is told.
    return data if any((data / mark).is_file() for mark in paper.marks) else None


def _holds(folder: Path, paper: Paper) -> bool:
    for mark, columns in paper.marks.items():
        if not (folder / mark).is_file():
            continue
        if not columns:
            return True
        try:
            header = Source(folder).header(mark)
        except DataError:
            continue
        if set(columns) <= set(header):
            return True
    return False


def _below(folder: Path, name: str) -> list[Path]:
    found = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    # A folder that bears the paper's name goes before others.
    return sorted(found, key=lambda each: each.name.lower() != name)


def _judged(part: Part, source: Source, folder: Path | None) -> Iterator[Figure]:
    absent = [file for file in part.files if folder is None or not source.has(file)]
    if absent or folder is None:
        # A worked example needs no file, but a paper whose data is not here has nothing to show for itself.
        reason = NoValue(f"not here: {', '.join(absent) or 'the data of this paper'}")
        obtained: Obtained = {printed.id: reason for printed in part.figures}
    else:
        obtained = part.obtain(source)
    unknown = set(obtained) - {printed.id for printed in part.figures}
    if unknown:
        raise ValueError(f"obtained, but not on the card: {', '.join(sorted(unknown))}")
    for printed in part.figures:
        yield _figure(printed, obtained.get(printed.id, NoValue("the data holds no such rows")))


def _figure(printed: Printed, found: Number | NoValue | None) -> Figure:
    ok: bool | None = None
    value: Number | None = None
    note = printed.note
    if isinstance(found, NoValue):
        note = _sentence(found.reason)
    elif found is None or not isfinite(found):
        ok, note = False, "The data gives no value."
    else:
        value = found if isinstance(found, int) else float(found)
        ok = matches(printed, value)
        if ok is None:
            note = f"{NOT_PRINTED} {note}".strip()
    return Figure(printed.id, printed.number, value, printed.within, ok, note, printed.places)


def matches(printed: Printed, value: Number) -> bool | None:
    """Whether a value is within the tolerance; None where nothing was printed."""
    if printed.number is None or printed.within is None:
        return None
    # The last bit of a difference of decimals must not decide.
    return abs(value - printed.number) <= printed.within * (1 + 1e-9)


def _sentence(reason: str) -> str:
    return reason[:1].upper() + reason[1:] + "."
