"""The gate and the choice by difficulty as a build calls them: exit codes, tables, words."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

import pytest

Run = Any


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["careful", "--against", "sloppy"], 0),
        (["sloppy", "--against", "careful"], 1),
        # Three prompts of a colour are too few, which is no pass.
        (["careful", "--against", "sloppy", "--class", "colour=red"], 4),
        (["careful", "--against", "sloppy", "--margin", "0.5"], 0),
        (["sloppy", "--against", "careful", "--margin", "0.5"], 1),
        (["sloppy", "--against", "careful", "--margin", "1.5"], 0),
        (["sloppy", "--against", "careful", "--margin", "alignment=1.5", "--by", "alignment"], 0),
        (["careful", "--against", "sloppy", "--all-classes"], 0),
        (["sloppy", "--against", "careful", "--by", "blockiness", "--min-prompts", "13"], 4),
        (["careful", "--against", "nobody"], 2),
        (["careful"], 2),
        (["careful", "--against", "sloppy", "--by", "words"], 2),
        (["careful", "--against", "sloppy", "--margin", "much"], 2),
        (["careful", "--against", "sloppy", "--margin", "1", "--margin", "2"], 2),
        (["careful", "--against", "sloppy", "--json", "--csv"], 2),
    ],
)
def test_exit_codes(run: Run, study: Path, words: list[str], code: int) -> None:
    assert run("score", study, "blockiness").code == 0
    assert run("gate", study, *words).code == code


def test_a_study_at_fault_is_no_fall(run: Run, tmp_path: Path) -> None:
    assert run("gate", tmp_path / "nowhere", "new", "--against", "old").code == 3


def test_what_people_read(run: Run, study: Path) -> None:
    shown = run("gate", study, "sloppy", "--against", "careful")
    assert (
        "sloppy is worse than careful: by alignment over 12 prompts (3.38 to 2.38, p 0.00024)." in shown.out
    )
    assert "regressed" in shown.out and "−1.00" in shown.out
    assert "Next: sightline compare" in shown.out
    unsure = run("gate", study, "careful", "--against", "sloppy", "--class", "colour")
    assert unsure.code == 4 and "3 prompts in common, fewer than 10" in unsure.out


def test_what_programs_read(run: Run, study: Path) -> None:
    assert run("score", study, "blockiness").code == 0
    told = run("gate", study, "sloppy", "--against", "careful", "--by", "alignment,blockiness", "--json").json
    assert (told["verdict"], told["exit_code"], told["alpha"]) == ("regressed", 1, 0.05)
    assert told["margin"] == {"alignment": 0.0, "blockiness": 0.0}
    rows = told["rows"]
    # All 12 prompts fell by one point: one of 2^12 sign patterns, and there are two tests.
    assert rows[0]["p"] == 2**-12 and rows[0]["p_holm"] == 2**-11 and rows[0]["verdict"] == "regressed"
    assert rows[0]["direction"] == "higher" and rows[0]["class"] == "all prompts" and rows[0]["reason"] == ""
    shown = run("gate", study, "careful", "--against", "sloppy", "--class", "colour", "--csv")
    table = list(csv.DictReader(io.StringIO(shown.out)))
    assert [row["class"] for row in table] == [f"colour={c}" for c in ("blue", "green", "pink", "red")]
    assert {row["verdict"] for row in table} == {"inconclusive"} and shown.code == 4
    assert {row["reason"] for row in table} == {"3 prompts in common, fewer than 10"}


def test_selecting_by_difficulty_shows_what_is_expected(run: Run, study: Path, tmp_path: Path) -> None:
    assert run("fit", study, "--folds", "3").code == 0
    words = ["select", study, "3", "--by", "difficulty", "--judged"]
    told = run(*words, "--json").json
    assert len(told["rows"]) == 3 and "alignment predicted by ridge" in told["how"]
    assert all(0 <= row["expected"]["value"] <= 5 for row in told["rows"])
    assert "expected_low" in run(*words, "--csv").out.splitlines()[0]
    shown = run(*words)
    assert shown.code == 0 and "3 --by difficulty --judged --to FILE.csv" in shown.out
    suite = told["rows"][0]["suite"]
    more = ["--question", "alignment", "--tier", "small", "--suite", suite, "--seed", "3"]
    again = run(*words, *more).out.splitlines()[-1]
    for part in ("--judged", "--question alignment", "--tier small", f"--suite {suite}", "--seed 3"):
        assert part in again
    assert run(*words[:-1]).code == 2, "all twelve have a truth already"
    refused = run("select", study, "3", "--prefer", "easy")
    assert refused.code == 2 and "difficulty" in refused.err
