"""For everybody: names, contrast, sizes, narrow screens, dark rooms, other languages."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sqlalchemy import text

from sightline.study.schema import database
from sightline.study.writing.keeping import Keeper
from sightline.study.writing.translations import keep_translations

# The look of a mode depends on its layout: one of each, and the others at length.
LOOKS = ["graded_relevance", "yes_no", "preference"]
OTHERS = ["binary_relevance", "ternary_relevance", "two_sliders", "two_afc", "similarity_rating"]


def settings(mode: str, more: str = "") -> str:
    photo = 'reference = "photos"\n' if mode.startswith("graded_relevance") else ""
    return f'[annotate.r]\nmode = "{mode}"\nper_item = 1\n{photo}{more}'


PHONE = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}

# Every visible text with the colour it has and the ground it stands on, all see-through layers laid together.
CONTRASTS = """() => {
  const rgba = (text) => {
    const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (top, below) => Object.fromEntries(
    ["r", "g", "b"].map((part) => [part, top[part] * top.a + below[part] * (1 - top.a)]).concat([["a", 1]]));
  const ground = (element) => {
    const own = rgba(getComputedStyle(element).backgroundColor);
    if (own.a === 1) return own;
    return over(own, element.parentElement ? ground(element.parentElement) : rgba("255 255 255"));
  };
  const light = ({ r, g, b }) => [r, g, b].map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0);
  const found = [];
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || !element.checkVisibility({ checkVisibilityCSS: true })) continue;
    const below = ground(element);
    const [a, b] = [light(over(rgba(getComputedStyle(element).color), below)), light(below)];
    found.push([texts.currentNode.data.trim(), (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)]);
  }
  return found;
}"""


def too_pale(page: Any) -> list[Any]:
    contrasts = page.evaluate(CONTRASTS)
    assert len(contrasts) > 5
    return [(words, round(ratio, 2)) for words, ratio in contrasts if ratio < 4.5]


def nameless(page: Any) -> list[str]:
    """Controls without a name, as the browser tells assistive technology."""
    told = page.context.new_cdp_session(page).send("Accessibility.getFullAXTree")["nodes"]
    controls = ("button", "slider", "combobox", "radio", "textbox", "link", "dialog", "progressbar", "image")
    found = [
        (node["role"]["value"], node.get("name", {}).get("value", "").strip())
        for node in told
        if not node["ignored"] and node["role"]["value"] in controls
    ]
    assert len(found) > 1
    return [role for role, name in found if not name]


@pytest.mark.parametrize("mode", [*LOOKS, *(pytest.param(mode, marks=pytest.mark.slow) for mode in OTHERS)])
def test_names_contrast_and_room(live: Any, visit: Any, mode: str) -> None:
    server = live(settings(mode), images=3 if mode == "two_afc" else 2)
    link = server.invite("ann")
    for scheme in ("light", "dark"):
        person = visit(link, begin=False, color_scheme=scheme)
        page = person.page
        assert nameless(page) == []
        assert too_pale(page) == []
        person.begin()
        assert nameless(page) == []
        assert too_pale(page) == []
        page.hover(".choice, .slider")
        page.wait_for_timeout(200)
        assert too_pale(page) == []
        person.press("s")
        assert nameless(page) == [] and too_pale(page) == []
        person.context.close()
    phone = visit(link, **PHONE)
    page = phone.page
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    # A finger needs room: 44 px, as common guidance has it.
    small = page.evaluate(
        "[...document.querySelectorAll('button, input, select')]"
        ".filter(each => each.checkVisibility() && !each.closest('[aria-hidden=true]'))"
        ".map(each => [each.id || each.textContent, each.getBoundingClientRect()])"
        ".filter(([, box]) => box.height < 43.5 || box.width < 43.5).map(([name]) => name)"
    )
    assert small == []
    # The text is in sight when a page opens.
    assert page.evaluate("scrollY") == 0


@pytest.mark.parametrize("mode", ["graded_relevance", "two_sliders", "two_afc"])
def test_a_finger_is_enough(live: Any, visit: Any, mode: str) -> None:
    server = live(settings(mode), images=3 if mode == "two_afc" else 2)
    person = visit(server.invite("ann"), **PHONE)
    page = person.page
    before = person.number()
    if mode == "two_sliders":
        for n in (0, 1):
            page.tap(f"input[type=range] >> nth={n}")
        server.arrived(2)
    else:
        for n in range(page.locator(".thing").count()):
            page.locator(".thing").nth(n).locator(".choice").first.tap()
    if mode != "two_afc":
        page.tap("#next")
    person.goes_on(before)
    person.all_sent()
    assert len(server.answers()) == {"graded_relevance": 5, "two_sliders": 2, "two_afc": 1}[mode]


def test_what_screen_readers_hear(seated: Any) -> None:
    _, person = seated(settings("graded_relevance"))
    focused = "document.activeElement.getAttribute('aria-label')"
    assert person.page.evaluate(focused) == "Image 1 of 5: not answered"
    person.press("1")
    assert person.page.evaluate(focused) == "Image 2 of 5: not answered"
    assert person.page.get_attribute(".thing >> nth=0", "aria-label") == "Image 1 of 5: high relevance"
    assert person.page.get_attribute(".thing >> nth=0", "aria-describedby") == "prompt"
    person.press(*"1111")
    assert person.page.evaluate("document.activeElement.id") == "next"


def test_tab_reaches_everything_in_the_order_it_is_seen(seated: Any) -> None:
    server, person = seated(settings("yes_no"))
    seen = []
    for _ in range(7):
        person.press("Tab")
        seen.append(
            person.page.evaluate(
                "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
            )
        )
    assert [re.sub(r"\s+", " ", each).strip() for each in seen] == [
        *("Enlarge the image", "y yes", "n no"),
        *("← Previous task", "↶ Undo last answer", "Skip", "Next Enter"),
    ]
    # Enter on a button presses that button.
    before = person.number()
    person.page.focus(".choice >> nth=1")
    person.press("Enter")
    person.goes_on(before)
    person.all_sent()
    assert [row["value"] for row in server.answers()] == [0]


def test_prompts_in_another_language_with_the_original_one_key_away(live: Any, visit: Any) -> None:
    server = live(settings("yes_no") + 'languages = ["de"]\n')
    with database.writing(server.study.engine) as connection:
        prompts = connection.execute(text("SELECT id, text FROM prompt ORDER BY id")).fetchall()
        told = [(key, {"de": f"Bild: {words}"}, "") for key, words in prompts]
        keep_translations(Keeper(connection, None), told)
    person = visit(server.invite("ann"))
    page = person.page
    written = page.inner_text("#prompt")
    assert written.startswith("picture of")
    person.press("o")
    person.says("as it was written")
    page.select_option("#language", "de")
    page.wait_for_function("() => document.getElementById('prompt').textContent.startsWith('Bild')")
    assert page.inner_text("#prompt") == f"Bild: {written}"
    assert page.get_attribute("#prompt", "lang") == "de"
    assert not page.is_visible("#original")
    page.evaluate("document.activeElement.blur()")
    person.press("o")
    assert page.inner_text("#original-text") == written
    person.press("o")
    assert not page.is_visible("#original")
    # The choice stays, here and elsewhere.
    other = visit(server.links["ann"])
    assert other.page.inner_text("#prompt").startswith("Bild")
    other.page.select_option("#language", "")
    other.page.wait_for_function("() => document.getElementById('prompt').textContent.startsWith('picture')")


def test_whoever_wants_no_motion_gets_none(live: Any, visit: Any) -> None:
    server = live(settings("yes_no"))
    person = visit(server.invite("ann"), reduced_motion="reduce")
    moving = person.page.evaluate(
        "[...document.querySelectorAll('*')].map(each => getComputedStyle(each))"
        ".filter(style => style.animationName !== 'none' || style.transitionDuration !== '0s').length"
    )
    assert moving == 0
