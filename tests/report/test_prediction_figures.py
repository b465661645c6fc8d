"""Prompts and predictions in pictures: what is chosen, said and written, and what a browser shows."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image as Pillow

from sightline.data.import_ import import_
from sightline.errors import DataError, StudyError, UsageError
from sightline.prediction.fit import fit
from sightline.records import (
    Answer,
    Image,
    ImageKey,
    Item,
    Prompt,
    PromptKey,
    Question,
    Record,
    System,
    Truth,
)
from sightline.rendering.blocks import Block, Cards, Figure, Grid, Heading
from sightline.report.image_files import file_name
from sightline.report.prediction_figures import (
    FEATURES,
    figures,
    laid_out,
    perplexity,
    prediction_figures,
)
from sightline.report.report import build, report
from sightline.report.stored_predictions import best, quality_table, read_predictions
from sightline.study import reading
from sightline.study.study import Study, create_study
from sightline.study.writing import settling
from sightline.study.writing.loading import load

Loaded = Callable[[Sequence[Record]], Study]
N = 24


def records_of(folder: Path, *, retrieval: bool = True) -> list[Record]:
    """Prompt n has the truth n / 24 for the painter; for the engine too if n is odd, else 1 - n / 24."""
    found: list[Record] = [
        Question("drawn", "interval", 0.0, 1.0),
        Question("sought", "interval", 0.0, 1.0),
        System("painter"),
        System("engine", "retriever" if retrieval else "generator", "photos" if retrieval else None),
    ]
    for n in range(N):
        key, name = PromptKey("s", str(n)), f"{n}.png"
        Pillow.new("RGB", (24, 24), (10 * n, 90, 90)).save(folder / name)
        found += [Prompt(key, f"a picture of {n} {'boats at sea' if n % 2 else 'red cars in town'}")]
        found += [
            Image(ImageKey("i", name), str(folder / name)),
            Answer(key, "painter", 0, ImageKey("i", name)),
        ]
        found += [Truth("drawn", Item(key, "painter"), n / N)]
        found += [Truth("sought", Item(key, "engine"), n / N if n % 2 else 1 - n / N)]
    return found


def keep(study: Study, question: str, values: np.ndarray, spec: str = "ridge", width: float = 0.1) -> None:
    """Predictions of the prompts in their order, as `fit` stores them."""
    settlement = reading.newest_settlement(study, question)
    assert settlement is not None
    ids = reading.prompts(study)["prompt_id"].to_list()
    rows = [
        (key, 0, 0, 0, float(value), float(value) - width, float(value) + width, None)
        for key, value in zip(ids, values, strict=True)
    ]
    settling.keep_predictions(study, spec, settlement, "5-fold", "0" * 64, 0, rows)


@pytest.fixture(scope="module")
def predicted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """Both kinds of system; drawn is predicted exactly, but prompt 2 far too well and 21 far too badly."""
    folder = tmp_path_factory.mktemp("predicted")
    with create_study(folder / "study") as study:
        load(study, records_of(folder), importer="test", path="test", digest="1")
        guess = np.arange(N) / N
        guess[2], guess[21] = 0.9, 0.05
        keep(study, "drawn", guess)
        keep(study, "drawn", np.full(N, 0.5), spec="mean")
        yield study


def titled(blocks: Any, title: str) -> Block:
    """The block under a heading."""
    for heading, block in pairwise(blocks):
        if isinstance(heading, Heading) and heading.text == title:
            return block
    raise AssertionError(f"{title!r} is none of {[b.text for b in blocks if isinstance(b, Heading)]}")


def test_the_best_predictor_is_shown_and_one_without_a_figure_comes_last(predicted: Study) -> None:
    stored = read_predictions(predicted, "drawn")
    assert [each.predictor for each in stored] == ["ridge", "mean"]
    shown = best(stored[::-1])
    assert shown is not None and shown.predictor == "ridge"
    frame = quality_table("drawn", stored).to_frame()
    # Two of 24 are off, by .9 - 2/24 and 21/24 - .05: RMSE = sqrt((.8167^2 + .825^2) / 24).
    assert frame["rmse"][0] == pytest.approx(np.sqrt((0.816667**2 + 0.825**2) / 24), abs=1e-6)
    assert frame["error"][0] == pytest.approx((0.816667 + 0.825) / 24, abs=1e-6)


def test_what_was_missed_and_what_was_predicted(predicted: Study) -> None:
    blocks = prediction_figures(predicted).blocks
    missed = titled(blocks, "Missed most")
    assert isinstance(missed, Cards) and missed.paired
    worse, better = missed.cards[:2]
    assert (worse.text, worse.note) == ("a picture of 2 red cars in town", "Did worse than predicted.")
    assert (worse.value, worse.truth, worse.truth_at) == ("0.90", "0.08", 8.3)
    assert (better.text, better.note) == ("a picture of 21 boats at sea", "Did better than predicted.")
    # Nothing else is off, so nothing else is shown.
    assert len(missed.cards) == 2
    assert [picture.system for picture in worse.pictures] == ["painter"]
    well = titled(blocks, "Hard and easy prompts that were predicted")
    assert isinstance(well, Cards)
    assert [card.text.split()[3] for card in well.cards] == ["0", "18", "1", "19"]
    quarters = titled(blocks, "Predicted against true")
    assert isinstance(quarters, Figure) and "The best of 2 predictors" in quarters.caption


def test_a_predictor_that_knows_nothing_is_said_to(loaded: Loaded, tmp_path: Path) -> None:
    study = loaded(records_of(tmp_path))
    keep(study, "drawn", np.random.default_rng(0).permutation(N) / N)
    found = prediction_figures(study)
    (warning,) = [note for note in found.notes if note.startswith("drawn: ")]
    assert "ridge does not follow the truth" in warning or "it is not known yet whether" in warning
    boxes = titled(found.blocks, "Predicted against true")
    assert isinstance(boxes, Figure) and warning in boxes.caption
    headings = [block.text for block in found.blocks if isinstance(block, Heading)]
    assert "Missed most" in headings and "Hard and easy prompts that were predicted" not in headings


def test_quadrants_are_of_generation_and_retrieval_where_there_are_both(predicted: Study) -> None:
    blocks = prediction_figures(predicted).blocks
    plane = titled(blocks, "Easy and hard, to generate and to retrieve")
    assert isinstance(plane, Figure) and "r between both" in plane.caption
    tables = [block.table for block in blocks if isinstance(block, Grid)]
    four = next(table for table in tables if table.caption == "The four groups")
    # Odd prompts are as hard to retrieve as to generate, even ones the other way round: six of each.
    assert [row[:2] for row in four.rows] == [
        ["easy to generate, easy to retrieve", 6],
        ["easy to generate, hard to retrieve", 6],
        ["hard to generate, easy to retrieve", 6],
        ["hard to generate, hard to retrieve", 6],
    ]
    clearest = titled(blocks, "The clearest of each group")
    assert isinstance(clearest, Cards) and len(clearest.cards) == 8
    assert [card.note for card in clearest.cards[:2]] == [
        "Hard to generate, easy to retrieve",
        "Easy to generate, easy to retrieve",
    ]
    assert clearest.cards[0].text == "a picture of 0 red cars in town"
    assert list(clearest.cards[0].tags) == [("drawn", "0.00"), ("sought", "1.00")]


def test_two_questions_about_the_same_systems_go_by_their_names(loaded: Loaded, tmp_path: Path) -> None:
    study = loaded(records_of(tmp_path, retrieval=False))
    found = prediction_figures(study)
    titled(found.blocks, "Easy and hard, by drawn and by sought")
    assert found.notes[0] == "No predictions of drawn are stored: sightline fit STUDY --question drawn."
    other = prediction_figures(study, across=("sought", "drawn"))
    titled(other.blocks, "Easy and hard, by sought and by drawn")


def test_names_that_are_not_there(predicted: Study) -> None:
    with pytest.raises(UsageError, match="no question is called 'drwan'") as caught:
        prediction_figures(predicted, questions=["drwan"])
    assert "drawn" in (caught.value.remedy or "")
    with pytest.raises(UsageError):
        prediction_figures(predicted, across=("drawn", "nothing"))
    with pytest.raises(UsageError, match="encodes no texts"):
        prediction_figures(predicted, encoder="colour_layout")


def test_without_truth_there_is_nothing_to_draw(loaded: Loaded, tmp_path: Path) -> None:
    study = loaded([Question("fit"), *(Prompt(PromptKey("s", str(n)), f"p {n}") for n in range(9))])
    with pytest.raises(DataError, match="nothing to draw"):
        figures(study, tmp_path / "pictures")
    with pytest.raises(DataError, match="fit has no truth"):
        prediction_figures(study, questions=["fit"])


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["one", "two", "three"], "A map needs 4 prompts with truth; there are 3."),
        (["the same"] * 12, "There is no map: to the encoder all prompts are the same."),
    ],
)
def test_a_map_that_cannot_be_is_left_out_and_said(loaded: Loaded, texts: list[str], said: str) -> None:
    some: list[Record] = [Question("fit", low=0, high=1)]
    for n, text in enumerate(texts):
        key = PromptKey("s", str(n))
        some += [Prompt(key, text), Truth("fit", Item(key), n / len(texts))]
    found = prediction_figures(loaded(some))
    assert found.drawings == [] and said in found.notes


def test_a_layout_is_the_same_twice_and_keeps_neighbours() -> None:
    random = np.random.default_rng(0)
    group = np.repeat(np.arange(3), 40)
    vectors = 4 * np.eye(3, 20)[group] + random.normal(size=(120, 20)) * 0.5
    places = laid_out(vectors, seed=1)
    assert places.shape == (120, 2) and np.array_equal(places, laid_out(vectors, seed=1))
    far = np.linalg.norm(places[:, None] - places[None], axis=2) + np.diag(np.full(120, np.inf))
    assert (group[far.argmin(axis=1)] == group).mean() > 0.95


def test_layouts_of_hardly_anything() -> None:
    assert perplexity(4) == 1.0 and perplexity(31) == 10.0 and perplexity(5000) == 30.0
    line = np.outer(np.arange(6.0), np.ones(3))
    assert np.isfinite(laid_out(line)).all()
    assert np.isfinite(laid_out(np.array([[0.0], [1.0], [2.0], [9.0]]))).all()
    twins = np.repeat(np.eye(2, 5), 5, axis=0)
    assert np.isfinite(laid_out(twins)).all()


def test_a_sample_is_drawn_of_more_and_features_serve_as_well(predicted: Study) -> None:
    some = prediction_figures(predicted, encoder="hashed_words", most=10, seed=3)
    assert "The map: a sample of 10 of 24 prompts, drawn with seed 3." in some.notes
    shown = titled(some.blocks, "A map of the prompts")
    assert isinstance(shown, Figure) and "to hashed_words (t-SNE, perplexity 3" in shown.caption
    assert len(shown.wide["data"]["values"]) == 10
    features = titled(prediction_figures(predicted, encoder=FEATURES).blocks, "A map of the prompts")
    assert isinstance(features, Figure) and "alike in their features" in features.caption
    assert len(features.wide["data"]["values"]) == N


def test_files_stand_alone(predicted: Study, tmp_path: Path) -> None:
    found = figures(predicted, tmp_path / "new" / "pictures", encoder="hashed_words")
    names = ["boxes-drawn", "map-drawn", "map-sought", "quadrants-drawn-sought"]
    expected = [f"{name}.{kind}" for name in names for kind in ("svg", "png")]
    assert [path.name for path in found.files] == ["index.html", *expected]
    again = figures(predicted, tmp_path / "again", encoder="hashed_words")
    for path, twin in zip(found.files[1:], again.files[1:], strict=True):
        assert path.read_bytes() == twin.read_bytes()
        if path.suffix == ".png":
            with Pillow.open(path) as picture:
                assert picture.width >= 800 and len(picture.convert("RGB").getcolors(1 << 20) or []) > 20
                assert picture.convert("RGBA").getpixel((0, 0)) == (255, 255, 255, 255)
        else:
            root = ElementTree.fromstring(path.read_text("utf-8"))
            assert root.get("aria-label") and "var(--" not in path.read_text("utf-8")
            assert "24 prompts" in "".join(root.itertext())
    page = found.files[0].read_text("utf-8")
    assert "Predicting drawn" in page and page.count("<svg") >= 4


def test_a_folder_that_cannot_be_written(predicted: Study, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(StudyError, match="cannot write the charts"):
        figures(predicted, tmp_path / "taken", encoder="hashed_words")


def test_names_of_files() -> None:
    assert file_name("map-../../etc passwd") == "map-.._.._etc_passwd"
    assert file_name("boxes-größe") == "boxes-größe" and file_name("///") == "picture"


def test_the_report_shows_them(predicted: Study) -> None:
    section = build(predicted).section("prediction")
    assert section is not None
    said = [block.text for block in section.blocks if isinstance(block, Heading)]
    assert said == [
        "Predicted against true",
        "Hard and easy prompts that were predicted",
        "Missed most",
        "A map of the prompts",
        "Easy and hard, to generate and to retrieve",
        "The clearest of each group",
    ]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1000, "light")])
def test_in_a_browser_nothing_is_cut_off(
    browser: Any, predicted: Study, tmp_path: Path, width: int, scheme: str
) -> None:
    address = report(predicted, tmp_path / "report.html").path.as_uri()
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    cut = page.evaluate(
        """[...document.querySelectorAll('#prediction svg')].filter(drawing => drawing.clientWidth > 0)
        .flatMap(drawing => {
            const frame = drawing.closest('figure').getBoundingClientRect();
            return [...drawing.querySelectorAll('text')].filter(text => {
                const box = text.getBoundingClientRect();
                return box.width && (box.left < frame.left || box.right > frame.right || box.top < frame.top);
            }).map(text => text.textContent);
        })"""
    )
    assert cut == []
    columns = page.evaluate(
        "getComputedStyle(document.querySelector('#prediction .pairs')).gridTemplateColumns.split(' ').length"
    )
    assert columns == (2 if width == 1000 else 1)
    marks = page.evaluate("document.querySelectorAll('#prediction .meter em').length")
    assert marks == 6
    page.close()


@pytest.fixture(scope="module")
def published(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """The first 300 rows that PQPP published, with its own splits."""
    folder = tmp_path_factory.mktemp("pqpp")
    (folder / "dataset").mkdir()
    for name in ("dataset.csv", "train.csv"):
        with (data / "pqpp" / "dataset" / name).open(encoding="utf-8", newline="") as source:
            rows = list(csv.reader(source))[:301]
        with (folder / "dataset" / name).open("w", encoding="utf-8", newline="") as target:
            csv.writer(target).writerows(rows)
    with create_study(folder / "study") as study:
        import_(study, folder)
        fit(study, "hbpp", predictor="mean")
        yield study


@pytest.mark.slow
def test_published_prompts_without_images(published: Study, tmp_path: Path) -> None:
    found = figures(published, tmp_path / "pictures", encoder="hashed_words")
    titled(found.blocks, "Easy and hard, to generate and to retrieve")
    names = {path.stem for path in found.files if path.suffix == ".svg"}
    assert names == {"boxes-hbpp", "map-hbpp", "map-p_at_10", "map-rr", "quadrants-hbpp-p_at_10"}
    cards = [card for block in found.blocks if isinstance(block, Cards) for card in block.cards]
    assert cards and not any(card.pictures for card in cards)


def test_the_map_can_be_that_of_the_fitted_model(loaded: Loaded, tmp_path: Path) -> None:
    study = loaded(records_of(tmp_path))
    fit(study, "drawn", save=tmp_path / "own.npz")
    found = prediction_figures(study, questions=["drawn"], encoder=str(tmp_path / "own.npz"))
    drawn = titled(found.blocks, "A map of the prompts")
    assert isinstance(drawn, Figure) and "alike to the predictor in own.npz" in drawn.caption
