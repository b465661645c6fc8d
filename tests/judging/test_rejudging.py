"""A fifth of the finished work judged again, by others and by the same people, and how far it agrees."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.cli import main
from sightline.errors import UsageError
from sightline.judging.annotate import annotate
from sightline.judging.rejudging import judge_again
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.samples.annotators import Annotator
from sightline.samples.judging import judge_round
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

NOW = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
PEOPLE = tuple(Annotator(name, "careful", noise=0.3, speed=5.0) for name in ("ann", "bob"))
SETTINGS = '[screening]\nrules = []\n[annotate.fits]\nmode = "yes_no"\nper_item = 1\n'


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """A round of yes or no on 20 images, one judgement each."""
    picture = tmp_path / "a.png"
    Pillow.new("RGB", (8, 8), (10, 90, 200)).save(picture)
    records: list[Record] = []
    for number in range(20):
        prompt, image = PromptKey("s", f"p{number}"), ImageKey("c", f"{number}.png")
        records += [Prompt(prompt, f"prompt {number}"), Image(image, str(picture))]
        records.append(Answer(prompt, "system", 0, image))
    with create_study(tmp_path / "study", settings=SETTINGS) as made:
        load(made, records, importer="test", path="test", digest="1")
        annotate(made)
        yield made


def test_a_fifth_is_judged_again_end_to_end(study: Study) -> None:
    judge_round(study, "fits", PEOPLE, {}, 20, NOW)
    drawn = judge_again(study, ["fits"], 0.2, "other", seed=1)
    assert "4 of 20 finished items are judged again by somebody else" in drawn.sentence
    assert drawn.rounds[0].rejudged == [] and (drawn.rounds[0].wanted, drawn.rounds[0].done) == (4, 0)
    judge_again(study, ["fits"], 0.2, "same", seed=1)
    judge_round(study, "fits", PEOPLE, {}, 20, NOW)
    found = judge_again(study, share=0)
    assert (found.rounds[0].wanted, found.rounds[0].done) == (8, 8)
    repeats = {each.by: each for each in found.rounds[0].rejudged}
    assert repeats["other"].same.n == 4 and repeats["same"].same.n == 4
    # Nobody's truth was given: all judge around the middle with noise, so that answers differ now and then.
    assert all(each.same.value is not None for each in repeats.values())
    table = found.tables()["agreement"]
    assert [row[2] for row in table.rows] == [
        "by somebody else (between raters)", "by the same person (within raters)",
    ]  # fmt: skip


def test_from_the_command_line(study: Study, capsys: pytest.CaptureFixture[str]) -> None:
    judge_round(study, "fits", PEOPLE, {}, 20, NOW)
    assert main(["annotate", str(study.home), "--again", "0.2", "--again-by", "same", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["share"] == 0.2 and "4 of 20 finished items" in document["sentence"]
    assert main(["annotate", str(study.home), "--again", "0.2", "--mode", "yes_no"]) == 2
    assert "--again" in capsys.readouterr().err


def test_nothing_to_judge_again_is_said(study: Study, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no work of 'fits' is finished yet"):
        judge_again(study, ["fits"])
    with create_study(tmp_path / "empty") as empty, pytest.raises(UsageError, match="no round was opened"):
        judge_again(empty)
