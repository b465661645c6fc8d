"""The explorer: filters, order, layouts, addresses and what is shown of one image."""

from __future__ import annotations

from typing import Any

import pytest
from explored import BOX, FAILURE, HIGH, HOSTILE, PROMPTS, WIDE, View, truth_of

ALL = "25 images"


@pytest.fixture
def served(unchanged: Any) -> Any:
    return unchanged


def test_categories_states_and_words_filter_and_chips_take_them_away(view: Any) -> None:
    seen = view()
    seen.count(ALL)
    seen.filter("System").get_by_label("alpha").check()
    seen.count("12 of 25 images")
    assert {cell["system"] for cell in seen.cells()} == {"alpha"}
    seen.filter("skill").get_by_label("counting").check()
    # alpha answered three prompts about counting with two samples each.
    seen.count("6 of 25 images")
    assert seen.query() == "?system=alpha&f.tag:skill=counting"
    seen.filter("State").get_by_label("the system failed").check()
    seen.count("1 of 25 images")
    assert seen.page.locator(".cell .none").first.inner_text() == f"no image: {FAILURE}"
    for words in ("the system failed", "alpha", "skill: counting"):
        seen.page.locator("#chips .chip", has_text=words).click()
    seen.count(ALL)
    assert seen.query() == "" and seen.page.locator("#chips .chip").count() == 0
    seen.page.fill("#search", "2 apples")
    seen.count("4 of 25 images")
    assert {cell["text"] for cell in seen.cells()} == {"2 red apples"}


def test_counts_of_a_category_are_of_what_the_other_filters_leave(view: Any) -> None:
    seen = view("?is=failed")
    seen.count("1 of 25 images")
    body = seen.filter("skill")
    counts = body.locator(".choice").evaluate_all(
        "all => Object.fromEntries(all.map(each => [each.querySelector('input').value,"
        " each.querySelector('.n').textContent]))"
    )
    assert counts["counting"] == "1" and counts.get("spatial", "0") == "0"
    # So are those of systems; the one that is chosen does not empty the others.
    for query in ("?is=failed", "?is=failed&system=alpha"):
        seen.go(query)
        seen.count("1 of 25 images")
        systems = seen.filter("System")
        seen.page.wait_for_function("() => document.querySelector('#filters .choice .n').textContent === '1'")
        assert systems.locator(".choice .n").all_inner_texts() == ["1", "0"]
    seen.go("?f.tag:skill=counting&system=beta")
    seen.count("6 of 25 images")
    seen.page.wait_for_function("() => document.querySelector('#filters .choice .n').textContent === '6'")
    assert seen.filter("System").locator(".choice .n").all_inner_texts() == ["6", "6"]


def test_a_number_is_filtered_by_fields_handles_and_a_brush(view: Any) -> None:
    seen = view("?system=alpha")
    seen.count("12 of 25 images")
    body = seen.filter("alignment")
    low = body.get_by_label("Lowest value of alignment").last
    low.fill("4")
    low.press("Enter")
    # alpha's 4.0, 4.5 and 5.0; the sample that would have 5.5 failed.
    seen.count("3 of 25 images")
    assert seen.query() == "?system=alpha&f.truth:alignment=4.."
    seen.filter("alignment").get_by_role("button", name="Clear").click()
    seen.count("12 of 25 images")
    handle = seen.filter("alignment").locator(".handle.low")
    handle.focus()
    seen.press("ArrowRight")
    # A fiftieth of the range of 5.5 leaves out the 0 alone.
    seen.count("10 of 25 images")
    seen.filter("alignment").get_by_role("button", name="Clear").click()
    seen.count("12 of 25 images")
    box = seen.filter("alignment").locator(".plot").bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + 10)
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + box["width"] * 0.7, box["y"] + 10, steps=3)
    seen.page.mouse.move(box["x"] + box["width"] * 0.99, box["y"] + 10, steps=3)
    seen.page.mouse.up()
    # From about 3.3 to 5.4: 3.5, 4, 4.5 and 5.
    seen.count("4 of 25 images")


