"""Cards: printed figures, the parts of the data they come from, and how near what we obtain comes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from math import isfinite
from pathlib import Path
from pkgutil import iter_modules
from typing import Annotated, Any

from sightline.data.sources import Source
from sightline.errors import DataError, UsageError, near
from sightline.records import NoValue
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table
from sightline.study.running.progress import Listener, Progress
from sightline.verbs import SEED, argument, option, verb

NOT_PRINTED = "The paper prints no number to compare with."

MORE_DIGITS = 2
UNPRINTED_DIGITS = 4
VERDICTS = {True: "yes", False: "NO", None: "-"}

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
    """One figure of a paper; `ok` is None where there is nothing to compare with."""

    id: str
    printed: Number | None
    obtained: Number | None
    tolerance: float | None
    ok: bool | None
    note: str
    places: int = 0

    @property
    def cells(self) -> tuple[str, ...]:
        """The row of the table: more digits than were printed, so that rounding and truncation differ."""
        places = UNPRINTED_DIGITS if self.printed is None else self.places and self.places + MORE_DIGITS
        tolerance = "" if self.tolerance is None else f"{self.tolerance:g}"
        printed, obtained = _digits(self.printed, self.places), _digits(self.obtained, places)
        return self.id, printed, obtained, tolerance, VERDICTS[self.ok], self.note


@dataclass(frozen=True)
class Reproduction(Result):
    """The figures of a paper, printed and obtained; `folder` is None where none of its data is there.

    `made` are the paper's own tables with our rows next to the printed ones, where it has any.
    """

    paper: str
    title: str
    data: str
    folder: Path | None
    rows: Sequence[Figure]
    made: Sequence[Any] = ()
    notes: Sequence[str] = ()

    @property
    def failed(self) -> bool:
        return any(figure.ok is False for figure in self.rows)

    @property
    def exit_code(self) -> int:
        return 1 if self.failed else 3 if self.folder is None else 0

    @property
    def sentence(self) -> str:
        if self.folder is None:
            return (
                f"None of the files of {self.paper} is in {self.data}. Name the folder published with the "
                "paper; docs/reproductions.md lists its files."
            )
        counts = {ok: sum(each.ok is ok for each in self.rows) for ok in VERDICTS}
        return f"{counts[True]} match, {counts[False]} do not, {counts[None]} could not be compared."

    def tables(self) -> dict[str, Table]:
        columns = [Column("id", "figure"), *map(Column, ("printed", "obtained", "tolerance"))]
        columns += [Column("ok", "match"), Column("note")]
        figures = Table(columns, [each.cells for each in self.rows], self.title)
        return {"figures": figures, **{f"table_{each.number}": each.table() for each in self.made}}

    def to_json(self) -> str:
        """The figures with their numbers, and the tables with everything known of each cell."""
        names = ("id", "printed", "obtained", "tolerance", "ok", "note")
        document: dict[str, Any] = {
            "paper": self.paper,
            "figures": [{name: getattr(each, name) for name in names} for each in self.rows],
            "sentence": self.sentence,
        }
        if self.made:
            document["tables"] = [each.as_data() for each in self.made]
        return json.dumps(document, indent=2, allow_nan=False) + "\n"


def _digits(value: Number | None, places: int) -> str:
    if value is None:
        return "-"
    return f"{value:.{places}f}" if places and isinstance(value, float) else f"{value:.10g}"


def papers() -> list[str]:
    """The names of all cards."""
    package = import_module("sightline.reproductions")
    modules = iter_modules(package.__path__)
    return sorted(each.name for each in modules if not each.ispkg and each.name != "card")


def paper_of(name: str) -> Paper:
    """The paper of this name, or an error that suggests similar names."""
    if name not in papers():
        raise UsageError(f"there is no reproduction card {name!r}", remedy=near(name, papers()))
    found = import_module(f"sightline.reproductions.{name}").PAPER
    assert isinstance(found, Paper)
    return found


@verb("share")
def reproduce(
    paper: Annotated[str, argument("The paper: agiqa3k, conqa, gimbrr, pqpp or w1kp.", "PAPER")],
    data: Annotated[
        str | Path,
        option("Read the paper's data from this folder, or from one below it.", metavar="DIR"),
    ],
    *,
    tier: Annotated[
        str | None,
        option(
            "Fit these tiers of our predictor for a paper with tables: some of small, medium and large, "
            "separated by commas; or all, or none.",
            metavar="NAMES",
            shown="small",
        ),
    ] = None,
    to: Annotated[
        str | Path | None, option("Write the tables of a paper to a .tex or .csv file.", metavar="FILE")
    ] = None,
    seed: Annotated[int, SEED] = 0,
    listener: Listener | None = None,
) -> Reproduction:
    """Reproduce a paper's figures from its data, and compare them with the printed ones.

    Ends with exit code 1 if a figure does not match. A figure whose data is missing, or that the paper does
    not print, is marked - and has not passed. For pqpp, Tables 2 to 7 follow with our rows next to the
    printed ones: on test.csv if it is there, else on validation.csv.
    """
    paper_of(paper)
    module = _tables_of(paper)
    tiers = _tiers(paper, module, tier, to)
    result = obtain(paper, data)
    if module is None or result.folder is None:
        return result

    def step(what: str) -> None:
        if listener is not None:
            listener(Progress(what, 0, 0, 0.0, None))

    made = module.tables(result.folder, tiers, seed=seed, step=step)
    notes = module.notes(made, tiers)
    if made and to is not None:
        Path(to).write_text(module.WRITERS[Path(to).suffix.lower()](made), encoding="utf-8")
        notes = [*notes, f"{len(made)} tables written to {to}."]
    return replace(result, made=made, notes=notes)


def obtain(name: str, data: str | Path) -> Reproduction:
    """A paper's figures without its tables."""
    paper = paper_of(name)
    folder = locate(name, paper, Path(data))
    source = Source(folder or data)
    figures = [figure for part in paper.parts for figure in _judged(part, source, folder)]
    return Reproduction(name, paper.title, str(data), folder, figures)


