"""sightline predict and fit: prompts, files of them, rewordings; and a study's own predictors."""

from __future__ import annotations

import csv
import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sightline.estimate import Estimate
from sightline.prediction.model import Prediction, TargetScale
from sightline.prediction.predict import Predictions
from sightline.records import Item, Prompt, PromptKey, Question, Record, Truth
from sightline.study.study import create_study
from sightline.study.writing.loading import load

Run = Callable[..., Any]

EASY, HARD = "a dog on grass", "a group of people standing near many different signs in a crowded city street"


def test_a_prompt_is_answered_with_figures_intervals_and_words(run: Run) -> None:
    done = run("predict", EASY)
    assert done.code == 0
    for word in ("HBPP", "P@10", "RR", "easier", "tier", "90 %", "Next: sightline predict"):
        assert word in done.out
    told = run("predict", EASY, HARD, "--json").json
    assert told["tier"] in ("small", "medium", "large") and told["coverage"] == 0.9
    assert [row["prompt"] for row in told["rows"]] == [EASY, HARD]
    for row in told["rows"]:
        for name, low, high in (("hbpp", -1, 2), ("p_at_10", 0, 1), ("rr", 0, 1)):
            assert low <= row[name]["low"] <= row[name]["value"] <= row[name]["high"] <= high
    as_csv = run("predict", EASY, "--csv", "--tier", "small")
    (row,) = csv.DictReader(as_csv.out.splitlines())
    assert row["prompt"] == EASY and float(row["hbpp_low"]) < float(row["hbpp_high"])


def test_what_cannot_be_predicted_is_said(run: Run) -> None:
    done = run("predict", "   ")
    assert done.code == 3 and "The prompt is empty." in done.out
    mixed = run("predict", "", EASY, "--json")
    assert mixed.code == 3
    assert mixed.json["rows"][0]["hbpp"]["value"] is None and mixed.json["rows"][0]["hbpp"]["reason"]
    assert mixed.json["rows"][1]["hbpp"]["value"] is not None


def test_rewordings_are_ranked_by_what_is_expected(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "wordings.txt"
    file.write_text(f"{HARD}\n\n{EASY}\n")
    told = run("predict", EASY, "--suggest", "a dog", "--suggest", file, "--by", "p_at_10", "--json").json
    assert told["by"] == "p_at_10"
    values = [row["p_at_10"]["value"] for row in told["rows"]]
    assert len(values) == 3 and values == sorted(values, reverse=True)
    own = next(row for row in told["rows"] if row["own"])
    assert own["prompt"] == EASY and own["gain"] == 0
    assert told["unread"] == [f"{file}:2: there is no prompt in this row"]
    done = run("predict", EASY, "--suggest", HARD)
    assert done.code == 0 and ("Best:" in done.out or "No other wording" in done.out)
    assert run("predict", EASY, "--suggest", EASY).code == 2
    assert run("predict", EASY, HARD, "--suggest", "x").code == 2
    assert "hbpp" in run("predict", EASY, "--suggest", HARD, "--by", "hbp").err
    assert run("predict", EASY, "--suggest", tmp_path / "none.txt").code == 3


def test_a_file_is_predicted_row_by_row_and_nothing_is_lost(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "prompts.csv"
    file.write_text(f'id,prompt\n1,{EASY}\n2\n3,\n4,"{HARD}"\n')
    out = tmp_path / "out.jsonl"
    done = run("predict", "--file", file, "--to", out)
    assert done.code == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["row"], row["id"], row["prompt"]) for row in rows] == [
        (2, "1", EASY),
        (3, None, None),
        (4, "3", None),
        (5, "4", HARD),
    ]
    assert [row["hbpp"] is None for row in rows] == [False, True, True, False]
    assert "1 cells where the header has 2" in rows[1]["reason"] and rows[2]["reason"]
    assert f"{file}:3: 1 cells" in done.out and "2 of 4 rows have no prediction" in done.out
    # The same as one by one.
    alone = run("predict", EASY, "--json").json["rows"][0]
    assert rows[0]["hbpp"] == pytest.approx(alone["hbpp"]["value"], abs=1e-6)
    shown = run("predict", "--file", file, "--json")
    assert shown.code == 0 and [row["row"] for row in shown.json["rows"]] == [2, 3, 4, 5]
    nothing = tmp_path / "nothing.txt"
    nothing.write_text("\n\n")
    assert run("predict", "--file", nothing).code == 3
    assert run("predict", "--file", file, "--to", file).code == 2
    assert run("predict", "--file", file, "--to", tmp_path / "out.xls").code == 2
    assert run("predict", "--file", tmp_path / "none.txt").code == 3
    assert run("predict", "--file", file, EASY).code == 2
    assert "--column" in run("predict", "--file", file, "--column", "promt").err


