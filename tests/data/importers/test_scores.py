"""Tables of scores from elsewhere: recognised, mapped, complete, and set against people."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sightline
from sightline.errors import DataError
from sightline.study import listing
from sightline.study.study import Study, create_study

Table = Callable[[Path, list[dict[str, Any]]], Path]
ANSWERS = [
    {"prompt_id": str(p), "prompt": f"prompt {p}", "system": s, "image": f"{s}/{p}.png"}
    for p in range(3)
    for s in ("one", "two")
]


@pytest.fixture
def answered(study: Study, table: Table, tmp_path: Path) -> Study:
    sightline.import_(study, table(tmp_path / "answers.csv", ANSWERS), options={"names_only": True})
    return study


def scores(study: Study, measure: str) -> list[tuple[Any, ...]]:
    frame = listing.named_scores(study).filter(pl.col("measure").str.contains(f"name='{measure}'"))
    return list(frame.select("prompt_id", "image", "value", "reason").iter_rows())


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_long_tables_are_recognised_under_other_column_names(
    answered: Study, table: Table, tmp_path: Path, suffix: str
) -> None:
    rows = [
        {"model": "one", "uid": "0", "measure": "CLIPScore", "value": 0.5},
        {"model": "two", "uid": "0", "measure": "CLIPScore", "value": None},
        {"model": "two", "uid": "7", "measure": "CLIPScore", "value": 0.5},
    ]
    file = table(tmp_path / f"machine{suffix}", rows)
    with pytest.raises(DataError, match="names no prompt and no image: does 'uid' say which"):
        sightline.import_(answered, file)
    done = sightline.import_(answered, file, columns={"prompt_id": "uid"})
    assert done.layout.startswith("scores") and done.counts == {"scores": 2}
    assert scores(answered, "CLIPScore") == [
        ("0", "one/0.png", 0.5, None),
        ("0", "two/0.png", None, "the table has no value"),
    ]
    (left,) = [each for each in done.skipped if "prompts that the study does not have" in each.reason]
    assert left.count == 1 and f"machine{suffix}" in left.examples[0] and "(7)" in left.examples[0]
    assert sightline.import_(answered, file, columns={"prompt_id": "uid"}).already


def test_wide_tables_have_a_column_for_each_measure(answered: Study, table: Table, tmp_path: Path) -> None:
    rows = [
        {"prompt": "prompt 1", "system": "one", "clip_score": 0.5, "fid": 3, "mine": 1},
        {"prompt": "prompt 2", "system": "one", "clip_score": None, "fid": 4, "mine": 2},
    ]
    file = table(tmp_path / "wide.csv", rows)
    done = sightline.import_(answered, file)
    assert done.counts == {"scores": 4}
    assert scores(answered, "clip_score")[1][2:] == (None, "the table has no value")
    (left,) = [each for each in done.skipped if "columns not taken" in each.reason]
    assert left.examples == ["mine"]
    more = sightline.import_(
        answered, file, format="scores", options={"measures": "mine", "direction": "lower"}
    )
    assert more.counts == {"scores": 2}
    kept = listing.named_scores(answered).filter(pl.col("measure").str.contains("mine"))
    assert kept["direction"].to_list() == ["lower", "lower"]
    assert "imported_of_system" not in " ".join(listing.named_scores(answered)["measure"])


def test_a_measure_without_a_known_end_is_noted(answered: Study, table: Table, tmp_path: Path) -> None:
    rows = [{"prompt_id": "0", "system": "one", "measure": "mine", "value": 1}]
    done = sightline.import_(answered, table(tmp_path / "scores.csv", rows))
    assert any("without a direction" in each.reason and each.noted for each in done.skipped)
    said = [{**row, "direction": "higher", "scale_low": 0, "scale_high": 10} for row in rows]
    sightline.undo(answered, done.number or 0)
    assert not sightline.import_(answered, table(tmp_path / "said.csv", said)).skipped


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"value": "nan"}, "value must be a finite number"),
        ({"value": "8/10"}, "value must be a finite number"),
        ({"measure": ""}, "measure is empty"),
        ({"prompt_id": "", "system": ""}, "neither a prompt, a system nor an image"),
    ],
)
def test_bad_cells_are_named_by_row(
    answered: Study, table: Table, tmp_path: Path, row: dict[str, str], said: str
) -> None:
    good = {"prompt_id": "0", "system": "one", "measure": "clipscore", "value": 1}
    file = table(tmp_path / "scores.csv", [good, {**good, "system": "two", **row}])
    with pytest.raises(DataError, match=said) as error:
        sightline.import_(answered, file)
    assert error.value.where == "scores.csv:3" and listing.named_scores(answered).is_empty()


def test_answers_name_the_columns_that_look_like_scores(study: Study, table: Table, tmp_path: Path) -> None:
    rows = [{**row, "ImageReward": 0.5, "gpt4o_score": 7, "note": "x"} for row in ANSWERS]
    file = table(tmp_path / "answers.csv", rows)
    done = sightline.import_(study, file, options={"names_only": True})
    reasons = {each.reason.partition(" (")[0]: list(each.examples) for each in done.skipped}
    assert reasons == {
        "columns that look like scores": ["ImageReward", "gpt4o_score"],
        "columns not taken": ["note"],
    }
    more = sightline.import_(study, file, format="scores", options={"measures": "ImageReward,gpt4o_score"})
    assert more.counts == {"scores": 12}


def test_exported_scores_and_evidence_come_back(answered: Study, table: Table, tmp_path: Path) -> None:
    rows = [
        {"prompt_id": "0", "system": "one", "measure": "judge", "value": 7, "evidence": '{"reply": "7/10"}'},
        {
            "prompt_id": "1",
            "system": "one",
            "measure": "judge",
            "value": "",
            "reason": "no number in the reply",
        },
    ]
    said = {"direction": "higher", "low": 0, "high": 10}
    rows = [{"reason": "", "evidence": "", **row} for row in rows]
    sightline.import_(answered, table(tmp_path / "judge.csv", rows), options=said)
    sightline.score(answered, "words")
    before = listing.named_scores(answered).drop("imported")
    for form in ("csv", "jsonl", "parquet"):
        sightline.export(answered, tmp_path / form, form=form)
        with create_study(tmp_path / f"back-{form}") as back:
            done = sightline.import_(back, tmp_path / form)
            assert done.counts["scores"] == 5
            same = ["identity", "prompt_id", "image"]
            assert listing.named_scores(back).drop("imported").sort(same).equals(before.sort(same))
            # What was computed before is not computed again.
            assert sightline.score(back, "words").runs[0].computed == 0


def test_machine_scores_of_imagenhub_against_people(data: Path, study: Study) -> None:
    sightline.import_(study, data / "imagenhub")
    file = data / "imagenhub_scores" / "machine_scores.csv"
    done = sightline.import_(study, file, columns={"prompt_id": "uid"}, options={"direction": "higher"})
    assert done.counts == {"scores": 7868}
    sightline.truth(study)
    found = sightline.trust(study, "semantic_consistency", against="gpt4o_sc").rows
    assert [each.measure for each in found] == ["gpt4o_sc (imported)"]
    people = pl.read_csv(data / "imagenhub" / "human_ratings.csv")
    assert found[0].levels["pooled"].items == 485 and not people.is_empty()
    # The rank correlation over all answers, by scipy, of the file's values and the mean of three raters.
    from scipy.stats import spearmanr

    values = pl.read_csv(file).filter(measure="gpt4o_sc").drop_nulls("value")
    truths = listing.named_truths(study).filter(pl.col("question") == "semantic_consistency")
    answers = listing.named_answers(study)[0].select("prompt_id", "system", "image")
    joined = truths.drop("system").join(answers, on=["prompt_id", "image"]).join(
        values, left_on=["prompt_id", "system"], right_on=["uid", "model"], suffix="_measure"
    )  # fmt: skip
    expected = spearmanr(joined["value"], joined["value_measure"]).statistic
    assert found[0].levels["pooled"].spearman.value == pytest.approx(expected, abs=1e-6)
    compared = sightline.compare(study, by="gpt4o_sc")
    assert "gpt4o_sc (imported)" in compared.sentence


def test_the_report_names_the_files_of_scores(answered: Study, table: Table, tmp_path: Path) -> None:
    rows = [
        {"prompt_id": str(p), "system": s, "measure": "clipscore", "value": p / 10}
        for p in range(3)
        for s in ("one", "two")
    ]
    sightline.import_(answered, table(tmp_path / "machine.csv", rows))
    sightline.report(answered, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "clipscore (imported)" in page and "were computed elsewhere: machine.csv." in page
