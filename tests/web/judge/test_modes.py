"""Every mode by the keyboard alone, and what every page can do."""

from __future__ import annotations

from typing import Any

import pytest


def settings(mode: str, more: str = "") -> str:
    photo = 'reference = "photos"\n' if mode.startswith("graded_relevance") else ""
    return f'[annotate.r]\nmode = "{mode}"\nper_item = 1\n{photo}{more}'


# Mode, keys of the first page, keys that change the last answer of it, answers shown before and after.
ONE_A_LAYOUT = ("graded_relevance", "two_sliders", "yes_no", "two_afc", "preference", "order")
RIGHT = "ArrowRight"
FOUR = tuple(f"system-{letter}" for letter in "abcd")
MODES: list[tuple[str, list[str], list[str], list[float], list[float]]] = [
    ("graded_relevance", [*"12341", "Enter"], [RIGHT] * 4 + ["3"], [2, 1, 0, -1, 2], [2, 1, 0, -1, 0]),
    ("binary_relevance(images=4)", [*"riir", "Enter"], [RIGHT] * 3 + ["2"], [1, 0, 0, 1], [1, 0, 0, 0]),
    (
        "ternary_relevance(images=4)",
        [*"riui", "Enter"],
        [RIGHT] * 3 + ["u"],
        [1, 0, 0.5, 0],
        [1, 0, 0.5, 0.5],
    ),
    ("two_sliders", ["4", "ArrowRight", "Enter", "2", "Enter"], ["ArrowDown", "5"], [4.1, 2], [4.1, 5]),
    ("yes_no", ["y"], ["n"], [1], [0]),
    ("two_afc", ["a"], ["b"], [1], [0]),
    ("similarity_rating", ["4"], ["5"], [4], [5]),
    ("preference", ["b"], ["a"], [1], [0]),
    ("preference(tie=True)", ["t"], ["1"], [0.5], [0]),
    ("preference(both_bad=True)", ["n"], ["a"], [None], [0]),
    ("order", [*"2141", "Enter"], [RIGHT] * 3 + ["3"], [2, 1, 4, 1], [2, 1, 4, 3]),
]


@pytest.mark.parametrize(
    ("mode", "keys", "change", "first", "then"),
    [
        pytest.param(*mode, id=mode[0], marks=[] if mode[0] in ONE_A_LAYOUT else pytest.mark.slow)
        for mode in MODES
    ],
)
def test_a_page_by_keyboard_alone_and_changed_after_going_back(
    seated: Any, client: Any, mode: str, keys: Any, change: Any, first: Any, then: Any
) -> None:
    more = {"systems": FOUR} if mode == "order" else {}
    server, person = seated(settings(mode), images=3 if mode == "two_afc" else 2, **more)
    link = server.links["ann"]
    person.judge(*keys)
    person.all_sent()
    assert shown(client(link)) == first
    person.judge("PageUp")
    person.press(*change)
    server.arrived(len(first) + 1)
    person.all_sent()
    assert shown(client(link)) == then
    rows = server.answers()
    # Nothing but the one answer was given again, and as a revision of it.
    assert len(rows) == len(first) + 1
    assert [row["revision"] for row in rows] == [0] * len(first) + [1]
    assert all(0 < row["took_ms"] < 60_000 for row in rows)


def shown(annotator: Any) -> list[float]:
    """The answers to the first page as its annotator sees them: A is what was shown as A."""
    page = annotator.get("/api/pages?last=1")["pages"][0]
    return [given["value"] for slot in page["slots"] for given in slot["given"]]


def test_instructions_come_first_once_and_again_when_asked_for(live: Any, visit: Any) -> None:
    server = live(settings("graded_relevance"))
    person = visit(server.invite("ann"), begin=False)
    page = person.page
    assert page.is_visible("#instructions")
    assert page.inner_text("#examples").count("Answer:") == 4
    # They cover the page: its keys do nothing yet.
    person.press("1")
    assert person.waiting() == 0
    person.begin()
    person.press("?")
    assert page.is_visible("#instructions") and page.inner_text("#begin") == "Go on"
    person.press("Escape")
    page.reload()
    page.wait_for_selector("#things .thing")
    page.wait_for_timeout(200)
    assert not page.is_visible("#instructions")


