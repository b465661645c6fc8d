"""Files of prompts: every row is there again, bad ones with a reason, and what comes after them is right."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as some

from sightline.errors import DataError, UsageError
from sightline.estimate import Estimate
from sightline.prediction.model import Prediction
from sightline.prediction.prompt_files import Batch, Line, columns_of, predict_rows, read_prompts, write_rows

TARGETS = ("ease",)


def tell(prompts: Sequence[str]) -> list[Prediction]:
    """Expects of a prompt as much as it has characters; nothing of one without a letter."""

    def one(text: str) -> Prediction:
        if not any(map(str.isalpha, text)):
            return Prediction(text, refused="no letter")
        n = float(len(text))
        return Prediction(text, {"ease": Estimate(n, n - 1, n + 1)}, {}, ("long",) if n > 9 else ())

    return [one(text) for text in prompts]


def written(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_text_has_one_prompt_a_line(tmp_path: Path) -> None:
    path = written(tmp_path, "p.txt", b"\xef\xbb\xbfa cat\n\n  a dog \r\nbad \xff byte\nlast")
    assert list(read_prompts(path)) == [
        Line(1, "", "a cat"),
        Line(2, "", "", "there is no prompt in this row"),
        Line(3, "", "a dog"),
        Line(4, "", "", "not UTF-8 text: byte 0xff"),
        Line(5, "", "last"),
    ]


def test_csv_reads_on_after_bad_rows(tmp_path: Path) -> None:
    content = (
        "id,text,more\n"  # 1
        'a,"two\nlines",x\n'  # 2 and 3
        "b,too few\n"  # 4
        'c,"never closed,x\n'  # 5
        'd,"he said ""hi""",x\n'  # 6
        "e,,x\n"  # 7
        'f,"stray"quote,x\n'  # 8
        "\n"  # 9, blank: no row
        "g,good,x\n"  # 10
    )
    found = list(read_prompts(written(tmp_path, "p.csv", content)))
    assert [(line.row, line.id, line.prompt) for line in found if not line.reason] == [
        (2, "a", "two\nlines"),
        (6, "d", 'he said "hi"'),
        (10, "g", "good"),
    ]
    reasons = {line.row: line.reason for line in found if line.reason}
    assert list(reasons) == [4, 5, 7, 8]
    assert reasons[4] == "2 cells where the header has 3" and "never closed" in reasons[5]
    assert "no prompt" in reasons[7] and "quotes" in reasons[8]


def test_an_unclosed_quote_costs_one_row(tmp_path: Path) -> None:
    rows = ["prompt", "first", '"open', *(f"row {n}" for n in range(300))]
    found = list(read_prompts(written(tmp_path, "p.csv", "\n".join(rows))))
    assert len(found) == 302
    assert found[0] == Line(2, "", "first")
    assert found[1].row == 3 and "never closed" in found[1].reason
    assert found[2:] == [Line(4 + n, "", f"row {n}") for n in range(300)]


def test_a_quote_within_a_field_is_a_letter_like_others(tmp_path: Path) -> None:
    texts = ['a 6" pipe', "a dog", "a cat", 'a 7" pipe', "a cow"]
    for name, mark in (("p.csv", ","), ("p.tsv", "\t")):
        content = "\n".join([f"id{mark}prompt", *(f"{n}{mark}{text}" for n, text in enumerate(texts))])
        found = list(read_prompts(written(tmp_path, name, content)))
        assert found == [Line(n + 2, str(n), text) for n, text in enumerate(texts)]


