import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sightline.estimate import Estimate, absent
from sightline.rendering.tables import Column, Table, neutralised, reasons


@pytest.fixture
def table() -> Table:
    return Table(
        (
            Column("system"),
            Column("mean", "mean quality", "higher", estimate=True),
            Column("time", unit="s", direction="lower"),
            Column("rank"),
        ),
        (
            ("careful", Estimate(4.123, 3.951, 4.283, 24), 1.5, 1),
            ("<b>sloppy</b>", absent("nobody judged it"), np.float64(2.25), np.int64(2)),
        ),
        "Systems & more",
    )


def test_html_says_everything(table: Table) -> None:
    html = table.to_html()
    assert "<caption>Systems &amp; more</caption>" in html
    assert "↑ higher is better" in html and "↓ lower is better" in html
    assert '<span class="value">4.12</span> <span class="interval">[3.95, 4.28]</span>' in html
    assert "n 24" in html and "nobody judged it" in html
    assert "<b>" not in html and "&lt;b&gt;sloppy&lt;/b&gt;" in html
    assert "time (s)" in html
    assert html.count('scope="col"') == 4 and html.count('scope="row"') == 2


def test_csv_keeps_precision_and_reasons(table: Table) -> None:
    rows = list(csv.DictReader(io.StringIO(table.to_csv())))
    assert list(rows[0]) == [
        *("system", "mean", "mean_low", "mean_high", "mean_n", "mean_reason"),
        *("time", "rank"),
    ]
    assert rows[0]["mean"] == "4.123" and rows[0]["mean_n"] == "24" and rows[0]["mean_reason"] == ""
    assert rows[1]["mean"] == "" and rows[1]["mean_reason"] == "nobody judged it"
    assert rows[1]["time"] == "2.25" and rows[1]["rank"] == "2"


def test_json_is_read_back(table: Table) -> None:
    read = json.loads(table.to_json())
    assert read["columns"][1] == {
        "name": "mean",
        "title": "mean quality",
        "direction": "higher",
        "unit": "",
    }
    assert read["rows"][0]["mean"] == {"value": 4.123, "low": 3.951, "high": 4.283, "n": 24}
    assert read["rows"][1]["mean"] == {"value": None, "reason": "nobody judged it"}
    assert read["rows"][1]["rank"] == 2


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_a_formula_in_text_is_neutralised(start: str) -> None:
    text = f"{start}cmd|' /C calc'!A0"
    written = Table((Column("prompt"),), ((text,),)).to_csv()
    # an io.StringIO with newline="" keeps the carriage return for the reader to see
    read = list(csv.reader(io.StringIO(written, newline="")))
    assert read[1] == ["'" + text]


def test_numbers_stay_numbers_in_csv() -> None:
    row = (-3, -0.5, Estimate(-1.5, -2.0, -1.0, 3))
    written = Table((Column("a"), Column("b"), Column("c")), (row,)).to_csv()
    assert written.splitlines()[1] == "-3,-0.5,-1.5,-2.0,-1.0,3"


def test_columns_of_csv_do_not_depend_on_the_data() -> None:
    header = Table((Column("mean", estimate=True),), ()).to_csv()
    assert header == "mean,mean_low,mean_high,mean_n\n"


def test_a_heading_is_neutralised_too() -> None:
    assert Table((Column("=1+1"),), ()).to_csv() == "'=1+1\n"


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_csv_text_round_trips(text: str) -> None:
    written = Table((Column("text"), Column("n")), ((text, 1),)).to_csv()
    read = list(csv.reader(io.StringIO(written, newline="")))
    assert read[1] == [neutralised(text), "1"]
    assert not read[1][0].startswith(("=", "+", "-", "@", "\t", "\r"))


def test_the_terminal_shows_text_literally(table: Table) -> None:
    from rich.console import Console

    hostile = Table((Column("prompt"),), (("[red]a[/red] \x1b[31mb",), ("line\nbreak",)))
    out = io.StringIO()
    console = Console(file=out, width=120, color_system=None)
    console.print(table.to_rich())
    console.print(hostile.to_rich())
    shown = out.getvalue()
    assert "4.12 [3.95, 4.28] n 24" in shown
    assert "mean quality ↑" in shown and "time (s) ↓" in shown
    assert "[red]a[/red]" in shown and "\x1b" not in shown and "line break" in shown


def test_a_row_shares_its_digits_where_a_column_cannot() -> None:
    columns = (Column("measure"), Column("a"), Column("b"))
    rows = (
        ("sharpness", Estimate(2636.43, 2018.794, 3254.067), Estimate(159.124, 131.98, 186.268)),
        ("brightness", Estimate(0.458, 0.414, 0.501), Estimate(0.457, 0.448, 0.466)),
    )
    html = Table(columns, rows).to_html()
    for shown in ("2,636", "[2,019, 3,254]", "159", "[132, 186]", "0.458", "[0.414, 0.501]", "0.457"):
        assert f">{shown}</span>" in html


def test_a_cell_knows_its_heading_and_a_table_its_layout(table: Table) -> None:
    html = table.to_html()
    assert 'data-label="mean quality\n↑ higher is better"' in html and 'data-label="rank"' in html
    assert 'class="table-scroll stacks"' in html
    many = Table([Column("system"), *(Column(f"c{n}", estimate=True) for n in range(4))])
    assert 'class="table-scroll dense stacks"' in many.to_html()
    assert 'class="table-scroll"' in Table((Column("a"), Column("b"))).to_html()


def test_reasons_are_counted(table: Table) -> None:
    assert reasons(table) == {"- : nobody judged it": 1}
    bare = Table([Column("kappa")], [(Estimate(0.8, n=9, reason="too few items"),), (Estimate(0.7, n=9),)])
    assert reasons(bare) == {"no interval: too few items": 1}
    assert json.loads(bare.to_json())["rows"][0]["kappa"]["reason"] == "too few items"


def test_lone_surrogates_can_be_written() -> None:
    table = Table((Column("prompt"),), (("a\ud800b",),))
    for text in (table.to_csv(), table.to_json(), table.to_html()):
        text.encode("utf-8")


def test_a_crooked_table_is_refused() -> None:
    with pytest.raises(ValueError, match="row 0 has 1 cells for 2 columns"):
        Table((Column("a"), Column("b")), ((1,),))
    with pytest.raises(ValueError, match="share a name"):
        Table((Column("a"), Column("a")))


def test_a_table_without_rows_is_a_table() -> None:
    empty = Table((Column("a"),))
    assert "<thead>" in empty.to_html()
    assert json.loads(empty.to_json())["rows"] == []
    assert empty.to_rich().row_count == 0