@pytest.mark.parametrize("keys", [["u"], ["Control+z"]])
def test_the_last_answer_is_taken_back_and_changed(seated: Any, client: Any, keys: list[str]) -> None:
    server, person = seated(settings("yes_no"))
    link = server.links["ann"]
    first = person.number()
    person.press("y")
    person.goes_on(first)
    second = person.number()
    person.press(*keys)
    person.page.wait_for_function("() => document.querySelector('.choice[aria-pressed=true]')")
    assert person.chosen() == ["yes"]
    person.says("until then “yes” stands")
    person.press("n")
    # It goes on where it was, and not to a third page.
    person.page.wait_for_function("() => !document.querySelector('.choice[aria-pressed=true]')")
    assert person.number() == second
    person.all_sent()
    assert [row["value"] for row in server.answers()] == [1, 0]
    assert shown(client(link)) == [0]


def test_taking_back_goes_from_answer_to_answer(seated: Any) -> None:
    _, person = seated(settings("graded_relevance"))
    person.press(*"123")
    active = "[...document.querySelectorAll('.thing')].findIndex(thing => thing.matches('.active'))"
    assert person.page.evaluate(active) == 3
    person.press("u")
    assert person.page.evaluate(active) == 2
    person.press("u")
    assert person.page.evaluate(active) == 1
    person.press("1")
    assert person.chosen() == ["high relevance", "high relevance", "no relevance"]


def test_u_is_unsure_where_the_mode_says_so(live: Any, visit: Any) -> None:
    server = live(settings("ternary_relevance(images=3)"))
    person = visit(server.invite("ann"))
    person.press("r", "u")
    assert person.chosen() == ["relevant", "unsure"]
    person.press("Control+z", "i")
    assert person.chosen() == ["relevant", "irrelevant"]
    assert "undo" in person.page.inner_text("#undo").lower()


def test_arrows_move_between_images_and_enter_says_what_is_missing(seated: Any) -> None:
    _, person = seated(settings("graded_relevance"))
    person.press("ArrowRight", "ArrowRight", "1")
    assert person.page.evaluate(
        "[...document.querySelectorAll('.thing')].map(thing => thing.matches('.done'))"
    ) == [False, False, True, False, False]
    before = person.number()
    person.press("Enter")
    person.says("4 answers are still missing")
    assert person.number() == before
    assert person.page.get_attribute("#next", "aria-disabled") == "true"


def test_a_slider_counts_only_once_it_was_touched(seated: Any) -> None:
    server, person = seated(settings("two_sliders"))
    page = person.page
    assert page.evaluate("[...document.querySelectorAll('output')].map(each => each.textContent)") == ["", ""]
    assert page.get_attribute("input[type=range] >> nth=0", "aria-valuetext") == "not answered yet"
    person.press("Enter")
    person.says("2 answers are still missing")
    # Exactly in the middle, where an untouched slider stands unseen.
    page.click("input[type=range] >> nth=1")
    assert [(row["question"], row["value"]) for row in server.arrived(1)] == [("alignment", 2.5)]
    page.focus("input[type=range] >> nth=0")
    person.press("ArrowRight", "ArrowLeft", "ArrowLeft", "Shift+ArrowLeft")
    assert page.inner_text("output >> nth=0") == "1.3"
    person.judge("Enter")
    person.all_sent()
    # Only where it came to rest is an answer: 2.5 - 0.1 - 0.1 - 1.
    assert [row["value"] for row in server.answers()] == [2.5, 1.3]


