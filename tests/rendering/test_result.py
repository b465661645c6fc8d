"""One result, every face: nothing that the tables show is missing from JSON, CSV, LaTeX, frame or page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl
import pytest
from PIL import Image

from sightline.errors import UsageError
from sightline.estimate import Estimate, absent
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Dot, dot_interval
from sightline.rendering.result import Result
from sightline.rendering.tables import Column, Table


@dataclass(frozen=True)
class Found(Result):
    by: str
    n: int
    systems: Sequence[tuple[str, Estimate]]
    notes: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        return "a_1 is best & 50 % better."

    @property
    def next(self) -> Sequence[str]:
        return ("sightline report STUDY",)

    def tables(self) -> dict[str, Table]:
        columns = [Column("system"), Column("mean", direction="higher", estimate=True)]
        rows = [(name, mean) for name, mean in self.systems]
        return {
            "systems": Table(columns, rows, "Systems"),
            "pairs": Table([Column("p", format="p")], [(0.02,)]),
        }


FOUND = Found("x", 2, [("a_1", Estimate(1.5, 1.0, 2.0, 4)), ("b", absent("not judged"))], ("Read this.",))


def test_json_holds_everything() -> None:
    made = json.loads(FOUND.to_json())
    assert (made["by"], made["n"], made["sentence"], made["notes"]) == (
        "x",
        2,
        FOUND.sentence,
        ["Read this."],
    )
    assert made["systems"]["rows"] == [
        {"system": "a_1", "mean": {"value": 1.5, "low": 1.0, "high": 2.0, "n": 4}},
        {"system": "b", "mean": {"value": None, "reason": "not judged"}},
    ]
    assert made["pairs"]["rows"] == [{"p": 0.02}]


def test_csv_holds_every_table() -> None:
    rows = list(csv.DictReader(io.StringIO(FOUND.to_csv())))
    assert [row["table"] for row in rows] == ["systems", "systems", "pairs"]
    assert (rows[0]["mean"], rows[0]["mean_low"], rows[0]["mean_n"]) == ("1.5", "1.0", "4")
    assert rows[1]["mean_reason"] == "not judged" and rows[2]["p"] == "0.02"


def test_latex_escapes_and_rounds() -> None:
    made = FOUND.to_latex()
    assert made.count("\\begin{tabular}") == 2
    assert made.startswith("a\\_1 is best \\& 50 \\% better.\n") and made.endswith("Read this.\n")
    assert "a\\_1 & 1.5 [1.0, 2.0] n 4 \\\\" in made and "$\\uparrow$" in made


def test_markdown_has_n() -> None:
    assert "| a_1 | 1.5 [1.0, 2.0] n 4 |" in FOUND.to_markdown()


@dataclass(frozen=True)
class Drawn(Found):
    charts: int = 1

    def figures(self) -> dict[str, Figure]:
        dots = [Dot(name, mean) for name, mean in self.systems if mean.value is not None]
        return {str(n): Figure.of(lambda width: dot_interval(dots, axis="x")) for n in range(self.charts)}


def test_a_picture_has_every_chart() -> None:
    one, three = (
        Image.open(io.BytesIO(Drawn("x", 2, FOUND.systems, charts=charts).to_png())) for charts in (1, 3)
    )
    assert (three.width, three.height) == (one.width, 3 * one.height)
    with pytest.raises(UsageError, match="no chart"):
        FOUND.to_png()


def test_frames() -> None:
    frame = FOUND.frame()
    assert frame.columns == ["system", "mean", "mean_low", "mean_high", "mean_n"]
    assert frame["mean"].to_list() == [1.5, None]
    assert isinstance(FOUND.frame("pairs"), pl.DataFrame)
    with pytest.raises(UsageError, match="no table 'pair'"):
        FOUND.frame("pair")
    pandas = pytest.importorskip("pandas", reason="not needed here: pandas")
    assert isinstance(FOUND.to_pandas(), pandas.DataFrame)


def test_pages_and_cells_of_notebooks_are_escaped() -> None:
    cell, page = FOUND._repr_html_(), FOUND.to_html()
    assert "<html" not in cell and page.startswith("<!doctype html>")
    for text in (cell, page):
        assert "a_1 is best &amp; 50 % better." in text and text.count("<table") == 2
        assert "not judged" in text and text.count("<script") == (text is page)


def test_the_terminal_says_tables_notes_finding_and_next() -> None:
    shown = str(FOUND)
    places = [
        shown.index(part) for part in ("Systems", "- : not judged", "Read this.", "a_1 is best", "Next: ")
    ]
    assert places == sorted(places)


def test_an_estimate_prints_itself() -> None:
    assert str(Estimate(1.5, 1.0, 2.0, 4)) == "1.5 [1.0, 2.0] (n 4)"
    assert str(absent("nobody judged it")) == "no value: nobody judged it"