def test_a_quote_that_is_closed_in_the_wrong_place_costs_one_row(tmp_path: Path) -> None:
    content = 'id,prompt\n1,"open\n2,a dog\n3,"a cat"\n4,"a ""big""\ncow"\n'
    first, *found = read_prompts(written(tmp_path, "p.csv", content))
    assert first.row == 2 and "never closed" in first.reason
    assert found == [Line(3, "2", "a dog"), Line(4, "3", "a cat"), Line(5, "4", 'a "big"\ncow')]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_lines_end_as_any_system_ends_them(tmp_path: Path, end: str) -> None:
    rows = ["id,prompt", "1,a dog", f'2,"two{end}lines"', "3,a cat"]
    found = list(read_prompts(written(tmp_path, "p.csv", end.join(rows))))
    assert found == [Line(2, "1", "a dog"), Line(3, "2", f"two{end}lines"), Line(5, "3", "a cat")]
    assert list(read_prompts(written(tmp_path, "p.txt", f"a dog{end}a cat{end}"))) == [
        Line(1, "", "a dog"),
        Line(2, "", "a cat"),
    ]


def test_a_row_of_empty_cells_is_a_row(tmp_path: Path) -> None:
    found = list(read_prompts(written(tmp_path, "p.tsv", "id\tprompt\n\t\n2\ta dog\n")))
    assert found == [Line(2, "", "", "there is no prompt in this row"), Line(3, "2", "a dog")]


FIELD = some.text(some.sampled_from("ab \"',;\t\u2028é"), max_size=6).filter(
    lambda text: text[:1] != '"' and ',"' not in text
)
QUOTED = some.text(some.sampled_from('ab ",;\t\u2028é'), max_size=6).map(
    lambda text: '"' + text.replace('"', '""') + '"'
)


@given(
    rows=some.lists(some.tuples(FIELD.map(lambda text: text.replace(",", "")), FIELD | QUOTED), max_size=12),
    end=some.sampled_from(["\r", "\n", "\r\n"]),
)
def test_every_line_without_quoted_line_breaks_is_one_row(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], end: str
) -> None:
    path = tmp_path_factory.mktemp("p") / "p.csv"
    path.write_bytes(end.join(["id,prompt", *(f"{own},{text}" for own, text in rows)]).encode())
    found = list(read_prompts(path))
    assert [line.row for line in found] == list(range(2, 2 + len(rows)))
    for line, (own, text) in zip(found, rows, strict=True):
        plain = text[1:-1].replace('""', '"') if text[:1] == '"' else text
        if text[:1] != '"' and "," in text:
            assert "cells where the header has 2" in line.reason
        elif not plain.strip():
            assert "no prompt" in line.reason
        else:
            assert (line.id, line.prompt) == (own, plain)