def test_a_page_is_skipped_with_a_reason_and_judged_after_all(seated: Any) -> None:
    server, person = seated(
        settings("graded_relevance", 'skip_reasons = ["it does not load", "not my language"]\n')
    )
    before = person.number()
    person.press("1", "s")
    assert person.page.is_visible("#skip")
    person.press("Escape")
    person.page.wait_for_selector("#skip", state="hidden")
    assert person.number() == before
    person.press("s", "ArrowDown", "Enter")
    person.goes_on(before)
    person.all_sent()
    rows = server.answers()
    assert [row["value"] for row in rows] == [2, None, None, None, None]
    assert {row["skipped"] for row in rows[1:]} == {"not my language"}
    second = person.number()
    person.press("s")
    person.page.fill("#skip-text", "the <b>third</b> is all black")
    person.press("Enter")
    person.goes_on(second)
    person.all_sent()
    assert {row["skipped"] for row in server.answers()[5:]} == {"the <b>third</b> is all black"}
    person.press("PageUp")
    person.page.wait_for_selector("#skipped:not([hidden])")
    assert person.page.inner_text("#skipped-why") == "the <b>third</b> is all black"
    person.press("2")
    person.all_sent()
    assert server.answers()[-1]["value"] == 1


def test_an_image_is_enlarged_moved_and_answered_there(seated: Any) -> None:
    server, person = seated(settings("two_afc"), images=3)
    page = person.page
    person.press("z")
    assert page.is_visible("#zoom") and page.inner_text("#zoom-name") == "Reference"
    # 740 of 800 pixels are there for 96: each is shown as 7 x 7. 7 x 1.4 x 1.4 = 13.72.
    page.wait_for_function("() => document.getElementById('zoom-size').textContent === '700 %'")
    person.press("+", "+")
    assert page.inner_text("#zoom-size") == "1372 %"
    transform = "document.getElementById('zoom-frame').style.transform"
    still = page.evaluate(transform)
    person.press("ArrowRight")
    assert page.evaluate(transform) != still
    moved = page.evaluate(transform)
    page.mouse.move(600, 400)
    page.mouse.down()
    page.mouse.move(640, 420)
    page.mouse.up()
    assert page.evaluate(transform) != moved
    person.press("-", "-", "ArrowRight")
    assert page.inner_text("#zoom-name") == "A"
    person.press("Escape")
    assert not page.is_visible("#zoom")
    person.press("Space")
    assert page.is_visible("#zoom")
    person.press("Space")
    assert not page.is_visible("#zoom")
    person.press("z")
    person.judge("b")
    assert not page.is_visible("#zoom")
    person.all_sent()
    assert len(server.answers()) == 1


def test_an_order_by_touch_on_a_phone(live: Any, visit: Any) -> None:
    server = live(settings("order"), images=1, systems=FOUR)
    person = visit(
        server.invite("ann"), viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True
    )
    page = person.page
    # Two next to each other, and nothing wider than the screen.
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".thing").count() == 4 and page.locator(".thing >> nth=0 >> .choice").count() == 4
    sides = page.evaluate(
        "[...document.querySelectorAll('.choice')].map(each => each.getBoundingClientRect().height)"
    )
    assert min(sides) >= 44

    def tap(image: int, place: int) -> None:
        page.tap(f".thing >> nth={image} >> .choice >> nth={place - 1}")

    tap(2, 1)
    tap(0, 3)
    tap(1, 3)
    # The best first, those that share a place together, and an empty place for the fourth.
    small = "[...document.querySelectorAll('#order .place')].map(each => each.querySelectorAll('img').length)"
    assert page.evaluate(small) == [1, 2, 0]
    alts = "[...document.querySelectorAll('#order img')].map(each => each.alt)"
    assert page.evaluate(alts) == ["Image C", "Image A", "Image B"]
    page.tap("#next", force=True)
    person.says("1 answer is still missing")
    tap(3, 2)
    assert page.evaluate(alts) == ["Image C", "Image D", "Image A", "Image B"]
    before = person.number()
    page.tap("#next")
    person.goes_on(before)
    person.all_sent()
    rows = server.rows("SELECT slot, value, group_name FROM judgement ORDER BY slot")
    assert [row["value"] for row in rows] == [3, 3, 1, 2]
    assert len({row["group_name"] for row in rows}) == 1
    from sightline.study import rollup

    votes = rollup.order_votes(server.study, "order")
    assert votes["rank"].to_list() == [1, 2, 3, 3] and set(votes["system"]) == set(FOUR)


