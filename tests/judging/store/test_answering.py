"""Pages and answers on both databases, without a server."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import wait
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from sightline.errors import ConflictError, StudyError, UsageError
from sightline.judging import assignment, oversee
from sightline.judging.store import answering, rounds, tokens
from sightline.judging.store import tasks as pages
from sightline.judging.store.answering import SubmittedAnswer as Sent
from sightline.judging.store.rounds import NewItem, NewSlot, Round
from sightline.records import AnnotatorKey as Who
from sightline.records import Answer, Image, ImageKey, Item, Judgement, Prompt, PromptKey, Question, Record
from sightline.study.schema import database
from sightline.study.schema.committing import Committer
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import Loaded

Put = Callable[..., Loaded]
ASKED = Question("match", "nominal", 0, 1, 1, {"1": "yes", "0": "no"}, "Does it match?")
SETTINGS: dict[str, Any] = {
    "per_item": 2, "session_pages": 50, "rest_minutes": 5, "ahead": 3, "hold_hours": 1, "repeat": 0,
    "controls": {"pages": 0, "of": 5},
}  # fmt: skip
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def round_(study: Study, put: Put) -> Round:
    """Six images of one prompt, one an item."""
    key = PromptKey("s", "1")
    records: list[Record] = [Prompt(key, "a dog")]
    for number in range(6):
        image = ImageKey("c", f"{number}.png")
        records += [Image(image), Answer(key, "sd", number, image)]
    put(study, records)
    items = [NewItem("work", [NewSlot((1, 0, number, 0, 0))]) for number in range(1, 7)]
    return rounds.open_round(study, "r", "yes_no", [ASKED], SETTINGS, 7, items)


def person(study: Study, name: str) -> int:
    with database.writing(study.engine) as connection:
        return tokens.annotator(connection, name)


def hand(study: Study, round_: Round, who: int, at: datetime = NOON) -> list[pages.Task]:
    with database.writing(study.engine) as connection:
        return list(assignment.assign(connection, round_, who, "annotator", at).tasks)


def tell(study: Study, round_: Round, who: int, *answers: Sent) -> list[str]:
    with database.writing(study.engine) as connection:
        found = answering.record_answers(connection, round_, who, answers, "2026-05-01T12:00:00Z")
    return [each.status for each in found]


def sent(key: str, page: pages.Task, value: float = 1.0, slot: int = 0) -> Sent:
    return Sent(key, page.key, slot, "match", value, None, None)


def said(number: int) -> Judgement:
    """That ann finds an image to match, as a table says it."""
    item = Item(PromptKey("s", "1"), image=ImageKey("c", f"{number}.png"))
    return Judgement("match", item, 1.0, Who("people", "ann"))


def rows(study: Study, query: str) -> list[tuple[Any, ...]]:
    with database.reading(study.engine) as connection:
        return database.fetch(connection, query)


def counts(study: Study) -> list[tuple[int, int]]:
    return [(given, done) for given, done in rows(study, "SELECT given, done FROM round_item ORDER BY id")]


def test_handing_out_counts_what_is_given_and_done(study: Study, round_: Round) -> None:
    ann = person(study, "ann")
    got = hand(study, round_, ann)
    assert len(got) == 3 and sorted(counts(study)) == [(0, 0)] * 3 + [(1, 0)] * 3
    assert hand(study, round_, ann) == got, "asking again gives the same pages"
    assert tell(study, round_, ann, Sent("k1", got[0].key, 0, "match", 1.0, None, 900)) == ["stored"]
    assert sorted(counts(study)) == [(0, 0)] * 3 + [(1, 0)] * 2 + [(1, 1)]
    assert [page.ordinal for page in hand(study, round_, ann)] == [1, 2, 3]


def test_somebody_elses_page_does_not_exist(study: Study, round_: Round) -> None:
    ann, bob = person(study, "ann"), person(study, "bob")
    (page, *_) = hand(study, round_, ann)
    assert tell(study, round_, bob, sent("k", page)) == ["refused"]
    assert tell(study, round_, ann, sent("k", page)) == ["stored"]


def test_a_key_stands_for_one_annotators_answer_only(study: Study, round_: Round) -> None:
    ann, bob = person(study, "ann"), person(study, "bob")
    mine, theirs = hand(study, round_, ann)[0], hand(study, round_, bob)[0]
    for who, page in ((ann, mine), (bob, theirs)):
        assert tell(study, round_, who, sent("same", page)) == ["stored"]
        assert tell(study, round_, who, sent("same", page, 0.0)) == ["known"]


def test_pages_left_lying_go_to_others_and_still_count_when_answered(study: Study, round_: Round) -> None:
    ann, bob = person(study, "ann"), person(study, "bob")
    left = hand(study, round_, ann)
    hand(study, round_, bob, NOON + timedelta(hours=2))
    assert sum(given for given, _ in counts(study)) == 3, "ann's pages do not hold their items any more"
    assert tell(study, round_, ann, sent("k", left[0])) == ["stored"]
    assert sum(given for given, _ in counts(study)) == 4 and sum(done for _, done in counts(study)) == 1


def test_who_skipped_can_change_their_mind_while_there_is_a_place(study: Study, round_: Round) -> None:
    people = [person(study, name) for name in ("ann", "bob", "cat")]
    ann = people[0]
    skipped = hand(study, round_, ann)
    for number, page in enumerate(skipped):
        assert tell(study, round_, ann, Sent(f"s{number}", page.key, 0, "match", None, "no", 1)) == ["stored"]
    assert tell(study, round_, ann, sent("early", skipped[0])) == ["stored"], "nobody has it yet"
    for who in people[1:]:
        for number in range(6):
            for page in hand(study, round_, who):
                tell(study, round_, who, sent(f"k{number}-{page.key}", page))
    filled = sorted(counts(study))
    assert filled == [(2, 2)] * 6
    again = [sent(f"late{number}", page, 0.0) for number, page in enumerate(skipped[1:])]
    assert tell(study, round_, ann, *again) == ["refused", "refused"]
    assert tell(study, round_, ann, Sent("why", skipped[1].key, 0, "match", None, "too dark", 1)) == [
        "stored"
    ]
    assert tell(study, round_, ann, sent("mind", skipped[0], 0.0)) == ["stored"], (
        "a vote that counts is revised"
    )
    assert sorted(counts(study)) == filled


def test_an_answer_is_not_changed_without_end(study: Study, round_: Round) -> None:
    ann = person(study, "ann")
    first, second, _ = hand(study, round_, ann)
    many = [sent(f"k{number}", first, float(number % 2)) for number in range(answering.MOST_REVISIONS + 50)]
    statuses = tell(study, round_, ann, *many)
    assert statuses == ["stored"] * (answering.MOST_REVISIONS + 1) + ["refused"] * 49
    assert tell(study, round_, ann, sent("more", first), sent("other", second)) == ["refused", "stored"]
    assert rows(study, "SELECT count(*) FROM judgement") == [(answering.MOST_REVISIONS + 2,)]


def test_a_round_goes_on_with_what_may_change_and_refuses_the_rest(study: Study, round_: Round) -> None:
    changed = rounds.open_round(study, "r", "yes_no", [ASKED], {**SETTINGS, "per_item": 5, "ahead": 9}, 7, [])
    assert (changed.id, changed.settings["per_item"], changed.settings["ahead"]) == (round_.id, 5, 9)
    assert rows(study, "SELECT DISTINCT wanted FROM round_item") == [(5,)]
    controls = {**SETTINGS, "controls": {"pages": 1, "of": 5}}
    with pytest.raises(ConflictError, match="another controls"):
        rounds.open_round(study, "r", "yes_no", [ASKED], controls, 7, [])
    with pytest.raises(ConflictError, match="another mode"):
        rounds.open_round(study, "r", "two_sliders", [ASKED], SETTINGS, 7, [])
    with pytest.raises(UsageError, match="no round is called 'q'"):
        rounds.get_round(study, "q")


def test_imported_judgements_become_pages(study: Study, round_: Round, put: Put) -> None:
    put(study, [said(n) for n in range(2)], "j")
    with database.writing(study.engine) as connection:
        assert assignment.adopt(connection, round_, NOON) == 2
        assert assignment.adopt(connection, round_, NOON) == 0
    ann = person(study, "ann")
    with database.reading(study.engine) as connection:
        past = pages.past_tasks(connection, round_.id, ann, 100, 10)
        given = pages.given_answers(connection, past)
    assert len(past) == 2 and {each.value for each in given} == {1.0}
    # The other four are all that is left for ann, and revising an imported one is a revision.
    assert len(hand(study, round_, ann)) == 3
    assert tell(study, round_, ann, sent("k", past[0], 0.0)) == ["stored"]
    assert rows(study, "SELECT max(revision) FROM judgement") == [(1,)]


def test_jobs_that_wait_together_are_committed_together_and_fail_alone(study: Study, round_: Round) -> None:
    committer = Committer(study.engine)
    people = [person(study, f"p{number}") for number in range(8)]

    def give(who: int) -> Callable[[Any], Any]:
        return lambda connection: assignment.assign(connection, round_, who, "annotator", NOON)

    def broken(connection: Any) -> None:
        connection.execute(text("UPDATE round_item SET given = 99"))
        raise ValueError("not this one")

    futures = [committer.submit(give(who)) for who in people]
    bad = committer.submit(broken)
    futures += [committer.submit(give(who)) for who in people]
    wait([*futures, bad], 30)
    assert isinstance(bad.exception(), ValueError)
    # Two judgements an item and six items: twelve pages, however many asked.
    assert all(future.exception() is None for future in futures)
    assert [given for given, _ in counts(study)] == [2] * 6
    committer.close()
    with pytest.raises(Exception, match="being closed"):
        committer.submit(give(people[0]))


def test_two_servers_give_no_item_to_more_people_than_wanted(
    study: Study, round_: Round, address: str
) -> None:
    people = [person(study, f"p{number}") for number in range(8)]
    with open_study(address or study.home) as other:
        servers = [Committer(study.engine), Committer(other.engine)]

        def give(who: int) -> Callable[[Any], Any]:
            return lambda connection: assignment.assign(connection, round_, who, "annotator", NOON).tasks

        futures = [servers[n % 2].submit(give(who)) for n, who in enumerate(people)]
        tasks = [task for future in futures for task in future.result(60)]
        for server in servers:
            server.close()
    # Two judgements an item and six items, whoever was quicker.
    assert len(tasks) == 12 == len({task.id for task in tasks})
    assert counts(study) == [(2, 0)] * 6


def test_tokens_are_signed_expire_and_can_be_taken_back(study: Study, round_: Round) -> None:
    ann = person(study, "ann")
    key = tokens.signing_key(study)
    token, expires = tokens.issue_token(study, "annotator", 1, ann, round_.id)
    found = tokens.token_holder(study, key, token)
    assert isinstance(found, tokens.Holder) and (found.annotator_id, found.round_id) == (ann, round_.id)
    body, _, signature = token.partition(".")
    other = "BB" if signature.endswith("AA") else "AA"
    for forged in (f"{body}.{signature[:-2]}{other}", f"{body[:-2]}AA.{signature}", "", ".", "é.ü"):
        assert tokens.token_holder(study, key, forged) == "this link was not made here"
    assert isinstance(tokens.token_holder(study, b"another study", token), str)
    with database.writing(study.engine) as connection:
        connection.execute(text("UPDATE token SET expires = '2020-01-01T00:00:00Z'"))
    assert tokens.token_holder(study, key, token) == "this link was valid until 2020-01-01T00:00:00Z"
    with database.writing(study.engine) as connection:
        connection.execute(text("UPDATE token SET expires = :x"), {"x": expires})
        assert tokens.revoke(connection, ann, round_.id) == 1
    assert tokens.token_holder(study, key, token) == "this link was revoked"
    with pytest.raises(UsageError, match="cannot be valid"):
        tokens.issue_token(study, "owner", 0)


def test_the_owner_has_one_link_at_a_time_and_sessions_end(
    study: Study, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = tokens.signing_key(study)
    first, _ = tokens.issue_token(study, "owner", 1)
    session = tokens.start_session(key, first)
    assert isinstance(tokens.session_holder(study, key, session), tokens.Holder)
    second, _ = tokens.issue_token(study, "owner", 1)
    for token in (first, second):
        # A link is not a session, nor a session a link: whoever has the cookie has it for a few hours.
        assert isinstance(tokens.session_holder(study, key, token), str)
        assert isinstance(tokens.token_holder(study, key, tokens.start_session(key, token)), str)
    assert tokens.token_holder(study, key, first) == "this link was revoked"
    assert tokens.session_holder(study, key, session) == "this link was revoked"
    other = tokens.start_session(key, second)
    assert isinstance(tokens.session_holder(study, key, other), tokens.Holder)
    body, _, signature = other.rpartition(".")
    later = f"{body[:-1]}{(int(body[-1]) + 1) % 10}"
    for forged in (body, f"{later}.{signature}", "", "session", f"session.x.{signature}", "session..."):
        assert isinstance(tokens.session_holder(study, key, forged), str)
    monkeypatch.setattr(tokens, "SESSION_HOURS", -1)
    assert "open your link again" in str(tokens.session_holder(study, key, tokens.start_session(key, second)))
    with database.writing(study.engine) as connection:
        assert tokens.revoke_owner(connection) == 1
        assert tokens.revoke_owner(connection) == 0
    assert tokens.session_holder(study, key, other) == "this link was revoked"


def test_a_judgement_given_on_a_page_is_known_when_it_comes_by_import(
    study: Study, round_: Round, put: Put
) -> None:
    ann = person(study, "ann")
    page = hand(study, round_, ann)[0]
    tell(study, round_, ann, sent("k", page))
    told = said(page.slots[0].parts[0] - 1)
    assert put(study, [told], "same").counts.get("judgements", 0) == 0
    with pytest.raises(ConflictError):
        put(study, [told._replace(value=0.0)], "other")
    assert put(study, [told._replace(value=0.0, revision=1)], "revised").counts["judgements"] == 1


def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    with create_study(tmp_path / "s") as study:
        committer = Committer(study.engine)
        held = threading.Event()

        def first(connection: Any) -> None:
            held.wait(10)
            connection.execute(text("INSERT INTO setting (name, value) VALUES ('a', '1')"))

        def fills(connection: Any) -> None:
            pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
            connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 2}")
            for number in range(1000):
                told = {"name": f"b{number}", "value": "x" * 4000}
                connection.execute(text("INSERT INTO setting (name, value) VALUES (:name, :value)"), told)

        def last(connection: Any) -> None:
            connection.execute(text("INSERT INTO setting (name, value) VALUES ('c', '1')"))

        futures = {name: committer.submit(job) for name, job in (("a", first), ("b", fills), ("c", last))}
        held.set()
        wait(futures.values(), 30)
        committer.close()
        stored = {name for (name,) in rows(study, "SELECT name FROM setting")}
        assert isinstance(futures["b"].exception(), StudyError)
        for name, future in futures.items():
            assert (future.exception() is None) == (name in stored), f"{name}: {future.exception()!r}"


def test_a_second_round_on_the_same_images_counts_for_itself(study: Study, round_: Round) -> None:
    ann, bob = person(study, "ann"), person(study, "bob")
    items = [NewItem("work", [NewSlot((1, 0, number, 0, 0))]) for number in range(1, 7)]
    beauty = ASKED._replace(name="beauty")
    settings = {**SETTINGS, "per_item": 1, "ahead": 6}
    second = rounds.open_round(study, "r2", "yes_no", [beauty], settings, 3, items)
    for who, asked in ((round_, "match"), (second, "beauty")):
        for page in hand(study, who, ann):
            assert {slot.repetition for slot in page.slots} == {0}
            tell(study, who, ann, Sent(f"{asked}{page.key}", page.key, 0, asked, 1.0, None, None))
    assert hand(study, second, bob) == [], "ann has judged all of it"
    # The same question in a third round is another repetition, and its items count all the same.
    third = rounds.open_round(study, "r3", "yes_no", [ASKED], settings, 3, items)
    assert {slot.repetition for page in hand(study, third, ann) for slot in page.slots} == {0, 1}
    assert hand(study, third, bob) == []


def test_what_stands_twice_on_a_page_is_kept_twice(study: Study, round_: Round) -> None:
    same = NewSlot((1, 0, 1, 0, 0))
    twice = rounds.open_round(study, "twice", "yes_no", [ASKED], SETTINGS, 3, [NewItem("work", [same, same])])
    ann = person(study, "ann")
    (page,) = hand(study, twice, ann)
    told = [sent(f"k{slot}", page, float(slot), slot) for slot in (0, 1)]
    assert tell(study, twice, ann, *told) == ["stored", "stored"]
    assert rows(study, "SELECT repetition, revision FROM judgement ORDER BY slot") == [(0, 0), (1, 0)]


def test_pages_with_a_photo_seen_before_lapse_as_others_do(study: Study, round_: Round) -> None:
    photo = NewSlot((1, 0, 6, 0, 0), "reference", {"match": 1.0})
    items = [NewItem("work", [NewSlot((1, 0, n, 0, 0)), photo]) for n in range(1, 4)]
    shared = rounds.open_round(study, "shared", "yes_no", [ASKED], {**SETTINGS, "per_item": 1}, 3, items)
    ann, bob = person(study, "ann"), person(study, "bob")
    assert len(hand(study, shared, ann)) == 3
    assert len(hand(study, shared, bob, NOON + timedelta(hours=2))) == 3


def test_an_excluded_annotator_leaves_the_places_to_others(study: Study, round_: Round) -> None:
    rounds.open_round(study, "r", "yes_no", [ASKED], {**SETTINGS, "per_item": 1, "ahead": 6}, 7, [])
    one = rounds.get_round(study, "r")
    ann, bob = person(study, "ann"), person(study, "bob")
    for page in hand(study, one, ann):
        tell(study, one, ann, Sent(page.key, page.key, 0, "match", 1.0, None, 5))
    assert hand(study, one, bob) == []
    oversee.exclude(study, "ann", "too fast")
    assert counts(study) == [(0, 0)] * 6 and hand(study, one, ann) == []
    assert len(hand(study, one, bob)) == 6
    oversee.restore(study, "ann")
    assert counts(study) == [(2, 1)] * 6


def test_a_table_answers_pages_that_were_handed_out(study: Study, round_: Round, put: Put) -> None:
    ann = person(study, "ann")
    assigned = hand(study, round_, ann)
    put(study, [said(n) for n in range(6)], "j")
    with database.writing(study.engine) as connection:
        assignment.adopt(connection, round_, NOON)
    assert len(assigned) == 3 and counts(study) == [(1, 1)] * 6 and hand(study, round_, ann) == []
