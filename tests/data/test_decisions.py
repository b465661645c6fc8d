"""Decisions survive an export: roles, exclusions, adjudications, controls and rounds, on both databases."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from PIL import Image as Pillow

import sightline
from sightline.data.export import TABLES
from sightline.errors import ConflictError
from sightline.judging import assignment, oversee
from sightline.judging.annotate import annotate
from sightline.judging.store import answering, rounds, tokens
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.tasks import Task, given_answers, past_tasks
from sightline.judging.truth import truth
from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record, System
from sightline.samples.annotators import Annotator
from sightline.samples.judging import judge_round
from sightline.study import listing, reading
from sightline.study.schema import database
from sightline.study.study import SETTINGS_FILE, Study, create_study, open_study
from sightline.study.writing.loading import load

Dump = dict[str, list[tuple[Any, ...]]]
NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)
SYSTEMS, PROMPTS = "abc", 5
PEOPLE = [
    *(Annotator(name, "careful", noise=0.1) for name in ("ann", "bob", "cat")),
    Annotator("hugo", "spiteful", spite=1.0),
    Annotator("ivan", "spiteful", spite=1.0),
]
# Whom ivan's controls exclude follows from the controls and from which questions one round asks together.
SETTINGS = """
[truth]
rule.fit = "median"
[screening]
rules = ["failed_controls"]
[annotate.grades]
mode = "two_sliders"
per_item = 5
questions = {alignment = "fit"}
[annotate.grades.controls]
file = "controls.csv"
pages = 1
of = 2
[annotate.duel]
mode = "preference(tie=True, both_bad=True)"
per_item = 5
pairs = 3
[annotate.places]
mode = "order(images=3)"
per_item = 5
pairs = 2
"""


def content(study: Study) -> dict[str, list[tuple[Any, ...]]]:
    """All that was decided, by names."""
    tables = ("annotators", "controls", "rounds", "round_items", "tasks", "judgements")
    frames = {name: pl.concat(TABLES[name](study)) for name in tables}
    return {
        name: sorted(frame.select(sorted(frame.columns)).rows(), key=repr) for name, frame in frames.items()
    }


def consensus(study: Study) -> list[tuple[Any, ...]]:
    """The truth of every item by names, as it is computed now."""
    settled = [each.settlement_id for each in truth(study).questions]
    truths = listing.truths(study).filter(pl.col("settlement_id").is_in(settled))
    # The newest of each question and rule, which are those just computed.
    named = listing.named_truths(study).with_columns(pl.col("value", "low", "high").round(9))
    assert truths.height == named["value"].count()
    return sorted(named.rows(), key=repr)


def excluded(study: Study) -> set[tuple[str, str, str]]:
    return {(asked.question, each.annotator, each.rule) for asked in truth(study).questions
            for each in asked.excluded}  # fmt: skip


def put_in_order(study: Study, name: str, turn: int) -> None:
    """Answer the open tasks of the round of orders, the places turned by so many."""
    round_ = rounds.get_round(study, "places")
    with database.writing(study.engine, durable=False) as connection:
        who = tokens.annotator(connection, name)
        for task in assignment.assign(connection, round_, who, "annotator", NOON).tasks:
            slots = sorted(task.slots, key=lambda slot: slot.item_id)
            answer(
                connection, round_, who, task, {slot.slot: (n + turn) % 3 + 1 for n, slot in enumerate(slots)}
            )


def answer(connection: Any, round_: rounds.Round, who: int, task: Task, places: dict[int, int]) -> None:
    sent = [
        SubmittedAnswer(f"{task.key}{slot}{place}", task.key, slot, "order", place, None, 900)
        for slot, place in places.items()
    ]
    done = answering.record_answers(connection, round_, who, sent, "2026-05-01T12:00:00Z")
    assert {each.status for each in done} == {"stored"}


def make(folder: Path, address: str = "") -> Study:
    """Three rounds of five people, of whom one is excluded; one trusted, one who decides."""
    folder.mkdir(parents=True)
    picture = folder.parent / "picture.png"
    study = create_study(folder / "study", settings=SETTINGS, database_address=address)
    records: list[Record] = []
    lines = ["prompt_id,suite,image,collection,question,expected,tolerance"]
    for number in range(PROMPTS):
        prompt = PromptKey("s", f"p{number}")
        records.append(Prompt(prompt, f"prompt {number}"))
        for place, system in enumerate(SYSTEMS):
            image = ImageKey("c", f"{system}{number}.png")
            Pillow.new("RGB", (8, 8), (10 * number, 60 * place, 200)).save(picture)
            file = folder / image.name
            file.write_bytes(picture.read_bytes())
            records += [Image(image, str(file)), Answer(prompt, system, 0, image)]
        if number < 3:
            lines += [f"p{number},s,a{number}.png,c,{question},5,1" for question in ("fit", "quality")]
    (folder / "study" / "controls.csv").write_text("\n".join(lines) + "\n")
    load(study, records, importer="test", path="test", digest="1")
    annotate(study)
    right = {
        key: 1.0 - SYSTEMS.index(name[0]) / 3
        for key, name in reading.images(study).select("image_id", "name").iter_rows()
    }
    judge_round(study, "grades", [Annotator("vera", "careful")], right, 4, NOON, role="control")
    for name, tasks in (("grades", 7), ("duel", 3)):
        judge_round(study, name, PEOPLE, right, tasks, NOON, skips=0.05)
    for turn, person in enumerate(PEOPLE):
        put_in_order(study, person.name, turn)
    oversee.again(study, "grades", 0.2)
    oversee.exclude(study, "hugo", "answers at random")
    truth(study)
    for question in ("quality", "preference"):
        rows = reading.truths(study, question)
        oversee.adjudicate(study, question, rows["item_id"][2], 0.0, by="boss")
        oversee.adjudicate(study, question, rows["item_id"][2], 1.0, by="boss")
    oversee.pause(study, "duel")
    return study


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with make(tmp_path_factory.mktemp("origin") / "made") as made:
        return made.home


@pytest.fixture
def source(origin: Path, tmp_path: Path) -> Iterator[Study]:
    """A study in a file of its own; nothing writes to the one it is copied from."""
    shutil.copytree(origin, tmp_path / "made")
    with open_study(tmp_path / "made") as made:
        yield made


def back_of(study: Study, tmp_path: Path, form: str = "parquet", address: str = "") -> Study:
    done = sightline.export(study, tmp_path / "out", form=form)
    assert done.notes == ()
    back = create_study(tmp_path / "back", database_address=address)
    sightline.import_(back, tmp_path / "out")
    return back


def test_the_same_consensus_from_either_database(address: str, tmp_path: Path) -> None:
    with make(tmp_path / "made", address) as study:
        before, decided = consensus(study), content(study)
        with back_of(study, tmp_path) as back:
            assert consensus(back) == before
            assert content(back) == decided
            assert excluded(back) == excluded(study)
    assert {row[-1] for row in decided["annotators"]} == {"adjudicator", "control", "annotator"}
    assert all(decided.values()), "what the comparison is about is there"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_the_same_consensus_into_either_database(
    source: Study, address: str, tmp_path: Path, form: str
) -> None:
    before, decided = consensus(source), content(source)
    with back_of(source, tmp_path, form, address) as back:
        assert consensus(back) == before
        assert content(back) == decided
        assert ("store" in back.settings) == bool(address), "where the records are stays as it was"


def test_without_the_decisions_it_would_be_another_consensus(source: Study, tmp_path: Path) -> None:
    """That the tests above can fail."""
    before = consensus(source)
    tables = ["questions", "prompts", "judgements"]
    sightline.export(source, tmp_path / "some", tables=tables)
    with create_study(tmp_path / "less", settings=SETTINGS) as less:
        sightline.import_(less, tmp_path / "some")
        assert consensus(less) != before


def test_a_round_that_came_back_goes_on(source: Study, tmp_path: Path) -> None:
    with back_of(source, tmp_path) as back:
        # The files that the settings name came along, so that the rounds are those of study.toml.
        assert {each.round.name: each.adopted for each in annotate(back).rounds} == {
            "grades": 0, "duel": 0, "places": 0,
        }  # fmt: skip
        assert rounds.progress(back) == rounds.progress(source)
        round_ = rounds.get_round(back, "places")
        with database.writing(back.engine) as connection:
            who = tokens.annotator(connection, "ann")
            task = past_tasks(connection, round_.id, who, 99, 1)[0]
            given = {each.slot: each.value for each in given_answers(connection, [task])}
            answer(
                connection,
                round_,
                who,
                task,
                {slot: int(place or 0) % 3 + 1 for slot, place in given.items()},
            )
        with database.reading(back.engine) as connection:
            query = f"SELECT revision, count(*) FROM judgement WHERE task_id = {task.id} GROUP BY revision"
            found = dict(database.fetch(connection, query))
        assert found == {0: 3, 1: 3}, "a changed order is a revision of the one that was imported"


def test_undoing_removes_the_decisions_and_leaves_those_of_others(
    source: Study, tmp_path: Path, dump: Callable[[Study], Dump]
) -> None:
    with create_study(tmp_path / "back") as back:
        empty = dump(back)
        sightline.export(source, tmp_path / "out")
        number = sightline.import_(back, tmp_path / "out").number
        assert number is not None
        sightline.undo(back, number)
        assert dump(back) == empty


def test_work_done_in_an_imported_round_keeps_it(source: Study, tmp_path: Path) -> None:
    with back_of(source, tmp_path) as back:
        annotate(back)
        judge_round(back, "grades", [Annotator("new", "careful")], {}, 1, NOON)
        (number,) = [each["id"] for each in sightline.imports(back).rows]
        with pytest.raises(ConflictError, match="judgements were given in round 'grades'"):
            sightline.undo(back, number)


def test_a_decision_that_contradicts_one_here_is_refused(source: Study, tmp_path: Path) -> None:
    sightline.export(source, tmp_path / "out")
    with create_study(tmp_path / "back") as back:
        records = tmp_path / "votes.csv"
        records.write_text("annotator,image,question,value\nhugo,x.png,else,4\n")
        sightline.import_(back, records)
        with pytest.raises(ConflictError, match="'hugo' is excluded there \\(answers at random\\)"):
            sightline.import_(back, tmp_path / "out")


def test_a_selection_says_what_it_leaves_behind(source: Study, tmp_path: Path) -> None:
    done = sightline.export(source, tmp_path / "some", tables=["prompts", "judgements"])
    (note,) = done.notes
    assert note.startswith("Not exported, and needed for the same truth: 1 excluded annotator, ")
    assert "1 control annotator, 1 adjudicator" in note and "3 rounds" in note
    assert "--table annotators --table controls --table rounds" in note
    with create_study(tmp_path / "back") as back:
        said = sightline.import_(back, tmp_path / "some").notes
        assert any("1 excluded annotator" in each for each in said)
    assert sightline.export(source, tmp_path / "other", tables=["prompts", "answers"]).notes == ()


def test_one_table_of_an_export_says_that_it_has_no_decisions(source: Study, tmp_path: Path) -> None:
    sightline.export(source, tmp_path / "out")
    with create_study(tmp_path / "back") as back:
        sightline.import_(back, tmp_path / "out" / "prompts.csv")
        said = sightline.import_(back, tmp_path / "out" / "judgements.csv").notes
        assert any("import the whole folder" in each for each in said)


def test_trec_files_say_that_they_have_no_decisions(source: Study, tmp_path: Path) -> None:
    answered = Answer(PromptKey("s", "p0"), "engine", 0, ImageKey("c", "a0.png"), 0.5)
    load(source, [System("engine", "retriever", "c"), answered], importer="t", path="t", digest="2")
    notes = sightline.export(source, tmp_path / "trec", form="trec").notes
    assert any("1 excluded annotator" in each for each in notes)


def test_settings_of_its_own_are_kept(source: Study, tmp_path: Path) -> None:
    sightline.export(source, tmp_path / "out")
    with create_study(tmp_path / "back", settings='[truth]\nrule = "mean"\n') as back:
        said = sightline.import_(back, tmp_path / "out").notes
        assert (back.home / SETTINGS_FILE).read_text() == '[truth]\nrule = "mean"\n'
        assert any("study.toml" in each and "own settings" in each for each in said)


def test_what_the_study_has_already_is_left_alone(source: Study, tmp_path: Path) -> None:
    before = content(source)
    sightline.export(source, tmp_path / "out")
    done = sightline.import_(source, tmp_path / "out")
    assert not {"judgements", "annotators", "controls", "rounds", "tasks"} & done.counts.keys()
    assert content(source) == before
    assert done.number is not None
    sightline.undo(source, done.number)
    assert content(source) == before