def _tables_of(paper: str) -> Any:
    """The module that makes a paper's tables, or None: the card x has them in tables/x."""
    name = f"sightline.reproductions.tables.{paper}"
    return import_module(name) if find_spec(name) else None


def _tiers(paper: str, module: Any, tier: str | None, to: str | Path | None) -> list[str]:
    """The tiers asked for; raises before anything is computed where options and paper do not fit."""
    if module is None:
        if tier is not None or to is not None:
            option_name = "--tier" if tier is not None else "--to"
            raise UsageError(f"{paper} has no tables for {option_name}", remedy="Omit it.")
        return []
    if to is not None:
        file = Path(to)
        if file.suffix.lower() not in module.WRITERS:
            forms = " or ".join(module.WRITERS)
            raise UsageError(f"tables cannot be written to {file.name}", remedy=f"Name a file in {forms}.")
        if file.is_dir() or not file.parent.is_dir():
            what = "this is a folder" if file.is_dir() else "there is no such folder"
            where = str(file if file.is_dir() else file.parent)
            raise DataError(what, where=where, remedy="Name another file.")
    return list(module.chosen_tiers(module.DEFAULT if tier is None else tier))


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
    # A file of the right name with the wrong contents is read, so that its fault is reported.
    return data if any((data / mark).is_file() for mark in paper.marks) else None


def _holds(folder: Path, paper: Paper) -> bool:
    for mark, columns in paper.marks.items():
        with suppress(DataError):
            if (folder / mark).is_file() and (
                not columns or set(columns) <= set(Source(folder).header(mark))
            ):
                return True
    return False


def _below(folder: Path, name: str) -> list[Path]:
    folders = sorted(each for each in folder.iterdir() if each.is_dir() and not each.name.startswith("."))
    # A folder that bears the paper's name goes before others.
    return sorted(folders, key=lambda each: each.name.lower() != name)


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


def _figure(printed: Printed, obtained: Number | NoValue | None) -> Figure:
    ok: bool | None = None
    value: Number | None = None
    note = printed.note
    if isinstance(obtained, NoValue):
        note = _sentence(obtained.reason)
    elif obtained is None or not isfinite(obtained):
        ok, note = False, "The data gives no value."
    else:
        value = obtained if isinstance(obtained, int) else float(obtained)
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