def test_a_study_or_a_path_is_never_read_as_a_prompt(
    run: Run, study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompts.txt").write_text(EASY)
    (tmp_path / "folder").mkdir()
    for word in (str(study), "postgresql://host/study"):
        refused = run("predict", word)
        assert refused.code == 2 and f"sightline fit {shlex.quote(word)}" in refused.err
    for word in ("my/study", "./my-study", "study.db", "~/study", "folder"):
        refused = run("predict", "a cat", word)
        assert refused.code == 2 and f"--prompt {shlex.quote(word)}" in refused.err, word
    assert "--file prompts.txt" in run("predict", "prompts.txt").err
    refused = run("predict", "study", "--question", "alignment")
    assert refused.code == 2 and "--question" in refused.err
    assert run("predict", "--prompt", "and/or").code == 0, "a prompt whatever it looks like"
    assert run("predict", "sunset").code == 0
    assert run("predict").code == 2
    assert "small" in run("predict", "a cat", "--tier", "lite").err
    assert run("predict", "a cat", "--to", "x.parquet").code == 2
    assert run("predict", "a cat", "--to", "x.html").code == 0 and Path("x.html").stat().st_size
    assert run("predict", "a cat", "--by", "hbpp").code == 2
    assert run("predict", "a cat", "--column", "prompt").code == 2


def test_a_study_is_learned_from_and_predictors_are_compared(run: Run, study: Path) -> None:
    predictors = ["--with", "ridge", "--with", "mean", "--folds", 3]
    told = run("fit", study, *predictors, "--prompt", "a red ball", "--prompt", "a cat", "--json").json
    assert [row["predictor"] for row in told["quality"]["rows"]] == ["ridge", "mean"]
    assert {"pearson", "kendall", "spearman", "smare", "rmse", "pearson_p"} <= told["quality"]["rows"][
        0
    ].keys()
    assert len(told["differences"]["rows"]) == 1
    assert {row["quarter"] for row in told["quarters"]["rows"]} >= {"hardest", "easiest"}
    assert {"words", "mean_idf"} <= {row["feature"] for row in told["features"]["rows"]}
    assert [row["prompt"] for row in told["predicted"]["rows"]] == ["a red ball", "a cat"]
    assert told["quality"]["rows"][0]["prompts"] == 12
    values = [row["value"] for row in told["predicted"]["rows"]]
    assert all(value["low"] < value["value"] < value["high"] for value in values)
    done = run("fit", study, "--folds", 3)
    assert done.code == 0
    for word in ("Pearson", "Kendall", "Spearman", "sMARE", "RMSE", "quarter", "alignment:", "Next:"):
        assert word in done.out
    assert run("fit", study, "--tier", "small").code == 2
    refused = run("fit", study, "--split", "published")
    assert refused.code == 3 and "split=train" in refused.err


def test_a_predictor_is_kept_and_asked_without_the_study(run: Run, study: Path, tmp_path: Path) -> None:
    model = tmp_path / "own.npz"
    words = ["fit", study, "--folds", 3, "--with", "ridge", "--with", "mean"]
    done = run(*words, "--save", model)
    assert done.code == 0 and "own.npz (ridge, fitted on 12 prompts)" in done.out
    told = run("predict", "two red balls", "four pink balls", "--model", model, "--json").json
    assert told["model"] == str(model)
    for row in told["rows"]:
        assert 0 <= row["alignment"]["low"] <= row["alignment"]["value"] <= row["alignment"]["high"] <= 5
    # Votes are 2.5 + (n % 4) / 4 on average: red is the worst colour, pink the best.
    assert told["rows"][0]["alignment"]["value"] < told["rows"][1]["alignment"]["value"]
    ranked = run("predict", "two red balls", "--suggest", "two pink balls", "--model", model, "--json").json
    assert [row["prompt"] for row in ranked["rows"]] == ["two pink balls", "two red balls"]
    file = tmp_path / "p.txt"
    file.write_text("two red balls\n")
    assert run("predict", "--file", file, "--model", model, "--to", tmp_path / "o.csv").code == 0
    assert (
        (tmp_path / "o.csv").read_text().startswith("row,id,prompt,alignment,alignment_low,alignment_high,")
    )
    assert "alignment" in run("predict", "two red balls", "--model", model).out
    assert run("predict", "two red balls", "--model", model, "--tier", "small").code == 2
    assert run("predict", "two red balls", "--model", file).code == 3
    assert run(*words, "--save", tmp_path / "own.zip").code == 2
    refused = run("fit", study, "--with", "correlation_cnn(epochs=1)", "--folds", 3, "--save", model)
    assert refused.code == 2 and "sees prompts alone" in refused.err


@pytest.fixture
def faulty(tmp_path: Path) -> Path:
    """24 prompts with 1 to 4 faults, red the fewest and pink the most; "rel.v2" the other way round."""
    study = create_study(tmp_path / "faulty")
    records: list[Record] = [
        Question("faults", low=0, high=5, direction="lower"),
        Question("rel.v2", low=0, high=5),
    ]
    things = ("balls", "cups", "cars", "boats", "birds", "trees")
    for thing in things:
        for n, colour in enumerate(("red", "blue", "green", "pink")):
            key = PromptKey("s", f"{colour} {thing}")
            records += [Prompt(key, f"two {colour} {thing}"), Truth("faults", Item(key), n + 1.0)]
            records += [Truth("rel.v2", Item(key), 4.0 - n + len(thing) / 100)]
    load(study, records, importer="test", path="here", digest="1")
    study.close()
    return tmp_path / "faulty"


def test_of_a_question_where_less_is_better_the_least_is_best(run: Run, faulty: Path, tmp_path: Path) -> None:
    model = tmp_path / "own.npz"
    words = ["fit", faulty, "--question", "faults", "--with", "tfidf_ridge", "--folds", 3]
    told = run(*words, "--json").json["quarters"]["rows"]
    assert told[0]["quarter"] == "hardest" and told[-1]["quarter"] == "easiest"
    assert told[0]["from"] > told[-1]["to"] and 0 <= told[0]["covered"] <= 1
    saved = run(*words, "--save", model)
    assert saved.code == 0 and "Pearson on held-out prompts: faults" in saved.out
    asked = ["predict", "two pink balls", "--model", model]
    rows = run(*asked, "--suggest", "two red balls", "--json").json["rows"]
    assert [row["prompt"] for row in rows] == ["two red balls", "two pink balls"]
    assert rows[0]["faults"]["value"] < rows[1]["faults"]["value"]
    assert rows[0]["gain"] > 0 and rows[1]["gain"] == 0
    shown = run(*asked, "--suggest", "two red balls")
    assert 'Best: "two red balls", -' in shown.out and "(lower is better)" in shown.out
    assert "faults ↓" in shown.out and "faults ↑" not in shown.out
    (row,) = run(*asked, "--json").json["rows"]
    assert "pink +" in row["harder"] and "pink" not in row["easier"]


def test_whether_intervals_overlap_is_decided_at_the_right_ends() -> None:
    scales = {"faults": TargetScale("faults", 0, 5, "lower")}
    many = Prediction("many", {"faults": Estimate(4, 3, 5)})
    for high, said in ((2, "do not overlap"), (3.5, "intervals overlap")):
        ranked = [Prediction("few", {"faults": Estimate(1, 0, high)}), many]
        found = Predictions("own", "", 0.9, ranked, ("faults",), False, scales, by="faults", own="many")
        assert "-3.00 faults expected" in found.sentence and said in found.sentence


def test_predictors_that_see_images_are_tried_beside_the_others(
    run: Run, study: Path, tmp_path: Path
) -> None:
    words = ["--with", "ridge", "--with", "correlation_cnn(epochs=2)", "--folds", 3]
    assert run("fit", study, *words, "--to", tmp_path / "t.tex").code == 0
    latex = (tmp_path / "t.tex").read_text()
    after = latex.index("after generation or retrieval")
    assert latex.index("ridge &") < after < latex.index(r"correlation\_cnn(epochs=2) &")
    # A new prompt has no images: whatever was best, only what sees prompts can predict it.
    told = run("fit", study, *words, "--prompt", "a cat", "--json").json
    assert told["predicted"]["caption"] == "New prompts by ridge"
    refused = run("fit", study, "--with", "correlation_cnn", "--prompt", "a cat")
    assert refused.code == 2 and "no images" in refused.err
    assert run("fit", study, "--rankings", "--prompt", "a cat").code == 2


def test_the_papers_table_is_written(run: Run, study: Path, tmp_path: Path) -> None:
    words = ["fit", study, "--folds", 3, "--with", "ridge", "--with", "mean", "--to"]
    done = run(*words, tmp_path / "t.tex")
    assert done.code == 0 and "t.tex" in done.out
    latex = (tmp_path / "t.tex").read_text()
    assert latex.startswith(r"\begin{tabular}{lcc}") and r"\multicolumn{2}{c}{alignment}" in latex
    assert latex.index("One feature") < latex.index("Learned") < latex.index("ridge &")
    assert run(*words, tmp_path / "t.csv").code == 0
    with (tmp_path / "t.csv").open(newline="") as stream:
        tables = {row["table"] for row in csv.DictReader(stream)}
    assert tables == {"quality", "differences", "quarters", "features"}
    assert run(*words, tmp_path / "t.pdf").code == 2
    assert run(*words, tmp_path / "none" / "t.tex").code == 3