def test_rows_without_a_value_can_be_asked_for(view: Any) -> None:
    seen = view()
    seen.filter("alignment").get_by_role("button", name="2 without").click()
    # The failure, and the photograph that nobody judged.
    seen.count("2 of 25 images")
    assert seen.page.locator("#chips .chip").first.inner_text().startswith("alignment: no value")


def test_order_and_values_under_the_images(view: Any) -> None:
    seen = view("?system=beta")
    seen.page.select_option("#sort", "truth:alignment")
    seen.page.locator("#turn").click()
    seen.page.wait_for_function("() => location.search.includes('sort=-truth')")
    seen.loaded()
    wanted = sorted((truth_of("beta", n, s) for n in range(PROMPTS) for s in (0, 1)), reverse=True)
    shown = [float(cell["values"][0]) for cell in seen.cells()]
    assert shown == wanted[: len(shown)] and len(shown) >= 10
    seen.page.click("#values-open")
    seen.page.locator("#values-list label", has_text="skill").click()
    seen.page.wait_for_function("() => document.querySelector('.cell .values').children.length === 2")
    assert seen.cells()[0]["values"] == ["5.50", "spatial"]
    assert seen.query() == "?system=beta&sort=-truth:alignment&show=tag:skill"


def test_an_address_restores_everything(view: Any) -> None:
    seen = view("?system=beta&f.tag:skill=counting&sort=-truth:alignment&show=truth:alignment&size=l&blind=0")
    first = seen.cells()[0]
    assert first["values"] == ["4.50"]
    seen.open(0)
    seen.press("+", "+")
    seen.page.wait_for_function("() => location.search.includes('zoom=')")
    address = seen.page.url
    scale = seen.page.locator(".stage .scale").inner_text()

    again = seen.page.context.new_page()
    again.goto(address)
    again.wait_for_selector("#detail[open] .stage.here")
    again.wait_for_function("text => document.querySelector('.stage .scale').textContent === text", arg=scale)
    again.wait_for_selector("#facts:has-text('Ann Lee')")
    assert again.locator("#chips .chip").count() == 2
    assert again.locator("#sizes button[aria-pressed=true]").inner_text() == "L"
    # There is nothing to go back to: closing leads to the grid.
    again.keyboard.press("Escape")
    again.wait_for_selector("#detail", state="hidden")
    assert "open=" not in again.url and "system=beta" in again.url


def test_back_and_forward(view: Any) -> None:
    seen = view()
    seen.filter("System").get_by_label("beta").check()
    seen.count("12 of 25 images")
    seen.open(1)
    key = seen.page.evaluate("new URLSearchParams(location.search).get('open')")
    seen.page.go_back()
    seen.closed()
    assert seen.query() == "?system=beta"
    seen.page.go_back()
    seen.count(ALL)
    assert not seen.filter("System").get_by_label("beta").is_checked()
    seen.page.go_forward()
    seen.count("12 of 25 images")
    seen.page.go_forward()
    seen.opened()
    assert seen.page.evaluate("new URLSearchParams(location.search).get('open')") == key


def test_one_search_is_one_step_back(view: Any) -> None:
    seen = view()
    seen.page.locator("#search").press_sequentially("4 red", delay=1)
    seen.count("4 of 25 images")
    seen.page.locator("#search").press_sequentially(" apples", delay=1)
    seen.page.wait_for_function("() => location.search === '?q=4+red+apples'")
    seen.page.go_back()
    seen.count(ALL)
    assert seen.page.input_value("#search") == ""


