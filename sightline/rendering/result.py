"""What a verb gives, and its faces: terminal, JSON, CSV, LaTeX, HTML, a data frame and a notebook cell.

A verb's result is one dataclass that derives from Result, made of Estimates and plain fields. It says its
finding in a sentence, offers tables and figures as data, and names what to run next; the rest is generic.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sightline.errors import StudyError, UsageError, near
from sightline.estimate import clean
from sightline.rendering.tables import Column, Table, latex

if TYPE_CHECKING:
    import polars as pl

    from sightline.rendering.blocks import Figure

FORMS = (".html", ".json", ".csv", ".tex", ".md", ".txt", ".png")
"""What a result can be written as, by the file's suffix."""


class Result:
    """The base of every verb's result.

    A dataclass that derives from it overrides what it has something for. A field of the name of one of these
    properties needs a default.
    """

    @property
    def sentence(self) -> str:
        """The finding in a sentence or two."""
        return ""

    @property
    def notes(self) -> Sequence[str]:
        """What a reader must know besides the tables, a sentence each."""
        return ()

    @property
    def next(self) -> Sequence[str]:
        """Commands to run now, the first one first; STUDY stands for the study's address."""
        return ()

    @property
    def exit_code(self) -> int:
        """What the command ends with: 0, or 1 where a check or comparison failed."""
        return 0

    def tables(self) -> Mapping[str, Table]:
        """Every table by name; one without a name stands for the whole result."""
        return {}

    def figures(self) -> Mapping[str, Figure]:
        """Every chart by name, as data."""
        return {}

    def facts(self) -> Mapping[str, Any]:
        """The plain fields that JSON holds besides the tables."""
        if not dataclasses.is_dataclass(self):
            return {}
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        named = {name: value for name, value in fields.items() if name not in ("notes", "next")}
        return {name: _listed(value) for name, value in named.items() if _plain(value)}

    def table(self, name: str | None = None) -> Table:
        """The table of this name; by default the first."""
        made = self.tables()
        if name is None:
            return next(iter(made.values()))
        if name not in made:
            raise UsageError(f"there is no table {name!r}", remedy=near(name, [*made]))
        return made[name]

    def frame(self, name: str | None = None) -> pl.DataFrame:
        """A table as a polars frame; an estimate takes the columns name, name_low, name_high and name_n."""
        return self.table(name).to_frame()

    def to_pandas(self, name: str | None = None) -> Any:
        """A table as a pandas frame, where pandas is installed."""
        from importlib import import_module

        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError("pandas is not installed here", remedy="pip install pandas") from None
        return pandas.DataFrame(self.frame(name).to_dict(as_series=False))

    def to_json(self) -> str:
        """Everything the tables show, the plain fields, the sentence and the notes, as one JSON document."""
        document: dict[str, Any] = {**self.facts()}
        if self.sentence:
            document["sentence"] = self.sentence
        if self.notes:
            document["notes"] = list(self.notes)
        for name, table in self.tables().items():
            made = table.as_data()
            document |= {name: made} if name else made
        return json.dumps(document, ensure_ascii=False, indent=2, allow_nan=False) + "\n"

    def to_csv(self) -> str:
        """Everything the tables show; of several, each row says in a first column which `table` it is of."""
        return one_table(self.tables()).to_csv()

    def to_latex(self) -> str:
        """Every table as LaTeX for the package booktabs, after the sentence and before the notes."""
        tables = [table.to_latex() for table in self.tables().values() if table.rows]
        words = [latex(self.sentence)] if self.sentence else []
        return "\n".join(
            [*(f"{each}\n" for each in words), *tables, *(f"{latex(each)}\n" for each in self.notes)]
        )

    def to_markdown(self) -> str:
        """Every table as Markdown, after the sentence and before the notes."""
        tables = [table.to_markdown() for table in self.tables().values() if table.rows]
        return "\n\n".join(part.strip() for part in (self.sentence, *tables, *self.notes) if part) + "\n"

    def to_png(self) -> bytes:
        """The charts as a picture on a light ground, one below the other."""
        import vl_convert
        from PIL import Image

        from sightline.rendering.charts import render

        drawn = [
            bytes(vl_convert.svg_to_png(render(figure.wide, "light"), scale=2))
            for figure in self.figures().values()
        ]
        if not drawn:
            raise UsageError("there is no chart to draw here", remedy="Write a table: .csv, .md or .tex.")
        if len(drawn) == 1:
            return drawn[0]
        panels = [Image.open(BytesIO(each), formats=["PNG"]).convert("RGBA") for each in drawn]
        size = max(each.width for each in panels), sum(each.height for each in panels)
        whole = Image.new("RGBA", size, "white")
        top = 0
        for each in panels:
            whole.paste(each, (0, top), each)
            top += each.height
        made = BytesIO()
        whole.save(made, "PNG")
        return made.getvalue()

    def to_html(self) -> str:
        """The result as one self-contained page."""
        from sightline.rendering.html import page

        return page(self)

    def _repr_html_(self) -> str:
        from sightline.rendering.html import page

        return page(self, whole=False)

    def text(self, width: int | None = None) -> str:
        """The result as a terminal shows it, without colour."""
        from sightline.rendering.terminal import text

        return text(self, width=width)

    def __str__(self) -> str:
        return self.text()

    def write(self, path: str | Path) -> Path:
        """Write the result to a file in the form that its suffix names."""
        file = Path(path)
        forms: dict[str, Callable[[], str | bytes]] = {
            ".html": self.to_html, ".json": self.to_json, ".csv": self.to_csv,
            ".tex": self.to_latex, ".md": self.to_markdown, ".txt": self.text, ".png": self.to_png,
        }  # fmt: skip
        if file.suffix.lower() not in forms:
            wanted = f"Name a file that ends in one of {', '.join(FORMS)}."
            raise UsageError(f"cannot write {file.name} in a form of that name", remedy=wanted)
        try:
            made = forms[file.suffix.lower()]()
            file.write_bytes(made if isinstance(made, bytes) else made.encode("utf-8", errors="replace"))
        except OSError as error:
            raise StudyError(f"cannot write it ({error.strerror})", where=str(file)) from None
        return file


def one_table(several: Mapping[str, Table]) -> Table:
    """All tables as one: with a first column `table` and the columns of all where there are several."""
    if len(several) == 1:
        return next(iter(several.values()))
    columns: dict[str, Column] = {}
    for table in several.values():
        for column in table.columns:
            columns.setdefault(column.name, column)
    rows = []
    for name, table in several.items():
        for row in table.rows:
            cells = dict(zip((column.name for column in table.columns), row, strict=True))
            rows.append([name, *(cells.get(each, "") for each in columns)])
    return Table([Column("table"), *columns.values()], rows)


def _plain(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return all(isinstance(each, (str, int, float, bool)) for each in value)
    return value is None or isinstance(value, (str, int, float, bool))


def _listed(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    return list(value) if isinstance(value, tuple) else value
