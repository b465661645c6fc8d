"""Retrieval on the command line: runs and qrels from files, scores, comparisons, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


@pytest.fixture
def search(tmp_path: Path, run: Run) -> Path:
    """Eight queries, two engines: `good` finds the image at once, `slow` at rank 2, or 3 where conceptual."""
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "prompts.csv").write_text(
        "prompt_id,prompt,tags.kind\n"
        + "".join(f"q{n},query {n},{'conceptual' if n < 4 else 'descriptive'}\n" for n in range(8)),
        "utf-8",
    )
    (folder / "x.qrels").write_text("".join(f"q{n} 0 hit{n} 1\nq{n} 0 x1 0\n" for n in range(8)), "utf-8")
    for system in ("good", "slow"):
        lines = []
        for n in range(8):
            rank = 1 if system == "good" else 3 if n < 4 else 2
            names = ["x1", "x2", "x3"]
            names.insert(rank - 1, f"hit{n}")
            lines += [f"q{n} Q0 {name} {place} {9 - place} {system}\n" for place, name in enumerate(names, 1)]
        (folder / f"{system}.run").write_text("".join(lines), "utf-8")
    study = tmp_path / "study"
    for name in ("prompts.csv", "x.qrels", "good.run", "slow.run"):
        done = run("import", study, folder / name)
        assert done.code == 0, done.err
    return study


def test_from_files_to_a_comparison(run: Run, search: Path) -> None:
    scored = run("score", search, "reciprocal_rank", "precision@2", "--json")
    assert scored.code == 0, scored.err
    # good: hit, x1 of its first two are judged, all of them. slow: x1, x2 or x1, hit: 4 of 16 are not.
    notes = " ".join(scored.json["notes"])
    assert "slow: 4 of the 16 images among the first 2 (25%) are unjudged" in notes
    assert "in its rankings" in notes
    told = run("compare", search, "--by", "reciprocal_rank", "--json").json
    first, second = told["systems"]["rows"]
    assert (first["system"], first["mean"]["value"]) == ("good", 1)
    assert second["mean"]["value"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    (pair,) = told["pairs"]["rows"]
    assert pair["p_bh"] == pair["p"] == 2 / 2**8 and pair["detectable"] > 0
    # Both rank the same four images.
    assert told["overlap"]["rows"][0]["share"]["value"] == 1
    assert told["notes"] and told["test"] == "sign_flip"
    shown = run("compare", search, "--by", "reciprocal_rank").out
    assert "are unjudged and count as not relevant" in shown and "images in common" in shown
    drawn = run("compare", search, "--by", "reciprocal_rank", "--test", "bootstrap", "--json").json
    assert drawn["test"] == "bootstrap" and drawn["pairs"]["rows"][0]["p"] < 0.05
    assert run("compare", search, "--by", "reciprocal_rank", "--test", "boots").code == 2


def test_two_sets_of_queries(run: Run, search: Path) -> None:
    run("score", search, "reciprocal_rank", "hit_rate@2")
    by = ["--by", "reciprocal_rank", "--by", "hit_rate@2"]
    told = run("compare-sets", search, "kind=conceptual,descriptive", *by, "--json")
    assert told.code == 0, told.err
    rows = {(row["system"], row["by"]): row for row in told.json["rows"]}
    # 1/3 against 1/2: half as much again; four against four all lower. Never found against always: inf.
    assert rows["slow", "reciprocal_rank"]["improvement"] == "**+50.0%**"
    assert rows["slow", "hit_rate(k=2)"]["improvement"] == "**inf**"
    assert rows["good", "reciprocal_rank"]["improvement"] == ""
    against = run("compare-sets", search, "kind=conceptual", *by)
    assert "between ** p < .01" in against.out and "neither set" not in against.out
    more = {
        "csv": "prompt_id,prompt\nq9,query 9\n",
        "qrels": "q9 0 hit1 1\n",
        "run": "q9 Q0 hit1 1 0.5 good\n",
    }
    for form, content in more.items():
        (search.parent / f"more.{form}").write_text(content, "utf-8")
        assert run("import", search, search.parent / f"more.{form}").code == 0
    assert "1 prompts without this tag" in run("compare-sets", search, "kind=conceptual", *by).out
    assert run("compare-sets", search, "kind=conceptual", *by, "--json").json["untagged"] == 1
    assert run("compare-sets", search, "kind=conceptual").code == 2
    assert run("compare-sets", search, *by).code == 2


def test_recall_of_papers_is_found_and_explained(run: Run, search: Path) -> None:
    assert run("score", search, "recall_at@1").code == 0
    listed = run("list", "of_ranking", "--json").json["rows"]
    (meaning,) = [row["meaning"] for row in listed if row["name"] == "hit_rate"]
    assert "Recall@k" in meaning


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("a.run", "q9 Q0 hit1 1 0.5 new\n", "there is no prompt 'q9'"),
        ("a.run", "q1 Q0 hit1 1 nan new\n", "must be numbers"),
        ("a.run", "q1 Q0 hit1 1 0.5 new\nq1 Q0 hit1 2 0.4 new\n", "ranked twice"),
        ("a.qrels", "q9 0 hit1 1\n", "there is no prompt 'q9'"),
        ("a.qrels", "q1 0 new 1\nq1 0 new 0\n", "two truths of 'relevance'"),
        ("a.qrels", "q1 0 hit1 0\n", "the study holds another truth"),
    ],
)
def test_bad_runs_and_qrels(run: Run, search: Path, file: str, content: str, said: str) -> None:
    (search.parent / file).write_text(content, "utf-8")
    done = run("import", search, search.parent / file)
    assert done.code == 3 and said in done.err


def test_a_run_on_another_collection_is_told(run: Run, search: Path) -> None:
    lines = "".join(f"q{n} Q0 COCO_{n} 1 0.5 strange\n" for n in range(8))
    (search.parent / "strange.run").write_text(lines, "utf-8")
    assert run("import", search, search.parent / "strange.run").code == 0
    assert "strange: 8 of the 8 images" in run("score", search, "precision@1", "--json").out
    found = run("check", search, "--json").json
    told = [row for row in found["rows"] if row["rule"] == "rankings_unjudged"]
    assert [(row["severity"], row["n"]) for row in told] == [("error", 8)]


def test_runs_and_qrels_speak_of_the_only_suite_and_collection(run: Run, tmp_path: Path) -> None:
    study = tmp_path / "study"
    (tmp_path / "captions.csv").write_text("image,caption\ndog.png,a dog\ncat.png,a cat\n")
    (tmp_path / "queries.csv").write_text("prompt_id,prompt\nq1,a dog\n")
    (tmp_path / "x.qrels").write_text("q1 0 dog.png 1\n")
    (tmp_path / "x.run").write_text("q1 Q0 cat.png 1 0.1 engine\nq1 Q0 dog.png 2 0.9 engine\n")
    assert run("import", study, tmp_path / "captions.csv", "--option", "collection=photos").code == 0
    assert run("import", study, tmp_path / "queries.csv", "--option", "suite=asked").code == 0
    assert run("import", study, tmp_path / "x.qrels").code == 0
    told = run("import", study, tmp_path / "x.run")
    assert told.code == 0 and "Noted: 1 scores that rise with the rank" in told.out
    assert run("score", study, "reciprocal_rank").code == 0
    (row,) = run("compare", study, "--by", "reciprocal_rank", "--json").json["systems"]["rows"]
    assert row["mean"]["value"] == 0.5
    # Where it is said, it is as said.
    elsewhere = run("import", study, tmp_path / "x.qrels", "--option", "suite=other")
    assert elsewhere.code == 3 and "other" in elsewhere.err


def test_a_measure_that_needs_no_judgement(run: Run, search: Path) -> None:
    """Every ranking scores 8, 7, 6, 5: its deviation is sqrt(5 / 4), its mean 6.5."""
    scored = run("score", search, "nqc@100")
    assert scored.code == 0, scored.err
    assert "compare" not in scored.out and f"sightline report {search}" in scored.out
    both = run("score", search, "nqc@100", "reciprocal_rank").out
    assert f"sightline compare {search} --by reciprocal_rank" in both
    told = run("compare", search, "--by", "nqc", "--json").json
    assert [row["mean"]["value"] for row in told["systems"]["rows"]] == pytest.approx([1.25**0.5 / 6.5] * 2)
    (note,) = told["notes"]
    assert "needs no judgement" in note
    shown = run("compare", search, "--by", "nqc").out
    assert "Neither end of it is better" in shown and "relevance" not in shown