def test_what_is_being_typed_stays_while_counts_arrive(view: Any) -> None:
    seen = view()
    seen.page.wait_for_load_state("networkidle")
    held: list[Any] = []
    seen.page.route("**/api/view/fields?*", lambda route: held.append(route))
    seen.page.clock.install()
    seen.page.fill("#search", "4 red")
    seen.page.clock.run_for(1_000)
    seen.count("4 of 25 images")
    # From here on no time passes: what is typed is not searched for yet.
    seen.page.locator("#search").press_sequentially(" ap")
    with seen.page.expect_response("**/api/view/fields?*"):
        held.pop().continue_()
    seen.page.wait_for_function("() => document.querySelector('#filters .choice .n').textContent === '2'")
    assert seen.page.input_value("#search") == "4 red ap"
    seen.page.go_back()
    seen.count(ALL)
    # What was not searched for yet is no search after a step back, and the next search is a step again.
    assert seen.page.input_value("#search") == ""
    seen.page.clock.run_for(1_000)
    assert seen.query() == ""
    seen.page.fill("#search", "1 red")
    seen.page.clock.run_for(1_000)
    seen.count("4 of 25 images")
    seen.page.go_back()
    seen.count(ALL)


def test_two_changes_at_once_both_hold_and_end_with_a_count(view: Any) -> None:
    seen = view()
    seen.page.wait_for_load_state("networkidle")
    seen.filter("System")
    seen.page.clock.install()
    seen.page.evaluate(
        "for (const name of ['alpha', 'beta'])"
        " [...document.querySelectorAll('#filters .choice input')].find(each => each.value === name).click()"
    )
    seen.count("24 of 25 images")
    seen.page.clock.run_for(1_000)
    assert seen.page.locator("#count").inner_text() == "24 of 25 images"
    assert seen.query() == "?system=alpha&system=beta"


def test_prompts_across_systems(view: Any) -> None:
    seen = view("?layout=prompts")
    seen.count("6 prompts")
    headings = seen.page.locator(".line:not([hidden]) .heading .text").all_inner_texts()
    assert headings[:3] == ["0 red apples", "1 red apples", "2 red apples"]
    first = seen.page.locator(".line:not([hidden])").first
    assert first.locator(".who .name").all_inner_texts() == ["alpha", "beta"]
    seen.open(1)
    seen.page.locator("#sides").get_by_role("button", name="Systems").click()
    seen.page.wait_for_function("() => document.querySelectorAll('.stage.here').length === 2")
    assert seen.page.locator(".stage-name").all_inner_texts() == ["alpha", "beta"]
    seen.page.locator("#sides").get_by_role("button", name="Samples").click()
    seen.page.wait_for_function(
        "() => [...document.querySelectorAll('.stage-name')].map(each => each.textContent).join()"
        " === 'beta,beta #2'"
    )


def transforms(seen: Any) -> list[str]:
    return seen.page.locator(".stage img").evaluate_all("all => all.map(each => each.style.transform)")


def test_head_to_head_is_sorted_by_the_difference_and_zooms_together(view: Any) -> None:
    seen = view()
    seen.page.locator("#layouts").get_by_role("button", name="Head to head").click()
    seen.count("6 pairs")
    seen.page.select_option("#sort", "truth:alignment")
    seen.page.locator("#turn").click()
    seen.page.wait_for_function("() => location.search.includes('sort=-truth')")
    seen.loaded()
    # alpha's n minus beta's 5 - n, greatest first.
    notes = seen.page.locator(".line:not([hidden]) .heading .note").all_inner_texts()
    assert notes == [f"left minus right {sign}" for sign in ("+5", "+3", "+1", "−1", "−3", "−5")]
    seen.open(0)
    assert seen.page.locator(".stage").count() == 2
    before = transforms(seen)
    box = seen.page.locator(".stage").first.bounding_box()
    seen.page.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.5)
    seen.page.mouse.wheel(0, -400)
    seen.page.wait_for_function(
        "before => document.querySelector('.stage img').style.transform !== before", arg=before[0]
    )
    one, two = transforms(seen)
    assert one == two != before[0]
    seen.page.mouse.down()
    seen.page.mouse.move(box["x"] + box["width"] * 0.4, box["y"] + box["height"] * 0.4, steps=4)
    seen.page.mouse.up()
    moved = transforms(seen)
    assert moved[0] == moved[1] != one
    scales = seen.page.locator(".stage .scale").all_inner_texts()
    assert scales[0] == scales[1] and int(scales[0].removesuffix(" %")) > 400
    seen.press("0")
    assert transforms(seen) == before