@given(some.lists(some.text(some.sampled_from('ab",'), min_size=1, max_size=6), max_size=12))
def test_whatever_quotes_there_are_no_line_is_lost_or_told_twice(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    # A row may reach over several lines only if its quoted cell does: as many as it has line breaks.
    path = tmp_path_factory.mktemp("p") / "p.csv"
    path.write_text("\n".join(["prompt", *lines]))
    found = list(read_prompts(path))
    rows = [line.row for line in found] + [2 + len(lines)]
    assert rows[0] == 2
    for line, after in zip(found, rows[1:], strict=True):
        if line.prompt:
            assert after - line.row == 1 + line.prompt.count("\n")


def test_json_lines_and_parquet(tmp_path: Path) -> None:
    lines = [
        '{"prompt": "a", "id": 7}',
        '"just a text"',
        "{",
        '{"x": 1}',
        "[1]",
        '{"prompt": 3}',
        '{"text": "b"}',
    ]
    found = list(read_prompts(written(tmp_path, "p.jsonl", "\n".join(lines))))
    assert [line.prompt for line in found] == ["a", "just a text", "", "", "", "", "b"]
    assert found[0].id == "7"
    assert [bool(line.reason) for line in found] == [False, False, True, True, True, True, False]
    assert "not JSON" in found[2].reason and "prompt or text" in found[3].reason
    frame = pl.DataFrame({"ref": [1, 2, 3], "caption": ["a", None, "c"]})
    frame.write_parquet(tmp_path / "p.parquet")
    told = list(read_prompts(tmp_path / "p.parquet"))
    assert told == [Line(1, "1", "a"), Line(2, "2", "", "there is no prompt in this row"), Line(3, "3", "c")]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_every_row_is_written_in_order(tmp_path: Path, suffix: str) -> None:
    texts = [f"prompt {n}" if n % 7 else "..." for n in range(1, 1203)]
    texts[2] = '=cmd|"x", y'
    path = written(tmp_path, "p.txt", "\n".join(texts))
    batch, heard = Batch(), list[int]()
    rows = predict_rows(read_prompts(path), tell, batch, "p.txt", heard.append)
    to = tmp_path / f"out{suffix}"
    write_rows(rows, to, TARGETS)
    refused = [n for n in range(1, 1203) if n % 7 == 0]
    assert (batch.rows, batch.refused) == (1202, len(refused))
    assert heard == [500, 1000, 1202]
    assert batch.named[:2] == ["p.txt:7: no letter", "p.txt:14: no letter"]
    assert batch.warned == sum(len(text) > 9 for text in texts)
    if suffix == ".csv":
        with to.open(encoding="utf-8", newline="") as stream:
            told = list(csv.DictReader(stream))
        assert told[2]["prompt"] == f"'{texts[2]}", "no spreadsheet runs it"
    elif suffix == ".jsonl":
        told = [json.loads(line) for line in to.read_text(encoding="utf-8").splitlines()]
    else:
        told = pl.read_parquet(to).to_dicts()
    assert list(told[0]) == columns_of(TARGETS)
    assert [int(row["row"]) for row in told] == list(range(1, 1203))
    for n, row in enumerate(told):
        if n + 1 in refused:
            assert not row["ease"] and row["reason"] == "no letter"
        else:
            assert float(row["ease"]) == len(texts[n]) and float(row["ease_low"]) == len(texts[n]) - 1
            assert not row["reason"]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == [], "no draft is left"


def test_what_is_interrupted_leaves_the_earlier_file_as_it_was(tmp_path: Path) -> None:
    path = written(tmp_path, "p.txt", "\n".join(f"prompt {n}" for n in range(2000)))
    to = written(tmp_path, "out.csv", "earlier")

    def impatient(done: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(predict_rows(read_prompts(path), tell, Batch(), "p.txt", impatient), to, TARGETS)
    assert to.read_text() == "earlier"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.csv", "p.txt"]


def test_files_that_hold_no_prompts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"p\.xls"):
        list(read_prompts(tmp_path / "p.xls"))
    with pytest.raises(DataError, match="no such file"):
        list(read_prompts(tmp_path / "p.txt"))
    with pytest.raises(DataError, match="empty"):
        list(read_prompts(written(tmp_path, "e.txt", "")))
    with pytest.raises(DataError, match="not UTF-8 text"):
        list(read_prompts(written(tmp_path, "u.txt", "a cat".encode("utf-16"))))
    with pytest.raises(DataError, match="no column prompt or text") as told:
        list(read_prompts(written(tmp_path, "c.csv", "promt,x\na,b\n")))
    assert "promt" in told.value.remedy and "--column" in told.value.remedy
    assert list(read_prompts(tmp_path / "c.csv", "promt")) == [Line(2, "", "a")]
    with pytest.raises(DataError, match="not a readable Parquet"):
        list(read_prompts(written(tmp_path, "x.parquet", "nothing of the kind")))
    with pytest.raises(DataError, match="no rows"):
        list(predict_rows(read_prompts(written(tmp_path, "h.csv", "prompt\n")), tell, Batch(), "h.csv"))
    with pytest.raises(UsageError, match=r"out\.txt"):
        write_rows([], tmp_path / "out.txt", TARGETS)
    with pytest.raises(DataError, match="no such folder"):
        write_rows([], tmp_path / "none" / "out.csv", TARGETS)
