"""sightline reproduce: a table for people, JSON for programs, exit codes for scripts."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.cli._app import build
from sightline.reproductions import papers

Run = Callable[..., Any]


def test_json_and_nothing_else(run: Run, data: Path) -> None:
    ran = run("reproduce", "w1kp", "--data", data, "--json")
    assert ran.code == 0
    assert ran.err == ""
    assert set(ran.json) == {"paper", "figures", "sentence"}
    assert ran.json["paper"] == "w1kp"
    for figure in ran.json["figures"]:
        assert list(figure) == ["id", "printed", "obtained", "tolerance", "ok", "note"]
        assert figure["ok"] is (None if figure["id"] == "raw.p90" else True)
    step = next(figure for figure in ran.json["figures"] if figure["id"] == "cdf.step")
    assert step["printed"] == 0.5152
    assert step["tolerance"] == 0.0001
    assert step["obtained"] == pytest.approx(0.51522, abs=1e-5)


def test_the_table_shows_the_digits_as_printed(run: Run, data: Path) -> None:
    ran = run("reproduce", "gimbrr", "--data", data / "gimbrr")
    assert ran.code == 0
    lines = {line.split()[0]: line.split() for line in ran.out.splitlines() if line.strip()}
    assert lines["counting.2"][1:5] == ["60.00", "60.0000", "0.01", "yes"]
    assert lines["controlled.Dalle.single_object"][1:5] == ["98", "98", "0", "yes"]
    assert "type-I sum of squares" in ran.out
    assert " match, 0 do not, 0 could not" in ran.out


def test_a_figure_that_does_not_come_out_ends_with_1(run: Run, data: Path, tmp_path: Path) -> None:
    lines = (data / "agiqa3k" / "data.csv").read_text().splitlines(keepends=True)
    (tmp_path / "data.csv").write_text("".join(lines[:-1]))
    ran = run("reproduce", "agiqa3k", "--data", tmp_path, "--json")
    assert ran.code == 1
    assert {figure["id"] for figure in ran.json["figures"] if figure["ok"] is False} >= {"rows"}
    ran = run("reproduce", "agiqa3k", "--data", tmp_path)
    assert ran.code == 1
    assert "NO" in ran.out


def test_what_is_absent_is_null_and_does_not_fail(run: Run, data: Path, tmp_path: Path) -> None:
    shutil.copyfile(data / "conqa" / "mturk.json", tmp_path / "mturk.json")
    ran = run("reproduce", "conqa", "--data", tmp_path, "--json")
    assert ran.code == 0
    figures = {figure["id"]: figure for figure in ran.json["figures"]}
    absent = {"id": "queries", "printed": 80, "obtained": None, "tolerance": 0, "ok": None}
    assert figures["queries"] == {**absent, "note": "Not here: seed.json."}
    assert figures["votes.unsure"]["ok"] is True


@pytest.mark.parametrize("paper", ["conqa", "w1kp", "pqpp"])
def test_an_empty_folder_ends_with_3_and_nothing_passes(run: Run, tmp_path: Path, paper: str) -> None:
    ran = run("reproduce", paper, "--data", tmp_path, "--json")
    assert ran.code == 3 and f"None of the files of {paper}" in ran.json["sentence"]
    assert ran.json["figures"] and all(figure["ok"] is None for figure in ran.json["figures"])


def test_wrong_usage(run: Run, tmp_path: Path) -> None:
    ran = run("reproduce", "pqp", "--data", tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert "pqpp" in ran.err
    assert run("reproduce", "pqpp").code == 2
    ran = run("reproduce", "pqpp", "--data", tmp_path / "nowhere", "--json")
    assert (ran.code, ran.out) == (3, "")


def test_the_help_names_every_paper() -> None:
    command = build().get_command(None, "reproduce")
    said = next(parameter.help for parameter in command.params if parameter.name == "paper")
    assert all(paper in said for paper in papers())