def test_a_small_picture_is_crisp_and_its_true_scale_is_shown(view: Any) -> None:
    seen = view("?q=1")
    seen.open(0)
    image = seen.page.locator(".stage img")
    assert seen.page.locator(".stage .scale").inner_text() == "400 %"
    assert image.evaluate("it => getComputedStyle(it).imageRendering") == "pixelated"
    box = image.bounding_box()
    assert (round(box["width"]), round(box["height"])) == (4 * WIDE, 4 * HIGH)
    seen.press("1")
    assert seen.page.locator(".stage .scale").inner_text() == "100 %"
    box = image.bounding_box()
    assert (round(box["width"]), round(box["height"])) == (WIDE, HIGH)


def test_boxes_are_drawn_where_the_evidence_says(view: Any) -> None:
    seen = view("?q=1")
    seen.open(0)
    assert seen.page.locator(".stage .box").count() == 0
    seen.page.get_by_label("Draw 1 box").check()
    for zoomed in (False, True):
        if zoomed:
            seen.press("+")
        image, box = (seen.page.locator(each).bounding_box() for each in (".stage img", ".stage .box"))
        left, top = (box["x"] - image["x"]) / image["width"], (box["y"] - image["y"]) / image["height"]
        right = (box["x"] + box["width"] - image["x"]) / image["width"]
        bottom = (box["y"] + box["height"] - image["y"]) / image["height"]
        assert (left, top, right, bottom) == pytest.approx(BOX, abs=0.002)
    assert seen.page.locator(".stage .box").inner_text() == "apple 90 %"
    assert seen.page.locator("#facts [data-measure='boxed'] details").inner_text() != ""
    seen.press("b")
    assert seen.page.locator(".stage .box").count() == 0


def test_votes_are_blind_until_the_owner_wants_names(view: Any) -> None:
    seen = view("?q=1")
    seen.open(0)
    votes = seen.page.locator(".votes-table tbody tr")
    assert votes.locator("th").all_inner_texts() == ["annotator 1", "annotator 2"]
    # The truth of alpha's first sample of prompt 1 is 1; votes are a quarter off.
    assert votes.locator("b").all_inner_texts() == ["0.75", "1.25"]
    assert "Ann Lee" not in seen.page.content()
    seen.page.get_by_role("button", name="Show names").click()
    seen.page.wait_for_selector("#facts:has-text('Ann Lee')")
    assert seen.page.locator(".votes-table tbody th").all_inner_texts() == ["Ann Lee", "Bob Ray"]
    assert "blind=0" in seen.page.url


def test_the_detail_says_what_is_known(view: Any) -> None:
    seen = view("?q=2 red&system=beta")
    seen.open(1)
    facts = seen.page.locator("#facts")
    assert facts.locator("h2").inner_text() == "2 red apples"
    truth = facts.locator("section", has=seen.page.locator("h3", has_text="Truth")).inner_text()
    # beta at prompt 2: 5 - 2 + 1/2.
    assert (
        "3.50" in truth and "[3.25, 3.75]" in truth and "higher is better" in truth and "published" in truth
    )
    for words in ("steps", "20", "made.csv", "beta-2-1.png", f"{WIDE} × {HIGH}", "boxed"):
        assert words in facts.inner_text()
    assert seen.page.locator("#detail-place").inner_text() == "2 of 2"
    seen.press("[")
    seen.page.wait_for_function("() => document.getElementById('detail-place').textContent === '1 of 2'")
    assert seen.page.locator("#detail-before").is_disabled()
    seen.page.get_by_role("button", name="alpha, sample 1").click()
    seen.page.wait_for_selector("#facts .made:has-text('alpha')")


