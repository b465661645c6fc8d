"""A few rows are found by an index, however large the study: the plans of what is really executed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from plans import LARGE, Plan, fill, planned
from sqlalchemy import Connection, String, event

from sightline.judging import assignment
from sightline.judging.store import answering
from sightline.judging.store.answering import SubmittedAnswer
from sightline.judging.store.rounds import Round
from sightline.records import Question
from sightline.report.explorer.explorer import Explorer
from sightline.study import reading, scores
from sightline.study.schema import database, tables
from sightline.study.study import Study, create_study

SETTINGS: dict[str, Any] = {
    "per_item": 3, "session_pages": 500, "rest_minutes": 5, "ahead": 60, "hold_hours": 1, "repeat": 0,
    "controls": {"pages": 0, "of": 5},
}  # fmt: skip
LOOKED_UP = [
    ("annotator", ("panel", "name")),
    ("answer", ("system_id", "prompt_id", "position")),
    ("answer", ("system_id", "prompt_id")),
    ("caption", ("image_id",)),
    ("control", ("item_id", "question_id", "kind")),
    ("detection", ("detector", "content")),
    ("image", ("collection_id", "name")),
    ("image", ("id",)),
    ("image", ("sha256",)),
    ("image_tag", ("image_id", "prompt_id", "name")),
    ("item", ("id",)),
    ("item", ("prompt_id", "system_id", "image_id", "image_b", "image_c", "system_b")),
    ("judgement", ("key",)),
    ("judgement", ("question_id", "item_id", "annotator_id", "repetition", "revision", "group_name")),
    ("mention", ("kind", "entity_id")),
    ("prompt", ("suite", "ref")),
    ("prompt", ("text_sha",)),
    ("prompt_link", ("prompt_id", "kind", "to_prompt_id")),
    ("prompt_tag", ("prompt_id", "name")),
    ("scene", ("image_id",)),
    ("reference", ("name",)),
    ("score", ("measure_id", "inputs")),
    ("score", ("measure_id", "prompt_id", "system_id", "image_id")),
    ("translation", ("prompt_id", "language")),
    ("truth", ("settlement_id", "item_id")),
    ("vector", ("encoder", "content")),
]
"""The tables and columns by which the source looks up keys."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def large(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Study]:
    """A study of 100,000 answers, each with an item, a task, a score; its tables are analysed."""
    folder: Path = tmp_path_factory.mktemp("large")
    if request.param == "sqlite":
        with create_study(folder / "s") as made:
            fill(made)
            yield made
        return
    import psycopg

    server, name = str(request.getfixturevalue("postgres")), f"large_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
        address = server.replace("/postgres?", f"/{name}?", 1)
        with create_study(folder / "s", database_address=address) as made:
            fill(made)
            yield made
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def scans(plans: Sequence[Plan]) -> list[str]:
    """The plans that go through a large table."""
    assert plans
    return [str(plan) for plan in plans if set(plan.scanned) & set(LARGE)]


def test_what_is_known_of_a_page_is_looked_up(large: Study) -> None:
    page = next(scores.pages(large, "of_answer", 40))
    with planned(large) as plans:
        scores.known(large, 1, page)
    assert not scans(plans)
    (found,) = [plan for plan in plans if "score" in plan.statement and "wanted" in plan.statement]
    assert "score_by_inputs" in "".join(found.lines)


def test_the_evidence_of_twins_is_looked_up(large: Study) -> None:
    with planned(large) as plans:
        twins = [scores.Target(9, 0, 9, i * 7919, None, ()) for i in range(1, 40)]
        assert len(scores.known(large, 1, twins)[1]) == 39
    assert not scans(plans)


@pytest.mark.parametrize("kind", ["of_prompt", "of_image", "of_answer", "of_set"])
def test_scores_are_written_without_a_scan(large: Study, kind: str) -> None:
    """Checks of what is current, twins, evidence that goes; a page of each kind."""
    measure = scores.register_as(large, kind, kind, kind)
    page = next(scores.pages(large, kind, 40))
    outcomes = (scores.Outcome(0.5), scores.Outcome(0.5, evidence={"a": 1}))
    results = [(item, outcomes[n % 2]) for n, item in enumerate(page)]
    scores.write(large, measure, results)
    with planned(large) as plans:
        assert not scores.write(large, measure, results)
    assert not scans(plans)


def test_the_scores_of_a_small_measure_are_read_by_it(large: Study) -> None:
    with planned(large) as plans:
        assert reading.stored_scores(large, "m2").height == 1_000
        assert scores.reasons(large, 2).total() == 0
    assert not scans(plans)


