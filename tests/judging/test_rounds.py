"""Rounds in study.toml: what they may say, and what is told when they say something else."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.errors import DataError, SightlineError, StudyError, UsageError
from sightline.judging.rounds import (
    ControlSettings,
    RoundExample,
    RoundSettings,
    on_scale,
    places,
    refuse_conflicts,
    refuse_misfit,
    round_names,
    round_settings,
    taken_places,
)
from sightline.records import Mode, Question
from sightline.study.study import SETTINGS_FILE, Study, create_study, read_settings

Reader = Callable[..., RoundSettings]


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    with create_study(tmp_path / "study") as made:
        yield made


@pytest.fixture
def read(study: Study) -> Reader:
    """Settings of the round `r` from these lines, and from these of its controls."""

    def reader(lines: str = "", controls: str = "", rest: str = "", mode: str = "yes_no") -> RoundSettings:
        told = f'[annotate.r]\nmode = "{mode}"\n{lines}\n'
        told += f"[annotate.r.controls]\n{controls}\n" if controls else ""
        write(study, told + rest)
        return round_settings(study, "r")

    return reader


def write(study: Study, told: str) -> None:
    (study.home / SETTINGS_FILE).write_text(told, "utf-8")
    study.settings = read_settings(study.home / SETTINGS_FILE)


EVERYTHING = """
[annotate.relevance]
mode = "graded_relevance(images=6)"
title = "How relevant?"
instructions = "Look closely."
examples = [{image = "examples/a.png", shown = "two dogs", answer = "high relevance", why = "both are there"},
            {shown = "a cat", answer = "no relevance"}]
seed = 12
per_item = 5
session_pages = 20
rest_minutes = 2.5
ahead = 3
hold_hours = 12
repeat = 0.2
suite = "coco"
systems = ["a", "b"]
top = 10
sample = 200
reference = "photos"
languages = ["de", "pt-BR"]
price = 0.20
fee = 0.10
skip_reasons = ["broken"]
[annotate.relevance.controls]
pages = 5
of = 50
images = 1
file = "controls.csv"
tag = "control"

