"""PQPP's tables on hand-made splits: which rows are judged, which learned from, and what cannot leak."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sightline.data.sources import Source
from sightline.errors import DataError, UsageError
from sightline.prediction import SHIPPED, TIERS, predict_prompts
from sightline.records import NoValue
from sightline.reproductions.tables import pqpp as made_up
from sightline.reproductions.tables.pqpp import (
    Made,
    chosen_tiers,
    comma_separated,
    latex,
    predictions,
    tables,
    with_ours,
)
from sightline.reproductions.tables.pqpp_printed import BETWEEN, COLUMNS, MEASURES, PREDICTORS, SHEETS
from sightline.statistics.correlation import kendall, pearson

EASY = ("dog", "bus", "cat", "pizza")
HARD = ("juggler", "crowd", "typewriter", "orchestra")
Said = dict[str, np.ndarray | NoValue]
PLACES = ("in a park", "on a red table", "near the sea and a hill", "at night", "under 2 trees")


def split(file: Path, ids: Sequence[int], seed: int) -> None:
    """Rows whose truth hangs on their first noun, with some noise: not real data."""
    rng = random.Random(seed)
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, ["id", "image_id", "best_caption", *COLUMNS.values()])
        writer.writeheader()
        for row in ids:
            easy = rng.random() < 0.5
            noun = rng.choice(EASY if easy else HARD)
            caption = f"a {rng.choice(('big', 'small', 'green'))} {noun} {rng.choice(PLACES)}"
            values = {column: round(easy * 0.5 + rng.random(), 3) for column in COLUMNS.values()}
            writer.writerow({"id": row, "image_id": 7 * row, "best_caption": caption, **values})


def splits(folder: Path, *, with_test: bool) -> Path:
    split(folder / "train.csv", range(120), 1)
    split(folder / "validation.csv", range(120, 160), 2)
    if with_test:
        split(folder / "test.csv", range(160, 220), 3)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return splits(tmp_path, with_test=False)


@pytest.fixture
def tested(tmp_path: Path) -> Path:
    return splits(tmp_path, with_test=True)


@pytest.fixture(scope="module")
def said_of_validation(tmp_path_factory: pytest.TempPathFactory) -> Said:
    return said(splits(tmp_path_factory.mktemp("validation"), with_test=False), "validation")


@pytest.fixture(scope="module")
def said_of_test(tmp_path_factory: pytest.TempPathFactory) -> Said:
    return said(splits(tmp_path_factory.mktemp("test"), with_test=True), "test")


@pytest.fixture
def on_validation(folder: Path, said_of_validation: Said) -> list[Made]:
    source = Source(folder)
    return with_ours(source, "validation", made_up.read(source, ["validation"]), said_of_validation)


def columns(file: Path) -> dict[str, list[str]]:
    with file.open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    return {name: [row[name] for row in rows] for name in rows[0]}


def corrupt(file: Path) -> None:
    """All truth of a split turned round and shuffled, the captions as they were."""
    held = columns(file)
    for column in COLUMNS.values():
        values = [str(2 - float(value)) for value in held[column]]
        random.Random(column).shuffle(values)
        held[column] = values
    with file.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(held)
        writer.writerows(zip(*held.values(), strict=True))


def said(folder: Path, name: str) -> Said:
    source = Source(folder)
    return predictions(source, name, made_up.read(source, [name]), ["small"])


def own(made: Sequence[Made], number: int, predictor: str, target: str, measure: str) -> float | None:
    [table] = [each for each in made if each.number == number]
    [line] = [each for each in table.lines if (each.predictor, each.whose) == (predictor, "ours")]
    return line.cells[target][measure].value


@pytest.mark.slow
def test_the_tables_are_judged_on_validation(folder: Path, on_validation: list[Made]) -> None:
    made = on_validation
    assert [each.number for each in made] == [2, 3, 4, 5, 6, 7]
    assert {each.number: (each.split, each.n) for each in made} == {
        number: ("train", 120) if number == 3 else ("validation", 40) for number in (2, 3, 4, 5, 6, 7)
    }
    held = columns(folder / "validation.csv")
    lengths = [len(caption.split()) for caption in held["best_caption"]]
    for target, column in COLUMNS.items():
        truth = [float(value) for value in held[column]]
        number = next(sheet.number for sheet in SHEETS if target in sheet.targets)
        assert own(made, number, "#words", target, "pearson") == pytest.approx(pearson(lengths, truth).value)
        assert own(made, number, "#words", target, "kendall") == pytest.approx(kendall(lengths, truth).value)
    # The noun decides the truth, so that what learned words sees more than a count of them.
    learned = own(made, 2, "Sightline small", "hbpp", "pearson")
    counted = own(made, 2, "#words", "hbpp", "pearson")
    assert learned is not None and counted is not None and learned > 0.3 > abs(counted)


@pytest.mark.slow
def test_with_test_rows_the_table_is_theirs(tested: Path) -> None:
    made = tables(tested, [])
    assert {(each.split, each.n) for each in made if each.number != 3} == {("test", 60)}
    assert "ours: test rows, n = 60" in made[0].title
    held = columns(tested / "test.csv")
    truth = [float(value) for value in held["glide_score"]]
    lengths = [len(caption.split()) for caption in held["best_caption"]]
    assert own(made, 4, "#words", "hbpp.glide", "pearson") == pytest.approx(pearson(lengths, truth).value)


@pytest.mark.slow
def test_truth_of_the_test_rows_reaches_no_prediction(tested: Path, said_of_test: Said) -> None:
    before = made_up.read(Source(tested), ["test"]).truth
    corrupt(tested / "test.csv")
    after = made_up.read(Source(tested), ["test"]).truth
    again = said(tested, "test")
    assert said_of_test.keys() == again.keys()
    for name, values in said_of_test.items():
        other = again[name]
        if isinstance(values, NoValue):
            assert values == other
        else:
            assert isinstance(other, np.ndarray)
            np.testing.assert_allclose(other, values, rtol=1e-6, atol=1e-9, err_msg=name)
    learned = said_of_test["Sightline small"]
    assert isinstance(learned, np.ndarray)
    for number in range(len(COLUMNS)):
        one, two = (pearson(learned[:, number], truth[:, number]).value for truth in (before, after))
        assert one is not None and two is not None and one > 0.3 and abs(one - two) > 0.1


@pytest.mark.slow
def test_validation_is_learned_from_where_test_is_judged(tested: Path, said_of_test: Said) -> None:
    # The other way round: were nothing learned from, the test above could not fail.
    corrupt(tested / "validation.csv")
    before, after = said_of_test["Sightline small"], said(tested, "test")["Sightline small"]
    assert isinstance(before, np.ndarray) and isinstance(after, np.ndarray)
    assert not np.allclose(before, after, rtol=1e-6, atol=1e-9)


@pytest.mark.slow
def test_validation_is_not_learned_from_while_it_is_judged(folder: Path, said_of_validation: Said) -> None:
    corrupt(folder / "validation.csv")
    before, after = said_of_validation["Sightline small"], said(folder, "validation")["Sightline small"]
    assert isinstance(before, np.ndarray) and isinstance(after, np.ndarray)
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-9)


def test_a_row_in_two_splits_is_refused(folder: Path) -> None:
    split(folder / "test.csv", range(150, 200), 3)
    with pytest.raises(DataError, match=r"row 150 of test\.csv is also in train\.csv or validation\.csv"):
        tables(folder, ["small"])


@pytest.mark.slow
def test_the_seed_decides(folder: Path, on_validation: list[Made]) -> None:
    # That the same seed gives the same is shown above, by predictions of corrupted rows.
    other = tables(folder, ["small"], seed=6)
    assert own(other, 2, "#words", "hbpp", "pearson") == own(on_validation, 2, "#words", "hbpp", "pearson")
    one, two = (own(each, 2, "Sightline small", "hbpp", "pearson") for each in (other, on_validation))
    assert one is not None and two is not None and one != two


@pytest.mark.slow
def test_less_than_all_splits(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    (folder / "validation.csv").unlink()
    made = tables(folder, ["small"])
    assert made[0].split == "train"
    assert own(made, 2, "#words", "hbpp", "pearson") is not None
    # Nothing is held out: a tier asked about what it learned from would shine.
    assert own(made, 2, "Sightline small", "hbpp", "pearson") is None
    alone = tmp_path_factory.mktemp("alone")
    split(alone / "test.csv", range(20), 3)
    made = tables(alone, ["small"])
    reasons = {line.cells["truth"]["pearson"].reason for line in made[1].lines if line.whose == "ours"}
    assert reasons == {"train.csv is not here"}
    assert tables(tmp_path_factory.mktemp("empty")) == []


def test_rows_as_in_the_paper() -> None:
    assert [len(sheet.cells) for sheet in SHEETS] == [6, 6, 6, 6, 18]
    for sheet in (*SHEETS, BETWEEN):
        for name, cells in sheet.cells.items():
            assert len(cells.split()) == len(sheet.targets) * len(MEASURES), (sheet.number, name)
            assert name in PREDICTORS or sheet is BETWEEN
    # Read from the pages by hand, apart from the tables: value and mark.
    printed = {sheet.number: sheet for sheet in (*SHEETS, BETWEEN)}
    for number, name, target, measure, value, mark in (
        (2, "Fine-tuned CLIP", "hbpp", "pearson", 0.600, "‡"),
        (2, "#conjunctions / #words", "rr", "kendall", -0.040, ""),
        (3, "HBPP vs. RR", "truth", "kendall", 0.046, "†"),
        (4, "Fine-tuned BERT", "hbpp.sdxl", "kendall", 0.149, "‡"),
        (4, "Correlation CNN", "hbpp.glide", "pearson", 0.505, "‡"),
        (5, "Correlation CNN", "rr.clip", "kendall", 0.210, "‡"),
        (6, "#words", "rr.blip2", "pearson", 0.058, "†"),
        (7, "Page Rank", "p_at_10", "kendall", 0.040, "†"),
        (7, "Score Variance @100", "rr", "pearson", 0.016, ""),
    ):
        figure = printed[number].printed(name)[target][measure]
        assert (figure.value, figure.mark, figure.p) == (value, mark, None)
        assert figure.n == (6000 if number == 3 else 2000)


def test_best_are_those_of_the_page_and_of_ours(folder: Path) -> None:
    [main] = [each for each in tables(folder, []) if each.number == 2]
    bold = {
        (line.predictor, target, measure)
        for line in main.lines
        for target in line.cells
        for measure in MEASURES
        if line.whose == "paper" and main.best(line, target, measure)
    }
    # Those set in bold on the page.
    assert bold == {
        ("Fine-tuned CLIP", "hbpp", "pearson"), ("Fine-tuned CLIP", "hbpp", "kendall"),
        ("Fine-tuned BERT", "p_at_10", "pearson"), ("Fine-tuned CLIP", "p_at_10", "kendall"),
        ("Correlation CNN", "rr", "pearson"), ("Correlation CNN", "rr", "kendall"),
    }  # fmt: skip
    (best,) = (line for line in main.lines if line.whose == "ours" and main.best(line, "hbpp", "pearson"))
    assert best.cells["hbpp"]["pearson"].value is not None


def test_networks_around_words_are_printed_without_sign(folder: Path) -> None:
    [complete] = [each for each in tables(folder, []) if each.number == 7]
    for line in complete.lines:
        if line.whose == "ours" and PREDICTORS[line.predictor].unsigned:
            for figure in (line.cells[target][measure] for target in line.cells for measure in MEASURES):
                if figure.value is not None:
                    assert figure.value >= 0 and figure.low <= figure.value <= figure.high
    after = [line for line in complete.lines if line.after and line.whose == "ours"]
    assert [line.predictor for line in after] == ["Fine-tuned CLIP", "Correlation CNN", "Score Variance @100"]
    for line in after:
        assert line.cells["hbpp"]["pearson"].value is None
        assert "rankings" in (line.cells["hbpp"]["pearson"].reason or "")


@pytest.mark.slow
def test_latex_and_csv(on_validation: list[Made]) -> None:
    made = on_validation
    text = latex(made)
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == text.count(r"\bottomrule") == 6
    assert (
        r"Fine-tuned CLIP & $\mathbf{0.600}^{\ddagger}$ & $\mathbf{0.448}^{\ddagger}$ & $0.490^{\ddagger}$"
        in text
    )
    assert "Sightline small & $" in text
    assert r"HBPP vs. RR & $0.070^{\ddagger}$ & $0.046^{\dagger}$ \\" in text
    rows = list(csv.DictReader(io.StringIO(comma_separated(made))))
    assert {row["table"] for row in rows} == {"2", "3", "4", "5", "6", "7"}
    [paper] = [
        row
        for row in rows
        if (row["table"], row["whose"], row["predictor"]) == ("5", "paper", "#words")
        and (row["target"], row["measure"]) == ("rr.clip", "kendall")
    ]
    assert (paper["split"], paper["value"], paper["mark"], paper["p"]) == ("test", "-0.053", "", "")
    ours = [row for row in rows if row["whose"] == "ours" and row["predictor"] == "Sightline small"]
    assert {(row["split"], row["n"]) for row in ours} == {("validation", "40")}
    assert len(ours) == 2 * (3 + 2 + 2 + 2 + 3)


def test_names_of_tiers() -> None:
    assert chosen_tiers("none") == []
    assert chosen_tiers("all") == list(made_up.TIERS)
    assert chosen_tiers("small, small") == ["small"]
    with pytest.raises(UsageError, match="there is no tier 'samll'") as caught:
        chosen_tiers("samll")
    assert "small" in caught.value.remedy
    # What a tier takes is said for each.
    assert made_up.TAKES.keys() == set(made_up.TIERS)


@pytest.mark.slow
def test_what_ships_is_asked_of_test_rows_only(tested: Path, said_of_test: Said, folder: Path) -> None:
    texts = made_up.read(Source(tested), ["test"]).texts
    for tier in TIERS:
        told = said_of_test[f"Sightline {tier}, as shipped"]
        assert isinstance(told, np.ndarray)
        for prediction, row in zip(
            predict_prompts(texts[:3], tier=tier, explain=False).predictions, told, strict=False
        ):
            for target, value in zip(COLUMNS, row, strict=True):
                scale = SHIPPED[target.partition(".")[0]]
                assert prediction.expected[target].value == pytest.approx(
                    min(max(value, scale.low), scale.high), abs=1e-5
                )
    # Validation rows are not new to it.
    assert not [name for name in said(folder, "validation") if "as shipped" in name]