def test_images_to_order_are_leafed_through_and_placed_enlarged(seated: Any) -> None:
    _, person = seated(settings("order"), images=1, systems=FOUR)
    page = person.page
    person.press("z")
    assert page.inner_text("#zoom-name") == "Image A"
    person.press("ArrowRight", "ArrowRight")
    assert page.inner_text("#zoom-name") == "Image C"
    person.press("1")
    assert not page.is_visible("#zoom")
    labels = "[...document.querySelectorAll('.thing')].map(each => each.getAttribute('aria-label'))"
    assert page.evaluate(labels) == [
        *("Image A: not answered", "Image B: not answered", "Image C: place 1", "Image D: not answered")
    ]
    # A place that is taken is marked on the others, and can be shared.
    taken = "[...document.querySelectorAll('.taken')].map(each => each.textContent)"
    assert page.evaluate(taken) == ["1", "1", "1"]
    person.press("u")
    person.says("until then “1” stands")
    person.press("2")
    assert page.evaluate(labels)[2] == "Image C: place 2"


def test_simpler_prompts_open_beside(seated: Any) -> None:
    _, person = seated(settings("yes_no"))
    page = person.page
    for _ in range(30):
        if page.is_visible("#show-linked"):
            break
        before = person.number()
        person.press("l")
        person.says("builds on no other")
        person.press("y")
        person.goes_on(before)
    person.press("l")
    page.wait_for_selector("#linked h3")
    assert page.inner_text("#linked h3") == "picture of 0 things"
    assert page.locator("#linked img").count() == 2
    page.wait_for_function(
        "() => [...document.querySelectorAll('#linked img')].every(each => each.naturalWidth > 0)"
    )
    person.press("l")
    assert not page.is_visible("#linked")


def test_the_next_pages_images_are_there_before_they_are_wanted(seated: Any) -> None:
    _, person = seated(settings("graded_relevance"))
    person.page.wait_for_load_state("networkidle")
    asked: list[str] = []
    person.page.on("request", lambda request: asked.append(request.url))
    person.judge(*"11111", "Enter")
    person.page.wait_for_function(
        "() => [...document.querySelectorAll('.thing img')].every(image => image.naturalWidth > 0)"
    )
    held = person.page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    assert len({url for url in held if "/api/images/" in url}) >= 10
    # None of what is now in view was asked for when it came into view.
    assert sum("/api/images/" in url for url in asked) <= 5


def test_rest_and_thanks(seated: Any) -> None:
    server, person = seated(
        settings("yes_no", "session_pages = 2\nrest_minutes = 0.05\n"), prompts=1, images=1
    )
    person.judge("y")
    person.press("n")
    person.page.wait_for_selector("#screen .finished")
    assert "2 tasks" in person.page.inner_text("#screen")
    # Earlier pages stay within reach.
    person.press("PageUp")
    person.page.wait_for_selector(".choice[aria-pressed=true]")
    person.press("y")
    person.all_sent()
    assert [row["value"] for row in server.answers()][-1] == 1


@pytest.mark.slow
def test_a_rest_counts_down_and_ends_by_itself(seated: Any) -> None:
    _, person = seated(settings("yes_no", "session_pages = 1\nrest_minutes = 0.1\n"))
    person.press("y")
    person.page.wait_for_selector("#screen .rest")
    assert person.page.inner_text(".clock").startswith("0:0")
    person.page.wait_for_selector("#things .thing:visible", timeout=60_000)
    assert person.page.inner_text("#session") == "0 of 1 task"


@pytest.mark.slow
def test_a_pause_shows_and_ends(live: Any, visit: Any) -> None:
    from sightline.judging import oversee

    server = live(settings("yes_no"))
    oversee.pause(server.study, "r")
    person = visit(server.invite("ann"), begin=False)
    person.page.wait_for_selector("#screen .paused")
    oversee.resume(server.study, "r")
    person.begin()
    person.page.wait_for_selector("#things .thing:visible", timeout=60_000)