def test_a_task_is_assigned_and_answered_by_indexes(large: Study) -> None:
    question = Question("q1", "interval", 1, 5)
    round_ = Round(1, "round", "rating", [(1, question)], SETTINGS, 1, "open", "2026", [1])
    with planned(large) as plans, database.writing(large.engine) as connection:
        at = datetime(2026, 1, 1, 0, 30, tzinfo=UTC)
        for who in (7, 8):
            (task, *_) = assignment.assign(connection, round_, who, "annotator", at).tasks
            sent = SubmittedAnswer(f"k{who}", task.key, 0, "q1", 3.0, None, 900)
            (receipt,) = answering.record_answers(connection, round_, who, [sent], "2026-01-01T00:40:00Z")
            assert receipt.status == "stored"
    assert not scans(plans)


def test_the_explorer_fetches_what_is_in_view(large: Study) -> None:
    explorer = Explorer(large)
    page = explorer.rows("", 50_000, 40)
    with planned(large) as plans:
        explorer.rows("", 50_000, 40)
        explorer.detail(page.rows[3].key)
        explorer.prompt(70)
    assert not scans(plans)


def steps(study: Study, work: Callable[[], object]) -> int:
    """How many instructions SQLite's machine carries out for this, in hundreds."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    @event.listens_for(study.engine, "checkout")
    def watch(connection: Any, *_: Any) -> None:
        connection.set_progress_handler(count, 100)

    work()
    event.remove(study.engine, "checkout", watch)
    study.engine.dispose()
    return counted


def test_scoring_costs_the_same_whatever_is_scored_already(tmp_path: Path) -> None:
    """A page of answers against 2,000 and 16,000 scores of its measure: by the first column of the key alone
    it would cost eight times as much."""
    costs = []
    for n in (2_000, 16_000):
        with create_study(tmp_path / str(n)) as study:
            with database.writing(study.engine) as connection:
                connection.exec_driver_sql("DROP TRIGGER score_insert")
                scores_of(connection, n)
            page = [scores.Target(i, 0, i, i * 7919, None, ()) for i in range(1, 500)]
            work = partial(scores.known, study, 1, page)
            costs.append(steps(study, work))
            assert work() == ([], [])
    assert costs[1] < 1.5 * costs[0]


def scores_of(connection: Connection, n: int) -> None:
    """So many scores of one measure, each of contents of its own."""
    row = (1, "of_answer", "m", 1, "higher", "m")
    columns = ["id", "kind", "spec", "version", "direction", "identity"]
    database.insert(connection, tables.measure, columns, [row])
    columns = ["measure_id", "prompt_id", "system_id", "image_id", "inputs", "value"]
    database.insert(connection, tables.score, columns, [(1, i, 0, i, i * 7919, 0.5) for i in range(1, n)])


def test_keys_are_looked_up_by_all_their_columns(large: Study) -> None:
    for table, by in LOOKED_UP:
        of = tables.metadata.tables[table]
        key = tuple("x" if isinstance(of.c[name].type, String) else 1 for name in by)
        with planned(large) as plans, database.reading(large.engine) as connection:
            database.look_up(connection, of, by, [key], [])
        told = "".join(plans[-1].lines)
        if large.engine.dialect.name == "sqlite":
            assert all(name + "=?" in told or "rowid=?" in told for name in by), told
        else:
            assert table not in plans[-1].scanned or table not in LARGE, told


def test_the_items_of_a_round_are_deleted_without_a_search_for_each(tmp_path: Path) -> None:
    """500 and 2,000 items: were the others gone through for each, it would cost sixteen times as much."""
    costs = []
    for n in (500, 2_000):
        with create_study(tmp_path / str(n)) as study:
            with database.writing(study.engine) as connection:
                row = {"id": 1, "name": "r", "mode": "m", "questions": "[]", "settings": "{}", "seed": 1}
                database.insert_one(connection, tables.round, {**row, "state": "open", "at": ""})
                columns = ["id", "round_id", "ordinal", "kind", "again_of", "wanted", "given", "done"]
                items = [(i, 1, i, "work", None, 1, 0, 0) for i in range(1, n)]
                database.insert(connection, tables.round_item, columns, items)

            def delete(study: Study = study) -> None:
                with database.writing(study.engine) as connection:
                    database.execute(connection, "DELETE FROM round_item WHERE round_id = :r", {"r": 1})

            costs.append(steps(study, delete))
    assert costs[1] < 6 * costs[0]
