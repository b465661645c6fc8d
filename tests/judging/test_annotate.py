"""Rounds from study.toml to truth: the flow of PQPP with people of known character, without a server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import pytest
from PIL import Image as Pillow

import sightline
from sightline.errors import DataError, UsageError
from sightline.judging import assignment
from sightline.judging.annotate import annotate
from sightline.judging.declaring import declare, save
from sightline.judging.store import answering, tokens
from sightline.judging.store import tasks as pages
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.rounds import Round
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study import reading
from sightline.study.schema import database
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load

PQPP = """
[annotate.relevance]
mode = "graded_relevance"
reference = "photos"
per_item = 3
ahead = 1
session_pages = 1000
[annotate.relevance.controls]
pages = 1
of = 5
tag = "control"
[truth]
rule = "hbpp"
[screening]
rules = ["control_kappa", "reference_photos"]
"""
PROMPTS, CONTROLS = 12, 6


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    """Twelve prompts and six control prompts, four images each by two systems, and a photo each."""
    serial = count()

    def picture() -> str:
        number = next(serial)
        Pillow.new("RGB", (8, 8), (number % 256, number // 256, 7)).save(tmp_path / f"{number}.png")
        return str(tmp_path / f"{number}.png")

    records: list[Record] = []
    for number in range(PROMPTS + CONTROLS):
        key = PromptKey("s", str(number))
        records.append(Prompt(key, f"prompt {number}", {"control": "yes"} if number >= PROMPTS else {}))
        records.append(Image(ImageKey("photos", f"{number}"), picture(), (f"prompt {number}",)))
        for system in ("good", "bad"):
            for position in range(2):
                image = ImageKey("made", f"{system}-{number}-{position}")
                records += [Image(image, picture()), Answer(key, system, position, image)]
    with create_study(tmp_path / "study", settings=PQPP) as made:
        load(made, records, importer="test", path="t", digest="t")
        yield made


def photos(study: Study) -> set[int]:
    names = reading.images(study)
    return {key for key, home in names.select("image_id", "collection").iter_rows() if home == "photos"}


def right(study: Study) -> dict[int, float]:
    """What honest people say of each image."""
    names = reading.images(study).select("image_id", "collection", "name").iter_rows()
    return {
        key: 2.0 if home == "photos" or name.startswith("good") else float(key % 2) - 1
        for key, home, name in names
    }


def judge(
    study: Study, round_: Round, name: str, value: Callable[[int], float], role: str = "annotator"
) -> int:
    """Work through everything that one person is given; how many pages that were."""
    with database.writing(study.engine) as connection:
        who = tokens.annotator(connection, name, role)
    done = 0
    while True:
        at = datetime.now(UTC)
        with database.writing(study.engine) as connection:
            assigned = assignment.assign(connection, round_, who, role, at)
            if not assigned.tasks:
                return done
            page: pages.Task = assigned.tasks[0]
            answers = [
                SubmittedAnswer(f"{name}-{done}-{n}", page.key, n, "relevance", value(slot.parts[0]), None, 9)
                for n, slot in enumerate(page.slots)
            ]
            kept = answering.record_answers(connection, round_, who, answers, assignment.stamp(at))
            assert {each.status for each in kept} == {"stored"}
        done += 1


@pytest.fixture
def judged(study: Study) -> Study:
    """Three control annotators, three honest people, one who looks at nothing."""
    (opened,) = annotate(study).rounds
    assert (opened.items, opened.controls) == (PROMPTS, CONTROLS)
    honest = right(study).__getitem__
    for name in ("expert1", "expert2", "expert3"):
        assert judge(study, opened.round, name, honest, "control") == CONTROLS
    people = [judge(study, opened.round, name, honest) for name in ("ann", "bob")]
    people.append(judge(study, opened.round, "lazy", lambda image: float((image * 7919) % 4 - 1)))
    assert people == [PROMPTS + 3] * 3, "fifteen pages each, one of every five a control"
    return study


def test_control_votes_and_photos_are_no_truth(judged: Study) -> None:
    (settled,) = sightline.truth(judged, "relevance", screening=[]).questions
    truths = reading.truths(judged, "relevance")
    assert settled.items == PROMPTS * 4 == truths.height
    assert not set(truths["image_id"].to_list()) & photos(judged)
    assert set(truths["n"].to_list()) == {3}
    assert settled.controls > 0


def test_the_rules_of_pqpp_leave_out_who_looks_at_nothing(judged: Study) -> None:
    (settled,) = sightline.truth(judged, screening=["control_kappa(least=5)", "reference_photos"]).questions
    assert [out.annotator for out in settled.excluded] == ["lazy"]
    assert settled.excluded[0].rule.startswith("control_kappa") and "kappa with" in settled.excluded[0].reason
    truths, honest = reading.truths(judged, "relevance"), right(judged)
    for image, value, n in truths.select("image_id", "value", "n").iter_rows():
        assert n == 2 and value == honest[image]


def test_only_the_best_votes_where_study_toml_says_so(judged: Study) -> None:
    judged.settings = {**judged.settings, "truth": {"rule": "hbpp", "most_votes": 2}}
    sightline.truth(judged, "relevance", screening=[])
    truths = reading.truths(judged, "relevance")
    assert set(truths["n"].to_list()) == {2}
    honest = right(judged)
    exact = [value == honest[image] for image, value in truths.select("image_id", "value").iter_rows()]
    assert all(exact), "the two who agree with the experts are those who count"
    judged.settings = {**judged.settings, "truth": {"rule": "hbpp", "most_votes": 0}}
    with pytest.raises(UsageError, match="most_votes = 0"):
        sightline.truth(judged, "relevance", screening=[])


def test_opening_again_changes_nothing(judged: Study) -> None:
    before = reading.counts(judged)
    (opened,) = annotate(judged).rounds
    assert (opened.items, opened.controls, opened.adopted) == (PROMPTS, CONTROLS, 0)
    assert reading.counts(judged) == before


def test_status_tells_how_far_a_round_is(judged: Study) -> None:
    assert "The round relevance has 36 of 36 tasks judged." in sightline.status(judged).notes


def test_a_mode_adds_a_round(study: Study) -> None:
    declared = declare(study, "two_sliders")
    assert list(declared.names) == ["two_sliders"]
    file = study.home / "study.toml"
    assert "two_sliders" not in file.read_text("utf-8")
    found = annotate(study, declared.names, declared=declared).rounds
    assert found[0].items == (PROMPTS + CONTROLS) * 4
    assert declare(study, "two_sliders").text is None
    assert file.read_text("utf-8").count("[annotate.two_sliders]") == 1
    # A mode that hides a photo does without one until it is named: the round it adds is served as it is.
    save(study, declare(study, "graded_relevance(images=4)"))
    assert annotate(study, ["graded_relevance"]).rounds[0].items == PROMPTS + CONTROLS


def test_a_study_without_images_or_rounds_says_so(tmp_path: Path) -> None:
    with create_study(tmp_path / "empty") as empty:
        with pytest.raises(DataError, match="empty"):
            annotate(empty)
        load(empty, [Prompt(PromptKey("s", "1"), "p")], importer="t", path="t", digest="t")
        with pytest.raises(UsageError, match="no round of judging is declared"):
            annotate(empty)
