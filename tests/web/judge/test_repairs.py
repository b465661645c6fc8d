"""The page by keys, small pictures and true scales, and what annotators note next to their answers."""

from __future__ import annotations

from typing import Any

import pytest

ALL = "comment = true\nflag = true\nregions = true\n"


def settings(mode: str, more: str = "") -> str:
    return f'[annotate.r]\nmode = "{mode}"\nper_item = 1\n{more}'


def test_keys_reach_every_slider_and_enter_goes_to_what_is_missing(seated: Any) -> None:
    server, person = seated(settings("two_sliders"))
    page = person.page
    outputs = "[...document.querySelectorAll('output')].map(each => each.textContent)"
    ranges = "[...document.querySelectorAll('input[type=range]')]"
    focused = f"{ranges}.findIndex(each => each === document.activeElement)"
    person.press("4")
    assert (page.evaluate(outputs), page.evaluate(focused)) == (["4.0", ""], 0)
    # Enter leads to the second, and says which it is; the message leaves with the answer.
    person.press("Enter")
    assert page.evaluate(focused) == 1
    person.says("1 answer is still missing here: How well does it show the text?")
    person.press("2", "ArrowRight")
    page.wait_for_function("() => document.getElementById('said').textContent === ''")
    assert page.evaluate(outputs) == ["4.0", "2.1"]
    # Up and down lead from one to the other and move neither.
    person.press("ArrowUp")
    assert (page.evaluate(focused), page.evaluate(outputs)) == (0, ["4.0", "2.1"])
    person.press("ArrowDown", "ArrowLeft")
    assert (page.evaluate(focused), page.evaluate(outputs)) == (1, ["4.0", "2.0"])
    # Without the focus on any slider, an arrow reaches one.
    page.evaluate("document.activeElement.blur()")
    person.press("ArrowRight")
    assert page.evaluate(focused) >= 0
    person.judge("Enter")
    person.all_sent()
    assert {row["question"]: row["value"] for row in server.answers()} == {"quality": 4, "alignment": 2}
    person.press("?")
    keys = page.inner_text("#keys")
    assert "set the slider in focus" in keys and "go to the slider above or below" in keys
    assert "go to what is missing" in keys and "previous task" in keys


def test_page_up_and_down_lead_between_tasks_and_move_no_slider(seated: Any) -> None:
    server, person = seated(settings("two_sliders"))
    person.judge("3", "Enter", "3", "Enter")
    second = person.number()
    person.press("1")
    person.judge("PageUp")
    outputs = "[...document.querySelectorAll('output')].map(each => each.textContent)"
    assert person.page.evaluate(outputs) == ["3.0", "3.0"]
    person.press("PageDown")
    person.page.wait_for_function("() => document.querySelectorAll('output')[0].textContent === '1.0'")
    assert person.number() == second
    person.all_sent()
    assert [row["value"] for row in server.answers()] == [3, 3, 1]


def test_undoing_an_answer_is_not_going_back(seated: Any) -> None:
    _, person = seated(settings("yes_no"))
    page = person.page
    assert page.inner_text("#undo").split("\n") == ["↶", "Undo last answer"]
    assert page.inner_text("#back").split("\n") == ["←", "Previous task"]
    sides = page.evaluate(
        "['back', 'undo'].map(id => document.getElementById(id).getBoundingClientRect().left)"
    )
    assert sides[0] < 640 < sides[1]
    # Nothing was answered here: undoing leads nowhere else.
    first = person.number()
    person.press("u")
    person.says("no answer to undo")
    assert person.number() == first
    person.press("y")
    person.goes_on(first)
    assert page.inner_text("#said") == ""


SHOWN = """() => {
  const image = document.querySelector('.thing .picture img');
  const { width, height } = image.getBoundingClientRect();
  return [width / image.naturalWidth, height / image.naturalHeight, getComputedStyle(image).imageRendering];
}"""


@pytest.mark.parametrize("ratio", [1, 2])
def test_small_pictures_are_enlarged_by_whole_numbers(live: Any, visit: Any, ratio: int) -> None:
    server = live(settings("yes_no"), side=40)
    person = visit(server.invite("ann"), device_scale_factor=ratio)
    page = person.page
    page.wait_for_selector(".picture.crisp")
    across, down, rendering = page.evaluate(SHOWN)
    # Each pixel of the image takes the same whole number of pixels of the screen.
    assert (across * ratio) % 1 == 0 and across == down and across * ratio >= 8 and rendering == "pixelated"
    page.set_viewport_size({"width": 700, "height": 500})
    page.wait_for_function(f"before => ({SHOWN})()[0] < before", arg=across)
    assert (page.evaluate(SHOWN)[0] * ratio) % 1 == 0
    person.press("z")
    page.wait_for_function("() => parseInt(document.getElementById('zoom-size').textContent) >= 400")
    size = int(page.inner_text("#zoom-size").removesuffix(" %"))
    width = page.evaluate("document.getElementById('zoom-image').getBoundingClientRect().width")
    assert size % 100 == 0 and width * ratio / 40 == pytest.approx(size / 100)


def test_large_pictures_fill_the_room_smoothly_and_zoom_says_their_scale(seated: Any) -> None:
    _, person = seated(settings("yes_no"), side=1000, prompts=1)
    page = person.page
    page.wait_for_function("() => document.querySelector('.thing .picture img').naturalWidth > 0")
    assert page.locator(".picture.crisp").count() == 0
    person.press("z")
    # 740 of the window's 800 pixels are there for 1000.
    page.wait_for_function("() => document.getElementById('zoom-size').textContent === '74 %'")
    person.press("+")
    assert page.inner_text("#zoom-size") == "104 %"
    person.press("+", "+", "+")
    assert page.inner_text("#zoom-size") == "284 %"
    assert page.locator("#zoom-frame.crisp").count() == 1
    person.press("0")
    assert page.inner_text("#zoom-size") == "74 %"


