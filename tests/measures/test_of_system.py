"""Measures of systems: stored once, brought up to date, compared, and never without a word of small n."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sightline.comparison import compare
from sightline.comparison.compare import SystemScores
from sightline.data import import_
from sightline.errors import DataError, UsageError
from sightline.estimate import format_cell
from sightline.measures import score
from sightline.measures.system_scores import system_estimates
from sightline.registry import find_measure
from sightline.report import report
from sightline.study import reading
from sightline.study.init import init
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import undo

KID = "kid(encoder=colour_layout)"


def drawn(path: Path, seed: int, tone: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    noise = np.random.default_rng(seed).integers(0, 80, (24, 24, 3)) + tone
    Image.fromarray(noise.astype(np.uint8)).save(path)


def photos(folder: Path, seeds: range, tone: int) -> Path:
    """A collection of images that answers nothing: a plain folder of them."""
    for seed in seeds:
        drawn(folder / f"r{seed}.png", seed, tone)
    return folder


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return filled(create_study(tmp_path / "s"), tmp_path)


def filled(made: Study, tmp_path: Path) -> Study:
    """Two systems of twelve answers, and a reference that one of them is nearer to."""
    rows = []
    for system, tone in (("near", 90), ("far", 170)):
        for number in range(12):
            drawn(tmp_path / "in" / f"{system}{number}.png", number + tone, tone)
            rows.append([f"p{number}", f"prompt {number}", f"{system}{number}.png", system])
    with (tmp_path / "in" / "answers.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["prompt_id", "prompt", "image", "system"], *rows])
    import_(made, tmp_path / "in" / "answers.csv")
    reference = photos(tmp_path / "photos", range(500, 514), 90)
    tried = import_(made, reference, options={"collection": "photos"}, dry_run=True)
    assert tried.layout.startswith("images(")
    assert not reading.images(made)["collection"].is_in(["photos"]).any()
    import_(made, reference, options={"collection": "photos"})
    return made


def test_the_nearer_system_is_nearer(study: Study) -> None:
    ran = score(study, [KID, "fid(encoder=colour_layout)", "set_coverage(encoder=colour_layout)"])
    assert [run.computed for run in ran.runs] == [2, 2, 2] and ran.exit_code == 0
    assert any("only 12 images" in note for note in ran.notes)
    values = system_estimates(study, find_measure(KID))
    near, far = values["near"], values["far"]
    assert near.n == 12 and near.value is not None and far.value is not None and near.value < far.value
    # The systems have 12 images each: an interval would promise what none is known to keep.
    assert near.low is None and any("fewer than 50 images: no interval" in note for note in ran.notes)
    again = score(study, KID)
    assert again.runs[0].computed == 0 and again.runs[0].known == 2


def test_systems_are_compared_by_it(study: Study) -> None:
    score(study, KID)
    result = compare(study, by=[KID])
    assert isinstance(result, SystemScores) and result.ranked == ["near", "far"]
    assert result.sentence.startswith("near has the best kid")
    with pytest.raises(UsageError, match="no parts"):
        compare(study, by=[KID], where="suite=prompts")


@pytest.mark.parametrize("number", [1, 2], ids=["answers", "reference"])
def test_undoing_either_side_takes_the_scores_along(address: str, tmp_path: Path, number: int) -> None:
    """The scores rest on the images of both; those of images stay where their images do."""
    with create_study(tmp_path / "s", database_address=address) as study:
        filled(study, tmp_path)
        score(study, [KID, "blank"])
        gone = undo(study, number)
        assert system_estimates(study, find_measure(KID)) == {}
        # 12 answers a system and 14 photographs have a score of `blank`; two systems one of `kid`.
        assert gone["score"] == (2 + 24 if number == 1 else 2 + 14)
        assert len(reading.scores(study, find_measure("blank").identity)) == (14 if number == 1 else 24)


def test_the_report_shows_it(study: Study, tmp_path: Path) -> None:
    score(study, KID)
    values = system_estimates(study, find_measure(KID))
    report(study, to=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "kid(encoder=colour_layout)" in page
    for each in values.values():
        assert each.value is not None and format_cell(each) in page


def test_another_reference_is_another_value(study: Study, tmp_path: Path) -> None:
    score(study, KID)
    import_(study, photos(tmp_path / "more", range(900, 912), 170), options={"collection": "bright"})
    with pytest.raises(DataError, match="several collections"):
        score(study, KID)
    named = "kid(encoder=colour_layout, collection=bright)"
    score(study, named)
    values = system_estimates(study, find_measure(named))
    assert (values["far"].value or 0) < (values["near"].value or 0)
    with pytest.raises(UsageError, match="no collection 'brigt'"):
        score(study, "kid(encoder=colour_layout, collection=brigt)")


def test_no_reference_and_too_few_images(tmp_path: Path) -> None:
    drawn(tmp_path / "in" / "a.png", 1, 90)
    (tmp_path / "in" / "answers.csv").write_text("prompt_id,prompt,image,system\np,a thing,a.png,one\n")
    init(tmp_path / "s")
    study = open_study(tmp_path / "s")
    import_(study, tmp_path / "in" / "answers.csv")
    with pytest.raises(DataError, match="needs a reference"):
        score(study, KID)
    import_(study, photos(tmp_path / "photos", range(2, 3), 90), options={"collection": "photos"})
    ran = score(study, KID)
    assert ran.exit_code != 0 and "has 1 readable images" in next(iter(ran.runs[0].reasons))