[question.relevance]
wording = "Passt das Bild?"
"""


def test_everything_can_be_said(study: Study) -> None:
    (study.home / "examples").mkdir()
    Pillow.new("RGB", (2, 2)).save(study.home / "examples" / "a.png")
    (study.home / "controls.csv").write_text("prompt,image,expected\n")
    write(study, EVERYTHING)
    assert round_names(study) == ["relevance"]
    found = round_settings(study, "relevance")
    assert (found.name, found.mode) == ("relevance", "graded_relevance(images=6)")
    assert (found.title, found.spec.name, found.found.images) == ("How relevant?", "graded_relevance", 6)
    assert found.found.instructions == found.instructions == "Look closely."
    dogs = ("two dogs", "high relevance", "both are there")
    cat = RoundExample("a cat", "no relevance")
    assert list(found.examples) == [RoundExample(*dogs, study.home / "examples" / "a.png"), cat]
    assert [tuple(each) for each in found.found.examples] == [dogs, cat[:3]]
    assert (found.seed, found.per_item, found.session_pages, found.rest_minutes) == (12, 5, 20, 2.5)
    assert (found.ahead, found.hold_hours, found.repeat) == (3, 12.0, 0.2)
    assert (found.suite, found.systems, found.top, found.sample) == ("coco", ("a", "b"), 10, 200)
    assert (found.reference, found.languages) == ("photos", ("de", "pt-BR"))
    assert (found.price, found.fee, found.skip_reasons) == (0.20, 0.10, ("broken",))
    assert found.controls == ControlSettings(5, 50, 1, study.home / "controls.csv", "control", False)
    (asked,) = found.questions
    # The wording is the study's, everything else the mode's.
    assert (asked.name, asked.wording) == ("relevance", "Passt das Bild?")
    assert (asked.high, asked.labels["2"]) == (2, "high relevance")
    assert found.found.questions == [asked]
    assert found.at == f"{study.home / SETTINGS_FILE} [annotate.relevance]"
    assert taken_places(found) == 2 and places(found.found) == 6


def test_a_mode_is_enough(read: Reader) -> None:
    found = read()
    assert (found.per_item, found.session_pages, found.rest_minutes, found.ahead) == (3, 50, 10, 5)
    assert (found.hold_hours, found.repeat, found.seed, found.pairs) == (24, 0, 0, 10)
    assert found.title == "Does this image match the text?"
    assert found.controls == ControlSettings() and len(found.skip_reasons) == 2
    assert [each.shown for each in found.examples] == [each.shown for each in found.found.examples] != []


def test_control_pages_are_one_in_five_where_only_their_source_is_named(read: Reader, study: Study) -> None:
    (study.home / "c.csv").touch()
    assert read(controls='tag = "control"').controls == ControlSettings(1, 5, tag="control")
    assert read(controls='file = "c.csv"').controls.pages == 1
    # Control images are asked for: the file is for them.
    assert read(controls='file = "c.csv"\nimages = 1', mode="ternary_relevance").controls.pages == 0
    assert read(controls="made = true", mode="two_afc").controls == ControlSettings(1, 5, made=True)


def test_a_mode_can_do_without_its_photo(read: Reader) -> None:
    with pytest.raises(StudyError, match="hides a reference photo among the images"):
        read(mode="graded_relevance")
    found = read("reference = false", mode="graded_relevance")
    assert found.reference is None and not found.found.reference and taken_places(found) == 0


WRONG = [
    ("per_itm = 3", "there is no setting 'per_itm'", "Did you mean per_item"),
    ("per_item = 0", "per_item is 0", "whole number from 1 to 1000"),
    ("per_item = 2.0", "per_item is 2.0", "whole number"),
    ("per_item = true", "per_item is True", "whole number"),
    ("seed = -1", "seed is -1", "from 0"),
    ("seed = 9223372036854775808", "seed is 9223372036854775808", "from 0"),
    ('rest_minutes = "10"', "rest_minutes is '10'", "a number from 0 to 1440"),
    ("rest_minutes = nan", "rest_minutes is nan", "a number"),
    ("hold_hours = 0", "hold_hours is 0", "a number"),
    ("repeat = 1.1", "repeat is 1.1", "from 0 to 1"),
    ("ahead = 0", "ahead is 0", "whole number from 1"),
    ("top = 0", "top is 0", "whole number from 1"),
    ("sample = []", "sample is []", "whole number"),
    ("price = -0.2", "price is -0.2", "a number from 0"),
    ("price = inf", "price is inf", "a number from 0"),
    ("fee = 10", "fee is 10", "a number from 0 to 1"),
    ("title = 5", "title is 5", "a text"),
    ('title = " "', "title is ' '", "a text"),
    ('title = "a\\u0000b"', "NUL character", "Remove it"),
    ("suite = true", "suite is True", "a text"),
    ('systems = "a"', "systems is 'a'", "a list"),
    ("systems = []", "systems is []", "a list"),
    ('systems = ["a", "a"]', "systems is", "different"),
    ('languages = ["german!"]', "languages is", "pt-BR"),
    (f'skip_reasons = ["{"x" * 501}"]', "skip_reasons is", "500 characters"),
    ("pairs = 3", "pairs is 3", "removed: yes_no shows no pairs"),
    ('choose = "best"', "choose is 'best'", '"random" or "adaptive"'),
    ('choose = "adaptive"', "needs a mode that compares systems", 'choose = "random"'),
    ("examples = 3", "examples is 3", "a list such as"),
    ('examples = [{shown = "x"}]', "answer is missing", "a text"),
    ('examples = [{shown = "x", anser = "y"}]', "no setting 'anser'", "answer"),
    ("controls = 3", "controls is 3", "a table of its own"),
]


@pytest.mark.parametrize(("lines", "said", "remedy"), WRONG, ids=[row[0][:30] for row in WRONG])
def test_a_wrong_value_is_told_with_its_table(
    read: Reader, study: Study, lines: str, said: str, remedy: str
) -> None:
    with pytest.raises(DataError) as caught:
        read(lines)
    assert said in caught.value.what and remedy in caught.value.remedy
    assert caught.value.where.startswith(f"{study.home / SETTINGS_FILE} [annotate.r]")


WRONG_CONTROLS = [
    ("paegs = 1", "yes_no", "no setting 'paegs'"),
    ("pages = 1", "yes_no", "nothing to make control tasks from"),
    ('pages = 5\nof = 5\ntag = "x"', "yes_no", "5 of 5 tasks"),
    ('of = 1\ntag = "x"', "yes_no", "of is 1"),
    ("images = 1", "ternary_relevance", "nothing to take control images from"),
    ('images = 1\nfile = "c.csv"', "yes_no", "take 1 of the 1 images"),
    ('images = 5\nfile = "c.csv"', "ternary_relevance(images=5)", "take 5 of the 5 images"),
    ('images = 1\nfile = "c.csv"', "two_afc", "a triplet has no place"),
    ('images = 1\nfile = "c.csv"', "similarity_rating", "a pair has no place"),
    ('images = 1\nfile = "c.csv"', "order", "an order has no place"),
    ('file = "c.csv"', "order", "not of their order"),
    ("made = true", "order", "no answer that is plain"),
    ('pages = 0\ntag = "x"', "yes_no", "no control tasks are asked for"),
    ("made = true", "yes_no", "no answer that is plain"),
    ('made = "yes"', "two_afc", "made is 'yes'"),
    ("tag = 3", "yes_no", "tag is 3"),
]


@pytest.mark.parametrize(("lines", "mode", "said"), WRONG_CONTROLS)
def test_wrong_controls_are_told(read: Reader, study: Study, lines: str, mode: str, said: str) -> None:
    (study.home / "c.csv").touch()
    with pytest.raises(StudyError, match=re.escape(said)) as caught:
        read(controls=lines, mode=mode)
    assert "[annotate.r" in caught.value.where


@pytest.mark.parametrize(
    "name", ["../out.csv", "/etc/passwd", "a/../../out.csv", "link.csv", "folder/out.csv"]
)
def test_files_stay_inside_the_study(read: Reader, study: Study, tmp_path: Path, name: str) -> None:
    (tmp_path / "out.csv").write_text("prompt,image,expected\n")
    (study.home / "link.csv").symlink_to(tmp_path / "out.csv")
    (study.home / "folder").symlink_to(tmp_path)
    (study.home / "a").mkdir()
    with pytest.raises(DataError, match="leaves the folder"):
        read(controls=f'file = "{name}"')
    with pytest.raises(DataError, match="leaves the folder"):
        read(f'examples = [{{shown = "x", answer = "y", image = "{name}"}}]')


def test_other_files_are_refused(read: Reader) -> None:
    with pytest.raises(StudyError, match=r"file is 'controls\.csv', and there is no such file"):
        read(controls='file = "controls.csv"')
    # The database lies in the same folder, and whoever judges gets to see the file.
    with pytest.raises(DataError, match=r"example 1 image 'study\.sqlite'"):
        read('examples = [{shown = "x", answer = "y", image = "study.sqlite"}]')


def test_an_unknown_mode_suggests_near_ones(read: Reader, study: Study) -> None:
    with pytest.raises(StudyError, match="Did you mean graded_relevance") as caught:
        read(mode="relevanc4")
    assert caught.value.where.endswith("[annotate.r]")
    with pytest.raises(StudyError, match="has no parameter 'imags'"):
        read(mode="graded_relevance(imags=3)")
    write(study, "[annotate.r]\nseed = 1\n")
    with pytest.raises(StudyError, match="it names no mode"):
        round_settings(study, "r")


def test_an_unknown_round_suggests_near_ones(study: Study) -> None:
    with pytest.raises(UsageError, match="no round is called 'relevance'") as caught:
        round_settings(study, "relevance")
    assert "[annotate.relevance]" in caught.value.remedy
    write(study, '[annotate.relevance]\nmode = "yes_no"\n[annotate.quality]\nmode = "two_sliders"\n')
    assert round_names(study) == ["relevance", "quality"]
    with pytest.raises(UsageError, match="Did you mean relevance"):
        round_settings(study, "relevence")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ('[annotate]\nmode = "yes_no"\n', "bare value 'mode'"),
        ('[annotate."../x"]\nmode = "yes_no"\n', "cannot be called"),
        ('[annotate." "]\nmode = "yes_no"\n', "cannot be called"),
    ],
)
def test_rounds_have_names_and_tables(study: Study, told: str, said: str) -> None:
    write(study, told)
    with pytest.raises(StudyError, match=said):
        round_names(study)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("wrding = 'x'", "no setting 'wrding'"),
        ("wording = 3", "wording is 3"),
        ("labels = ['a']", "labels is"),
        ("labels = {1 = 2}", "labels is"),
        ("low = 'x'", "low is 'x'"),
        ("low = 5", "goes from 5 to 1"),
        ("scale = 'likert'", "has the scale 'likert'"),
    ],
)
def test_what_study_toml_says_of_a_question_is_checked(read: Reader, lines: str, said: str) -> None:
    with pytest.raises(SightlineError, match=re.escape(said)) as caught:
        read(rest=f"[question.match]\n{lines}\n")
    assert "[question.match]" in str(caught.value)
    with pytest.raises(StudyError, match="the answer to attention checks is 5"):
        read(mode="similarity_rating", controls="made = true", rest="[question.alike]\nhigh = 4\n")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"layout": "circle"}, "layout 'circle'"),
        ({"compares": "people"}, "compares 'people'"),
        ({"images": 0}, "shows 0 images"),
        ({"both_bad": "neither"}, "only pairs and triplets can be"),
        ({"layout": "triplet", "compares": "systems"}, "compares two systems with a reference"),
    ],
)
def test_a_mode_that_makes_no_sense_is_told(read: Reader, change: dict[str, object], said: str) -> None:
    found = read()
    with pytest.raises(StudyError, match=said):
        refuse_misfit(found.model_copy(update={"found": replace(found.found, **change)}))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "on", "off"),
    [
        (Question("q", "ordinal", -1, 2, 1), [-1, 0, 2], [-2, 3, 0.5, float("nan")]),
        (Question("q", "interval", 0, 5, 0.1), [0, 0.1, 4.7, 5], [5.1, 0.05, -0.1, float("inf")]),
        (Question("q", "ordinal", 0, 1, None, {"0": "no", "0.5": "unsure", "1": "yes"}), [0.5, 1], [0.3, 2]),
        (Question("q", "interval", 0, 5, None, {"0": "bad", "5": "good"}), [2.345], [6]),
        (Question("q"), [-1e9, 7], [float("nan")]),
    ],
)
def test_values_on_a_scale(question: Question, on: list[float], off: list[float]) -> None:
    assert [value for value in on + off if on_scale(question, value)] == on


@pytest.mark.parametrize("mode", ["preference", "order(images=3)"])
def test_comparisons_of_systems_can_be_chosen_adaptively(read: Reader, mode: str) -> None:
    assert read(mode=mode).choose == "random"
    found = read('choose = "adaptive"\npairs = 3', mode=mode)
    assert (found.choose, found.pairs) == ("adaptive", 3)


def test_pairs_and_single_images_come_one_at_a_time() -> None:
    asked = [Question("q")]
    assert places(Mode("grid", 5, asked, {}, "")) == 5
    assert places(Mode("pair", 2, asked, {}, "")) == places(Mode("single", 3, asked, {}, "")) == 1


def test_two_rounds_must_not_mix_two_scales_under_one_name(tmp_path: Path) -> None:
    told = '[annotate.a]\nmode = "graded_relevance"\nreference = false\n'
    told += '[annotate.b]\nmode = "ternary_relevance"\n'
    with create_study(tmp_path / "s", settings=told) as study:
        with pytest.raises(UsageError, match="'a' and 'b' both ask 'relevance'") as caught:
            refuse_conflicts(study)
        assert 'questions = {relevance = "relevance_b"}' in caught.value.remedy
    told += 'questions = {relevance = "relevance_b"}\n'
    with create_study(tmp_path / "t", settings=told) as study:
        refuse_conflicts(study)
        assert [asked.name for asked in round_settings(study, "b").questions] == ["relevance_b"]
    wrong = told.replace("{relevance =", "{relevanse =")
    with create_study(tmp_path / "u", settings=wrong) as study, pytest.raises(StudyError, match="questions"):
        round_settings(study, "b")
