"""No answer is lost or doubled, whatever happens to network, server, window or tab."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

YES_NO = '[annotate.r]\nmode = "yes_no"\nper_item = 1\n'
GRID = '[annotate.r]\nmode = "graded_relevance"\nreference = "photos"\nper_item = 1\n'
SLIDERS = '[annotate.r]\nmode = "two_sliders"\nper_item = 1\n'


def once_each(rows: list[dict[str, Any]]) -> bool:
    return set(Counter((row["task_id"], row["slot"], row["question"]) for row in rows).values()) == {1}


def test_answers_given_without_network_arrive_once_and_in_order(seated: Any) -> None:
    server, person = seated(YES_NO)
    person.go_offline()
    for key in ("y", "n", "y"):
        before = person.number()
        person.press(key)
        person.goes_on(before)
    assert person.waiting() == 3
    person.page.wait_for_function(
        "() => document.getElementById('keeping').textContent.includes('3 waiting')"
    )
    assert "No connection" in person.page.inner_text("#keeping")
    assert server.answers() == []
    # The images of pages fetched ahead are here as well.
    assert person.page.evaluate(
        "[...document.querySelectorAll('.thing img')].every(each => each.naturalWidth)"
    )
    person.context.set_offline(False)
    person.all_sent()
    rows = server.answers()
    assert sorted(row["value"] for row in rows) == [0, 1, 1] and once_each(rows)
    assert [row["task_id"] for row in rows] == sorted(row["task_id"] for row in rows)
    person.page.wait_for_selector("#keeping", state="hidden")


@pytest.mark.slow
def test_pages_run_out_without_network_and_it_goes_on_with_it(seated: Any) -> None:
    server, person = seated(YES_NO + "ahead = 2\n")
    person.go_offline()
    person.judge("y")
    person.press("y")
    person.page.wait_for_selector("#screen .waiting")
    person.context.set_offline(False)
    person.page.wait_for_selector("#things .thing:visible", timeout=60_000)
    person.all_sent()
    assert len(server.answers()) == 2


def test_a_closed_window_keeps_its_answers_until_it_is_opened_again(seated: Any) -> None:
    server, person = seated(GRID)
    link = server.links["ann"]
    person.go_offline()
    person.press(*"123")
    person.keeps(3)
    person.page.close()
    assert server.answers() == []
    person.context.set_offline(False)
    person.page = person.tab(link)
    person.all_sent()
    assert [row["value"] for row in server.answers()] == [2, 1, 0]
    # Nothing of it is asked again, nor shown as missing.
    assert person.chosen() == ["high relevance", "low relevance", "no relevance"]


def test_a_slider_moved_a_moment_before_closing_is_kept(seated: Any) -> None:
    server, person = seated(SLIDERS)
    link = server.links["ann"]
    person.press("3", "ArrowRight")
    person.page.close(run_before_unload=False)
    person.page = person.tab(link)
    person.all_sent()
    assert [(row["question"], row["value"]) for row in server.answers()] == [("quality", 3.1)]


@pytest.mark.parametrize("reply", ["lost", "busy"])
def test_what_has_no_receipt_is_sent_again_and_kept_once(seated: Any, reply: str) -> None:
    server, person = seated(YES_NO)
    asked = []

    def answer(route: Any) -> None:
        asked.append(1)
        if len(asked) > 2:
            route.continue_()
        elif reply == "lost":
            assert route.fetch().status == 200
            route.abort()
        else:
            route.fulfill(status=503, json={"error": "busy", "remedy": ""})

    person.page.route("**/api/answers", answer)
    person.judge("y")
    person.all_sent()
    assert len(asked) > 2 and [row["value"] for row in server.answers()] == [1]


def test_a_refused_answer_is_shown_and_holds_up_nothing(seated: Any) -> None:
    server, person = seated(GRID)
    page = person.page
    # Kept by the browser from another day: one of a page that is no more, and one that no server accepts.
    prefix = page.evaluate("Object.keys(localStorage).find(key => key.endsWith('/read')).slice(0, -4)")
    for number, page_key in enumerate(("0" * 32, "not a page")):
        told = {"key": f"an-old-key-{number:08}", "page": page_key, "slot": 0, "question": "relevance"}
        page.evaluate(
            "([key, told]) => localStorage.setItem(key, JSON.stringify(told))",
            [f"{prefix}answer/00000000000000{number}/{told['key']}", {**told, "value": 1}],
        )
    person.press("1", "2")
    person.all_sent()
    assert [row["value"] for row in server.answers()] == [2, 1]
    page.wait_for_selector("#aside:not([hidden])")
    assert page.inner_text("#aside") == "2 answers were not accepted"
    page.click("#aside")
    assert "there is no such task" in page.inner_text("#refused-list")
    page.click("#refused button[value=forget]")
    page.wait_for_selector("#aside", state="hidden")


def test_two_tabs_share_the_work_without_losing_or_doubling(seated: Any) -> None:
    server, person = seated(GRID)
    link = server.links["ann"]
    other = person.tab(link)
    person.context.set_offline(True)
    person.press("1")
    other.keyboard.press("ArrowRight")
    other.keyboard.press("2")
    # What is answered in one is known in the other.
    person.page.wait_for_function(
        "() => document.querySelectorAll('.choice[aria-pressed=true]').length === 2"
    )
    assert person.chosen() == ["high relevance", "low relevance"]
    person.press("ArrowRight", "3")
    person.context.set_offline(False)
    person.all_sent()
    rows = server.answers()
    assert {row["slot"]: row["value"] for row in rows} == {0: 2, 1: 1, 2: 0} and once_each(rows)


def test_somebody_else_in_the_same_browser_sends_only_their_own(live: Any, visit: Any) -> None:
    server = live(YES_NO)
    ann, ben = server.invite("ann"), server.invite("ben")
    person = visit(ann)
    person.go_offline()
    person.press("y")
    person.keeps(1)
    person.page.close()
    person.context.set_offline(False)
    person.page = person.tab(ben)
    sent: list[float] = []

    def heard(asked: Any) -> None:
        if asked.url.endswith("/api/answers"):
            sent.extend(answer["value"] for answer in asked.post_data_json["answers"])

    person.page.on("request", heard)
    person.begin()
    person.judge("n")
    person.page.wait_for_load_state("networkidle")
    # Ann's own window may send her answer while it closes; Ben's must not.
    assert sent == [0]
    assert [row["value"] for row in server.answers() if row["annotator"] == "ben"] == [0]
    person.page.close()
    person.page = person.tab(ann)
    person.all_sent()
    assert sorted((row["annotator"], row["value"]) for row in server.answers()) == [("ann", 1), ("ben", 0)]


def test_work_goes_on_in_another_browser_where_it_ended(live: Any, visit: Any) -> None:
    server = live(GRID)
    link = server.invite("ann")
    one = visit(link)
    before = one.number()
    one.press(*"11111", "Enter")
    one.goes_on(before)
    prompt = one.page.inner_text("#prompt")
    one.press(*"23")
    one.all_sent()
    two = visit(link)
    assert two.page.inner_text("#prompt") == prompt
    assert two.chosen() == ["low relevance", "no relevance"]
    assert two.page.inner_text("#session").startswith("1 of ")
    two.press(*"123", "Enter")
    two.all_sent()
    assert once_each(server.answers()) and len(server.answers()) == 10


def test_a_link_that_was_taken_back_keeps_the_answers_and_says_why(seated: Any) -> None:
    from sightline.judging import oversee

    server, person = seated(YES_NO)
    link = server.links["ann"]
    person.page.wait_for_load_state("networkidle")
    oversee.revoke(server.study, "r", "ann")
    person.page.wait_for_timeout(2_500)
    person.press("y")
    person.page.wait_for_function("() => document.getElementById('keeping').textContent.includes('revoked')")
    assert person.waiting() == 1 and server.answers() == []
    # The page for a link that lets nobody in is a calm one.
    person.page.goto(link)
    assert "revoked" in person.page.inner_text("main")
    person.page.close()
    person.page = person.tab(server.invite("ann"))
    person.all_sent()
    assert [row["value"] for row in server.answers()] == [1]


def test_over_plain_http_keys_come_from_random_bytes(seated: Any) -> None:
    server, person = seated(YES_NO)
    # Browsers offer randomUUID only over https and on the loopback.
    person.page.evaluate("Object.defineProperty(crypto, 'randomUUID', { value: undefined })")
    person.judge("y")
    person.all_sent()
    assert len(server.answers()) == 1
