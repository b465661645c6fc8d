"""What a command says of rounds goes into study.toml once all was checked; what fails leaves no trace."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from PIL import Image as Pillow

from sightline.cli import main
from sightline.errors import UsageError
from sightline.judging.annotate import annotate
from sightline.judging.declaring import declare, save
from sightline.judging.oversee import exclude, invite
from sightline.judging.planning import plan_rounds
from sightline.judging.rounds import round_settings
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

ROUND = """
[annotate.fits]   # what people see
mode = "yes_no"
per_item = 3      # judgements per item
seed = 5

[annotate."old.one"]
mode = "two_sliders"
[annotate."old.one".controls]
of = 4
"""


@pytest.fixture
def study(tmp_path: Path) -> Iterator[Study]:
    Pillow.new("RGB", (8, 8), (1, 2, 3)).save(tmp_path / "a.png")
    records: list[Record] = []
    for number in range(4):
        key, image = PromptKey("s", str(number)), ImageKey("made", str(number))
        records += [Prompt(key, f"prompt {number}"), Image(image, str(tmp_path / "a.png"))]
        records.append(Answer(key, "system", 0, image))
    with create_study(tmp_path / "study", settings=ROUND) as made:
        load(made, records, importer="test", path="t", digest="t")
        yield made


def written(study: Study) -> str:
    return (study.home / "study.toml").read_text("utf-8")


def test_values_go_into_their_lines_and_comments_stay(study: Study) -> None:
    before = written(study)
    declared = declare(study, rounds=["fits", "old.one"], values={"per_item": 2, "rest_minutes": 2.5})
    assert written(study) == before
    assert round_settings(study, "fits").per_item == 2
    save(study, declared)
    expected = before.replace("per_item = 3  ", "per_item = 2  ")
    expected = expected.replace(
        "[annotate.fits]   # what people see\n", "[annotate.fits]   # what people see\nrest_minutes = 2.5\n"
    )
    expected = expected.replace(
        '[annotate."old.one"]\n', '[annotate."old.one"]\nrest_minutes = 2.5\nper_item = 2\n'
    )
    assert written(study) == expected
    with open_study(study.home) as again:
        found = round_settings(again, "old.one")
        assert (found.per_item, found.rest_minutes, found.controls.of) == (2, 2.5, 4)


def test_a_form_that_no_line_holds_is_left_to_the_owner(study: Study) -> None:
    (study.home / "study.toml").write_text('annotate.fits = {mode = "yes_no", per_item = 3}\n', "utf-8")
    with open_study(study.home) as again, pytest.raises(UsageError, match="not changed by command"):
        declare(again, rounds=["fits"], values={"per_item": 2})


@pytest.mark.parametrize(("people", "wanted"), [(0, 3), (1, 1), (2, 2), (3, 3), (7, 3)])
def test_a_new_round_asks_for_no_more_than_those_invited_can_give(
    study: Study, people: int, wanted: int
) -> None:
    declared = declare(study, "preference", people=people)
    assert round_settings(study, "preference").per_item == wanted
    assert ("as many as are invited" in str(declared.text)) == (people in (1, 2))


def test_a_mode_of_another_form_than_declared_is_refused(study: Study) -> None:
    save(study, declare(study, "ternary_relevance(images=4)"))
    with pytest.raises(UsageError, match=r"images=4"):
        declare(study, "ternary_relevance(images=5)")
    assert list(declare(study, "ternary_relevance(images=4)").names) == ["ternary_relevance"]


def test_the_plan_says_hours_and_how_many_more_people_are_needed(study: Study) -> None:
    planned = plan_rounds(study, ["fits"], ["ann", "bob"])
    # 4 items x 3 judgements at 4 + 4 seconds.
    (one,) = planned.rounds
    assert (one.load.tasks, one.missing, one.seconds, one.timed) == (12, 1, 8, 0)
    assert one.hours == pytest.approx(12 * 8 / 3600) and one.hours_each == pytest.approx(4 * 8 / 3600)
    assert "1 more person is needed (2 invited)" in planned.sentence
    assert "assumed until tasks are timed" in planned.notes[0]
    # Whoever was invited before counts; those named twice count once.
    annotate(study, ["fits"])
    invite(study, "fits", "ann")
    assert plan_rounds(study, ["fits"], ["ann", "bob", "eve"]).rounds[0].missing == 0
    exclude(study, "ann", "away")
    assert plan_rounds(study, ["fits"]).rounds[0].missing == 3


def test_a_pilot_set_is_more_work_where_there_are_more_people(study: Study) -> None:
    declare(study, rounds=["fits"], values={"overlap": 2, "per_item": 1})
    # 4 items once, and 2 of them by two more people.
    assert plan_rounds(study, ["fits"], ["a", "b", "c"]).rounds[0].load.tasks == 4 + 2 * 2


# -- a failed command leaves no trace -----------------------------------------------------------------------


def traces(study: Path) -> tuple[bytes, list[str]]:
    """Everything that a study's settings and database hold."""
    with closing(sqlite3.connect(study / "study.sqlite")) as connection:
        return (study / "study.toml").read_bytes(), list(connection.iterdump())