def test_no_rest_after_the_last_task(seated: Any) -> None:
    more = "session_pages = 2\nrest_minutes = 5\n"
    _, person = seated(settings("yes_no", more), prompts=1, images=1)
    person.judge("y")
    person.press("n")
    person.page.wait_for_selector("#screen .finished")
    assert "That was all" in person.page.inner_text("#screen")


def test_both_bad_is_offered_by_a_setting_in_every_mode_of_pairs(seated: Any) -> None:
    server, person = seated(settings("two_afc", "both_bad = true\n"), images=3)
    assert "neither is close" in person.page.inner_text(".choices")
    person.judge("n")
    person.all_sent()
    assert [(row["value"], row["skipped"]) for row in server.answers()] == [(None, "both_bad")]


def test_comment_flag_and_regions_are_kept_shown_again_and_removed(seated: Any, client: Any) -> None:
    server, person = seated(settings("preference", ALL))
    page = person.page
    person.press("c")
    page.fill("#note-text", "<b>hands</b> =1+1")
    page.click("#note-save")
    person.says("Your comment is kept.")
    person.press("f")
    page.click("#note-save")
    page.wait_for_function("() => document.getElementById('flag').ariaPressed === 'true'")
    # A region of B: dragged from the middle of the image to three quarters of it.
    page.click(".thing .picture >> nth=1")
    # Its size is known before it is laid out.
    page.wait_for_function("() => document.getElementById('zoom-frame').offsetWidth > 0")
    assert page.inner_text("#zoom-name") == "B"
    person.press("m")
    room = page.evaluate(
        "(({x, y, width, height}) => ({x, y, width, height}))(document.getElementById('zoom-frame')"
        ".getBoundingClientRect())"
    )
    page.mouse.move(room["x"] + room["width"] / 2, room["y"] + room["height"] / 2)
    page.mouse.down()
    page.mouse.move(room["x"] + 0.75 * room["width"], room["y"] + 0.75 * room["height"], steps=4)
    page.mouse.up()
    # By keys: a second one, moved a step to the right, made larger, and the first one removed.
    person.press("Shift+Tab")
    page.focus("#zoom-stage")
    person.press("Enter", "ArrowRight", "Shift+ArrowDown")
    page.wait_for_timeout(600)
    assert page.locator("#zoom-marks .box").count() == 2
    page.click("#zoom-marks .box >> nth=0 >> button")
    person.press("Escape", "Escape")
    page.wait_for_selector("#zoom", state="hidden")
    page.wait_for_function("() => document.querySelectorAll('.marks .box').length === 1")
    person.all_sent()
    rows = server.rows("SELECT kind, slot, part, text, CAST(boxes AS TEXT) AS boxes FROM remark ORDER BY id")
    assert [row["kind"] for row in rows[:3]] == ["comment", "flag", "regions"]
    assert (rows[0]["text"], rows[1]["text"]) == ("<b>hands</b> =1+1", "no reason given")
    assert rows[2]["boxes"] == "[[0.5, 0.5, 0.75, 0.75]]"
    assert rows[-1]["boxes"] == "[[0.395, 0.375, 0.645, 0.645]]"
    swapped = server.rows("SELECT swapped FROM task_slot JOIN task ON id = task_id ORDER BY ordinal")[0][
        "swapped"
    ]
    assert {row["part"] for row in rows[2:]} == {0 if swapped else 1}
    # Another window shows it where it was marked, and as text.
    again = person.tab(server.links["ann"])
    again.wait_for_selector(".marks .box")
    assert again.evaluate("document.querySelector('.marks:has(.box)').dataset.part") == "1"
    again.keyboard.press("c")
    assert again.input_value("#note-text") == "<b>hands</b> =1+1"
    again.click("#note-remove")
    person.all_sent()
    again.wait_for_function("() => document.getElementById('comment').ariaPressed === 'false'")
    assert server.answers() == []


def test_remarks_wait_for_the_network_like_answers(seated: Any) -> None:
    server, person = seated(settings("yes_no", ALL))
    person.go_offline()
    person.press("c")
    person.page.fill("#note-text", "six fingers")
    person.page.click("#note-save")
    person.press("y")
    person.keeps(2)
    person.context.set_offline(False)
    person.all_sent()
    assert [row["text"] for row in server.rows("SELECT text FROM remark")] == ["six fingers"]
    assert [row["value"] for row in server.answers()] == [1]


def test_nothing_is_offered_that_was_not_asked_for(seated: Any, client: Any) -> None:
    server, person = seated(settings("yes_no"))
    page = person.page
    assert not page.is_visible("#comment") and not page.is_visible("#flag")
    person.press("c", "f", "m")
    assert page.locator("dialog[open]").count() == 0
    person.press("z")
    assert not page.is_visible("#zoom-mark")
    someone = client(server.links["ann"])
    task = someone.work()["pages"][0]["page"]
    body = {"remarks": [{"key": "k" * 16, "page": task, "kind": "comment", "text": "hello"}]}
    reply = someone.http.post("/api/answers", json=body).json()
    assert [(each["status"], each["reason"]) for each in reply["receipts"]] == [
        ("refused", "this is not asked for here")
    ]
