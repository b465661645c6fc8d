"""sightline reproduce pqpp: tables for people, for programs and in files."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.cli import main
from sightline.reproductions.tables.pqpp_printed import COLUMNS

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command with these words: exit code, standard output, standard error."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*words: object) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main([str(word) for word in words])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty rows in three splits, made up."""
    rng = random.Random(4)
    for number, name in enumerate(("train", "validation", "test")):
        with (tmp_path / f"{name}.csv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(["id", "image_id", "best_caption", *COLUMNS.values()])
            for row in range(10):
                caption = " ".join(rng.choices(("a", "cat", "and", "hill", "sunny"), k=2 + row))
                writer.writerow([10 * number + row, row, caption, *(rng.random() for _ in COLUMNS)])
    return tmp_path


def test_tables_for_people(called: Run, folder: Path) -> None:
    code, out, _ = called("reproduce", "pqpp", "--data", folder, "--tier", "none")
    # Made-up rows are not the paper's, and its card says so.
    assert code == 1
    for number in (2, 4, 5, 6, 7):
        assert f"Table {number}. " in out
    assert "(paper: test rows; ours: test rows, n = 10)" in out
    assert "(paper: train rows; ours: train rows, n = 10)" in out
    lines = [line.split() for line in out.splitlines()]
    after = next(line for line in lines if line[:1] == ["Post-"])
    assert after[:6] == ["Post-", "Fine-tuned", "CLIP", "paper", "*0.600‡", "*0.448‡"]
    assert "- : Fine-tuned CLIP: needs the images" in out
    assert "--tier small: " in out and "--tier medium: " in out


@pytest.mark.slow
def test_tables_for_programs(called: Run, folder: Path) -> None:
    code, out, _ = called("reproduce", "pqpp", "--data", folder, "--tier", "none", "--json")
    assert code == 1
    document: dict[str, Any] = json.loads(out)
    assert list(document) == ["paper", "figures", "sentence", "tables"]
    assert [table["table"] for table in document["tables"]] == [2, 3, 4, 5, 6, 7]
    main_table = document["tables"][0]
    assert (main_table["split"], main_table["n"]) == ("test", 10)
    rows = {(row["predictor"], row["whose"]): row for row in main_table["rows"]}
    assert rows["Fine-tuned CLIP", "paper"]["values"]["hbpp"]["pearson"] == {
        "value": 0.6,
        "mark": "‡",
        "best": True,
    }
    ours = rows["#words", "ours"]
    assert (ours["split"], ours["sees"]) == ("test", "prompt")
    assert list(ours["values"]["rr"]["kendall"]) == ["value", "mark", "best", "low", "high", "p", "n"]
    assert "rankings" in rows["Correlation CNN", "ours"]["values"]["rr"]["kendall"]["reason"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("suffix", "start"), [("tex", r"\begin{table}"), ("csv", "table,whose,split,predictor")]
)
def test_tables_in_a_file(called: Run, folder: Path, suffix: str, start: str) -> None:
    to = folder / f"tables.{suffix}"
    _, out, _ = called("reproduce", "pqpp", "--data", folder, "--tier", "none", "--to", to)
    assert "6 tables written to" in out
    text = to.read_text(encoding="utf-8")
    assert text.startswith(start)
    if suffix == "csv":
        row = next(
            row for row in csv.DictReader(text.splitlines()) if row["whose"] == "ours" and row["value"]
        )
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"]) and int(row["n"]) > 0


def test_wrong_usage_is_refused_before_anything_is_computed(called: Run, folder: Path) -> None:
    for words, code, said in (
        (("pqpp", "--tier", "lite"), 2, "there is no tier 'lite'"),
        (("pqpp", "--to", folder / "tables.docx"), 2, ".tex or .csv"),
        (("pqpp", "--to", folder / "nowhere" / "x.tex"), 3, "no such folder"),
        (("w1kp", "--tier", "small"), 2, "w1kp has no tables for --tier"),
    ):
        found, out, err = called("reproduce", *words, "--data", folder)
        assert (found, out) == (code, ""), words
        assert said in err