def test_what_a_prompt_says_is_only_ever_text(view: Any) -> None:
    seen = view("?q=script")
    seen.count("4 of 25 images")
    assert seen.cells()[0]["text"] == HOSTILE
    seen.open(0)
    assert seen.page.locator("#facts h2").inner_text() == HOSTILE
    seen.press("Escape")
    seen.closed()
    seen.page.fill("#search", HOSTILE)
    seen.page.wait_for_function(
        "() => document.querySelector('#chips .chip')?.textContent.includes('window.evil')"
    )
    seen.go("?layout=prompts")
    assert HOSTILE in seen.page.locator(".heading .text").all_inner_texts()
    assert seen.page.evaluate("window.evil") is None


def test_every_dot_and_cell_of_the_chart_leads_to_its_images(view: Any) -> None:
    seen = view("?f.tag:skill=spatial")
    seen.page.select_option("#chart-by", "truth:alignment")
    dots = seen.page.locator("#chart .dots a")
    dots.first.wait_for()
    # Prompts 0, 2 and 4; the mean of n + (0 + 1/2) / 2.
    assert dots.locator("b").all_inner_texts() == ["2.25", "3.25"]
    dots.nth(1).click()
    seen.count("6 of 25 images")
    assert {cell["system"] for cell in seen.cells()} == {"beta"}
    seen.page.select_option("#chart-by", "tag:skill")
    cell = seen.page.get_by_role("link", name="beta, skill counting: 6 images. Show them")
    cell.click()
    seen.page.wait_for_function("() => document.querySelector('.cell .text').textContent.startsWith('1')")
    seen.count("6 of 25 images")
    assert seen.query().startswith("?system=beta&f.tag:skill=counting")


def test_nothing_matches_and_what_went_wrong_are_said_in_words(view: Any) -> None:
    seen = view("?q=zebra")
    assert "No image passes all of these filters." in seen.page.locator("#empty").inner_text()
    seen.page.get_by_role("button", name="Clear all filters").click()
    seen.count(ALL)
    seen.page.goto(f"{seen.url}/view?sort=score:nothing")
    seen.page.locator("#failed", has_text="there is no field").wait_for()
    seen.page.get_by_role("link", name="Show everything").click()
    seen.count(ALL)


def test_a_lost_connection_is_said_and_mended(served: Any, browser: Any) -> None:
    # Not by `view`: the browser itself reports every request that fails.
    context = browser.new_context()
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto(served.link)
    seen = View(page, served.url)
    seen.count(ALL)
    context.set_offline(True)
    page.fill("#search", "apples")
    page.locator("#failed", has_text="The server does not answer.").wait_for()
    context.set_offline(False)
    seen.count("20 of 25 images")
    page.wait_for_selector("#failed", state="hidden")
    context.close()


def test_an_address_that_names_what_is_not_there_leaves_a_way_back(view: Any) -> None:
    seen = view()
    seen.page.goto(f"{seen.url}/view?open=a-1-99999-0")
    seen.page.locator("#facts", has_text="There is no row 'a-1-99999-0' in this study.").wait_for()
    # Nothing is there to be turned, zoomed or selected.
    for control in ("#detail-before", "#sides", "#zoom-in", "#detail-select"):
        assert not seen.page.locator(control).is_visible(), control
    seen.page.get_by_role("button", name="Back to the images").click()
    seen.closed()
    seen.count(ALL)
    assert seen.query() == ""
    seen.open()
    assert seen.page.locator("#zoom-in").is_visible()


def test_enter_opens_the_first_image_before_anything_has_the_focus(view: Any) -> None:
    seen = view()
    seen.press("Enter")
    seen.opened()
    first = seen.page.evaluate("document.querySelector('.cell').row.key")
    assert seen.query() == f"?open={first}"


def test_the_chart_says_what_its_intervals_are_over(view: Any) -> None:
    seen = view("?chart=truth:alignment")
    note = seen.page.locator("#chart-note")
    # Six prompts are too few for an interval.
    seen.page.locator("#chart .dots").wait_for()
    assert note.inner_text() == "by system; each leads to its images"