@pytest.fixture
def taken() -> Iterator[int]:
    with closing(socket.socket()) as held:
        held.bind(("127.0.0.1", 0))
        held.listen()
        yield held.getsockname()[1]


REFUSED: list[tuple[list[str], str]] = [
    (["--plan"], ""),
    (["--plan", "--mode", "yes_no", "--invite", "ann,bob", "--sample", "2", "--json"], ""),
    (["--plan", "--mode", "two_sliders", "--per-item", "2", "--overlap", "1", "--rest", "0"], ""),
    (["--mode", "no_such_mode"], "no_such_mode"),
    (["--mode", "two_afc"], "triplets"),
    (["--mode", "yes_no(images=3)"], "images"),
    (["--mode", "yes_no", "--round", "nowhere"], "nowhere"),
    (["--round", "nowhere"], "nowhere"),
    (["--mode", "yes_no", "--per-item", "0"], "0"),
    (["--mode", "yes_no", "--per-item", "1001"], "1001"),
    (["--mode", "yes_no", "--rest", "99999"], "99999"),
    (["--mode", "yes_no", "--sample", "x"], "x"),
    (["--round", "fits", "--sample", "2"], "another sample"),
    (["--round", "fits", "--seed", "6"], "another seed"),
    (["--mode", "yes_no", "--invite", "ann,lazy"], "excluded"),
    (["--mode", "yes_no", "--invite", "n" * 201], "200 characters"),
    (["--mode", "yes_no", "--invite", "ann", "--days", "400"], "400 days"),
    (["--mode", "yes_no", "--days", "0"], "0 days"),
    (["--mode", "yes_no", "--host", "no.such.host.invalid"], "not an address"),
    (["--mode", "yes_no", "--port", "TAKEN", "--invite", "ann"], "is taken"),
    (["--mode", "yes_no", "--port", "70000"], "70000"),
    (["--mode", "yes_no", "--proxy", "*"], "not the address of a proxy"),
    (["--mode", "yes_no", "--links", "/no/such/folder/links.csv"], "cannot be written"),
    (["--mode", "yes_no", "--revoke", "ann"], "stands alone"),
    (["--revoke", "nobody"], "nobody"),
    (["--sheets", "S", "--mode", "yes_no", "--question", "q", "--annotators", "a"], "exclude each other"),
    (["--sheets", "S", "--question", "q", "--annotators", "a", "--per-item", "2"], "cannot come from 1"),
    (["--sheets", "S"], "sheets need"),
    (["--question", "q", "--mode", "yes_no"], "belong to --sheets"),
    (["--mode", "yes_no", "--json", "--csv"], "--"),
]


@pytest.mark.parametrize(
    ("words", "said"), REFUSED, ids=lambda each: " ".join(each) if isinstance(each, list) else ""
)
def test_a_refused_command_leaves_no_trace(
    study: Study, tmp_path: Path, taken: int, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    annotate(study, ["fits"])
    invite(study, "fits", "lazy")
    exclude(study, "lazy", "away")
    study.close()
    before = traces(study.home)
    words = [{"TAKEN": str(taken), "S": str(tmp_path / "sheets")}.get(word, word) for word in words]
    code = main(["annotate", str(study.home), *words])
    shown = capsys.readouterr()
    assert (code == 0) == (said == ""), shown
    assert said in shown.out + shown.err
    assert traces(study.home) == before
    assert [each.name for each in study.home.iterdir() if each.name.startswith(".study")] == []


def test_a_round_that_cannot_be_opened_keeps_the_others_closed(
    study: Study, capsys: pytest.CaptureFixture[str]
) -> None:
    study.close()
    file = study.home / "study.toml"
    file.write_text(ROUND + '[annotate.worse]\nmode = "two_afc"\n', "utf-8")
    before = traces(study.home)
    assert main(["annotate", str(study.home), "--per-item", "2"]) != 0
    assert "triplets" in capsys.readouterr().err
    assert traces(study.home) == before


def test_what_fails_while_it_is_written_is_put_back(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    before = written(study)
    replace: Callable[..., None] = os.replace

    def fails(*words: object) -> None:
        monkeypatch.setattr(os, "replace", replace)
        raise OSError("the disk is full")

    monkeypatch.setattr(os, "replace", fails)
    declared = declare(study, "preference")
    with pytest.raises(OSError, match="full"):
        annotate(study, ["fits"], declared=declared, invite=["ann"])
    assert written(study) == before
    from sightline.judging.store.rounds import rounds_of

    assert rounds_of(study) == []
