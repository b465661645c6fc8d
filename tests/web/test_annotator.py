"""The addresses of the annotator's page, over a real server."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sightline.judging.store import rounds
from sightline.study.schema import database
from sightline.web import state

GRID = '[annotate.r]\nmode = "graded_relevance"\nreference = "photos"\nper_item = 2\nsession_pages = 4\n'
SINGLE = '[annotate.r]\nmode = "yes_no"\nper_item = 1\n'


def test_a_page_is_answered_and_counted(ann_at: Any) -> None:
    server, ann = ann_at(GRID)
    task = ann.get("/api/task")
    assert task["layout"] == "grid" and [label["key"] for label in task["questions"][0]["labels"]] == list(
        "1234"
    )
    work = ann.work()
    # Handed out ahead, but never beyond the session.
    assert len(work["pages"]) == 4 and work["progress"]["state"] == "open"
    page = work["pages"][0]
    assert page["prompt"].startswith("picture of") and len(page["slots"]) == 5
    receipts = ann.answer_page(page, 2)
    assert {each["status"] for each in receipts["receipts"]} == {"stored"}
    assert receipts["progress"]["pages_done"] == 1
    rows = server.answers()
    assert (
        len(rows) == 5
        and {row["value"] for row in rows} == {2.0}
        and sum(row["control"] for row in rows) == 1
    )


def test_the_same_answer_sent_twice_is_kept_once(ann_at: Any) -> None:
    server, ann = ann_at(SINGLE)
    page = ann.work()["pages"][0]
    told = {"key": "a-key-of-my-own-1", "page": page["page"], "slot": 0, "question": "match", "value": 1}
    first, second = ann.send(told), ann.send(told)
    assert [first["receipts"][0]["status"], second["receipts"][0]["status"]] == ["stored", "known"]
    both = ann.send({**told, "key": "a-key-of-my-own-2"}, {**told, "key": "a-key-of-my-own-2"})
    assert [each["status"] for each in both["receipts"]] == ["stored", "known"]
    assert [row["revision"] for row in server.answers()] == [0, 1]


def test_a_changed_mind_is_a_new_record_and_the_page_shows_the_latest(ann_at: Any) -> None:
    server, ann = ann_at(SINGLE)
    page = ann.work()["pages"][0]
    for value in (1, 0):
        ann.answer_page(page, value)
    assert [row["value"] for row in server.answers()] == [1.0, 0.0]
    (past,) = ann.get("/api/pages?last=5")["pages"]
    assert past["page"] == page["page"] and past["state"] == "done"
    assert past["slots"][0]["given"] == [{"question": "match", "value": 0.0, "skipped": None}]


def test_what_is_refused_is_not_kept(ann_at: Any) -> None:
    server, ann = ann_at(SINGLE)
    page = ann.work()["pages"][0]
    right = {"page": page["page"], "slot": 0, "question": "match", "value": 1}
    wrong: list[dict[str, Any]] = [
        {**right, "value": 7},
        {**right, "value": 0.5},
        {**right, "slot": 3},
        {**right, "question": "beauty"},
        {**right, "page": "0" * 32},
        {**right, "value": None},
        {**right, "skipped": "both"},
        {**right, "value": None, "skipped": "   "},
    ]
    found = ann.send(*wrong)["receipts"]
    assert [each["status"] for each in found] == ["refused"] * len(wrong) and all(
        each["reason"] for each in found
    )
    assert server.answers() == []


def test_a_skipped_page_goes_to_somebody_else(live: Any, client: Any) -> None:
    server = live(SINGLE, prompts=1, images=1)
    ann, bob = client(server.invite("ann")), client(server.invite("bob"))
    pages = ann.work()["pages"]
    assert len(pages) == 2 and bob.work()["progress"]["state"] == "finished"
    ann.answer_page(pages[0], None, skipped="I cannot tell")
    left = bob.work()["pages"]
    assert len(left) == 1 and left[0]["page"] != pages[0]["page"]
    bob.answer_page(left[0], 1)
    # The place is taken: who changes their mind now would be one more than was asked for.
    (receipt,) = ann.answer_page(pages[0], 1)["receipts"]
    assert receipt["status"] == "refused" and "others have judged it" in receipt["reason"]
    assert [row["value"] for row in server.answers()] == [None, 1.0]
    assert server.rows("SELECT max(given) AS given, max(done) AS done FROM round_item") == [
        {"given": 1, "done": 1}
    ]


def test_everybody_judges_an_item_once_and_what_was_begun_is_finished_first(live: Any, client: Any) -> None:
    server = live('[annotate.r]\nmode = "yes_no"\nper_item = 2\nahead = 1\nsession_pages = 1000\n', prompts=3)
    people = [client(server.invite(name)) for name in ("ann", "bob", "cat")]
    done = 0
    for turn in range(100):
        work = people[turn % 3].work()
        if not work["pages"]:
            continue
        people[turn % 3].answer_page(work["pages"][0], 1)
        done += 1
        judged = Counter(row["item_id"] for row in server.answers())
        # Each of the three has at most one item at hand; whatever else was begun has both its judgements.
        assert max(judged.values()) <= 2 and list(judged.values()).count(1) <= 3
    assert done == 24 and len(judged) == 12
    pairs = Counter((row["annotator"], row["item_id"]) for row in server.answers())
    assert set(pairs.values()) == {1}


def test_a_session_ends_with_a_rest(ann_at: Any) -> None:
    _, ann = ann_at(SINGLE + "session_pages = 3\nrest_minutes = 30\n")
    for page in ann.work()["pages"]:
        ann.answer_page(page, 1)
    work = ann.work()
    assert (
        work["pages"] == []
        and work["progress"]["state"] == "rest"
        and work["progress"]["rest_until"] > "2026"
    )
    assert (work["progress"]["session_done"], work["progress"]["session_pages"]) == (3, 3)


def test_paused_rounds_hand_out_nothing_but_keep_answers(ann_at: Any) -> None:
    server, ann = ann_at(SINGLE)
    page = ann.work()["pages"][0]
    rounds.set_state(server.study, "r", "paused")
    server.app.app.state.sightline.forget()
    assert ann.work()["progress"]["state"] == "paused" and ann.work()["pages"] == []
    assert ann.answer_page(page, 1)["receipts"][0]["status"] == "stored"


def test_controls_come_at_their_rate_and_look_like_the_rest(ann_at: Any) -> None:
    server, ann = ann_at(
        '[annotate.r]\nmode = "binary_relevance"\nper_item = 1\nahead = 40\nsession_pages = 100\n'
        '[annotate.r.controls]\npages = 1\nof = 4\ntag = "control"\n',
        prompts=9,
        images=1,
    )
    pages = ann.work()["pages"]
    for page in pages:
        ann.answer_page(page, 1)
    by_page = {row["task_id"]: row["control"] for row in server.answers()}
    flags = [flag for _, flag in sorted(by_page.items())]
    assert sum(flags[:4]) == 1, "one page of the first four is a control"
    assert len({tuple(sorted(page)) for page in pages}) == 1
    assert len({tuple(sorted(slot)) for page in pages for slot in page["slots"]}) == 1


def test_swapped_answers_are_kept_as_what_was_meant(ann_at: Any) -> None:
    server, ann = ann_at(
        '[annotate.r]\nmode = "preference"\nper_item = 1\nahead = 40\npairs = 4\n', prompts=6
    )
    pages = ann.work()["pages"]
    for page in pages:
        ann.answer_page(page, 1)
    kept = [row["value"] for row in server.answers()]
    # Always the right one: kept as B about half of the time, since B stands right about half of the time.
    assert 0 < sum(kept) < len(kept)
    past = ann.get("/api/pages?last=100")["pages"]
    assert {given["value"] for page in past for slot in page["slots"] for given in slot["given"]} == {1.0}


def test_repeats_are_asked_for_and_are_occasions(ann_at: Any) -> None:
    server, ann = ann_at(
        '[annotate.r]\nmode = "yes_no"\nper_item = 1\nahead = 1\nsession_pages = 1000\nrepeat = 0.3\n',
        prompts=12,
    )
    for _ in range(200):
        pages = ann.work()["pages"]
        if not pages:
            break
        ann.answer_page(pages[0], 1)
    seen = Counter(row["item_id"] for row in server.answers())
    again = [row for row in server.answers() if row["repetition"] == 1]
    assert len(seen) == 48 and 4 <= len(again) <= 24 and max(seen.values()) == 2


def test_receipts_bring_the_next_pages_so_that_nobody_need_ask(ann_at: Any) -> None:
    server, ann = ann_at(SINGLE)
    waiting, seen = ann.work()["pages"], []
    while waiting:
        page = waiting.pop(0)
        seen.append(page["page"])
        reply = ann.answer_page(page, 1)
        waiting += reply["pages"]
        assert [each["number"] for each in waiting] == list(
            range(len(seen) + 1, len(seen) + len(waiting) + 1)
        )
    assert reply["progress"]["state"] == "finished" and reply["progress"]["pages_left"] == 0
    # Eight prompts, two systems, two images each.
    assert len(seen) == len(set(seen)) == 32 == len(server.answers())
    assert {row["revision"] for row in server.answers()} == {0}


def test_a_resend_brings_no_page_twice(ann_at: Any) -> None:
    _, ann = ann_at(SINGLE)
    page = ann.work()["pages"][0]
    answer = {"key": "a-key-of-my-own-1", "page": page["page"], "slot": 0, "question": "match", "value": 1}
    assert [len(ann.send(answer)["pages"]) for _ in range(2)] == [1, 0]
    assert len(ann.work()["pages"]) == 5


def test_a_link_that_expires_while_somebody_judges_lets_them_in_no_more(
    ann_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, ann = ann_at(SINGLE)
    assert ann.http.get("/api/work").status_code == 200
    monkeypatch.setattr(state, "now", lambda: "2999-01-01T00:00:00Z")
    reply = ann.http.get("/api/work")
    assert reply.status_code == 401 and "was valid until" in reply.json()["error"]


def test_whoever_waits_too_long_for_the_writer_is_told_to_send_it_again(
    ann_at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    server, ann = ann_at(SINGLE)
    page = ann.work()["pages"][0]
    answer = {"key": "a-key-of-my-own-1", "page": page["page"], "slot": 0, "question": "match", "value": 1}
    monkeypatch.setattr(state, "PATIENCE", 0.5)
    with database.writing(server.study.engine):
        for reply in (ann.http.post("/api/answers", json={"answers": [answer]}), ann.http.get("/readyz")):
            assert (reply.status_code, reply.headers["retry-after"]) == (503, "2")
            assert str(server.study.home) not in reply.text
        assert ann.http.get("/healthz").status_code == 200
    monkeypatch.setattr(state, "PATIENCE", 60.0)
    assert ann.http.get("/readyz").json() == {"ok": True}
    # Given up by whoever asked, it may have been stored all the same: then the resend is known.
    assert ann.send(answer)["receipts"][0]["status"] in ("stored", "known")
    assert [row["revision"] for row in server.answers()] == [0]
