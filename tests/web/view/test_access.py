"""The explorer for everybody: names, contrast, narrow screens, dark rooms."""

from __future__ import annotations

from typing import Any

import pytest
from accessible import findings

PHONE = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
STATES = {
    "grid": "?sort=truth:alignment&show=tag:skill&f.truth:alignment=1..",
    "cells": "?chart=tag:skill&sort=truth:alignment",
    "prompts": "?layout=prompts",
    "pair": "?layout=pair&a=alpha&b=beta&sort=-truth:alignment",
    "nothing": "?q=zebra",
}


@pytest.fixture
def served(unchanged: Any) -> Any:
    return unchanged


@pytest.mark.parametrize("state", STATES)
def test_axe_finds_nothing_on_the_board(view: Any, state: str) -> None:
    seen = view(STATES[state])
    if state == "grid":
        seen.filter("alignment")
        seen.filter("skill")
        seen.page.locator(".cell[tabindex='0']").focus()
        seen.press("x")
    assert findings(seen.page) == []


def test_axe_finds_nothing_in_what_opens(view: Any) -> None:
    seen = view("?q=1")
    seen.open(0)
    seen.press("b")
    assert findings(seen.page) == []
    seen.page.locator("#sides").get_by_role("button", name="Systems").click()
    seen.page.wait_for_function("() => document.querySelectorAll('.stage.here').length === 2")
    assert findings(seen.page) == []
    seen.press("Escape", "?")
    seen.page.wait_for_selector("#keys[open]")
    assert findings(seen.page) == []
    seen.press("Escape", "x")
    seen.page.locator("#act-round").click()
    seen.page.wait_for_selector("#act[open]")
    assert findings(seen.page) == []


def overflow(page: Any) -> list[str]:
    """What reaches out of the window without scrolling in something of its own."""
    return page.evaluate(
        "() => { const inside = (each) => { for (let up = each.parentElement; up; up = up.parentElement) {"
        " const style = getComputedStyle(up); if (/(auto|scroll|hidden)/.test(style.overflowX)"
        " && up !== document.body && up !== document.documentElement) return true; } return false; };"
        " return [...document.querySelectorAll('body *')]"
        ".filter(each => each.checkVisibility() && !inside(each)"
        " && (each.getBoundingClientRect().right > innerWidth + 1 || each.getBoundingClientRect().left < -1)"
        " && !each.matches('.skip, .hidden')).map(each => each.id || each.className || each.tagName); }"
    )


@pytest.mark.parametrize("query", ["", *STATES.values()])
def test_nothing_overflows_at_the_width_of_a_phone(view: Any, query: str) -> None:
    page = view(query, **PHONE).page
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert overflow(page) == []


def test_a_phone_filters_opens_and_selects(view: Any) -> None:
    seen = view(**PHONE)
    assert not seen.page.locator("#panel").is_visible()
    seen.page.tap("#filters-open")
    seen.page.wait_for_selector("#panel", state="visible")
    seen.page.locator("#filters").get_by_label("alpha").tap()
    seen.page.locator("#filters-done", has_text="Show 12 images").wait_for()
    assert overflow(seen.page) == []
    seen.page.tap("#filters-done")
    seen.page.wait_for_selector("#panel", state="hidden")
    seen.page.locator(".line:not([hidden]) .cell .check").first.tap()
    seen.page.wait_for_selector("#actions", state="visible")
    assert overflow(seen.page) == []
    seen.page.locator(".line:not([hidden]) .cell .frame").nth(1).tap()
    seen.opened()
    assert overflow(seen.page) == [] and seen.page.evaluate("document.documentElement.scrollWidth") <= 390
    small = seen.page.evaluate(
        "[...document.querySelectorAll('.look-bar button')].filter(each => each.checkVisibility())"
        ".map(each => [each.id || each.textContent, each.getBoundingClientRect().height])"
        ".filter(([, height]) => height < 39)"
    )
    assert small == []


def test_what_screen_readers_hear(view: Any) -> None:
    seen = view("?sort=-truth:alignment&q=1 red")
    cell = seen.page.locator(".cell").first
    assert cell.get_attribute("aria-label") == "1 red apples. beta, sample 2. alignment 4.50"
    assert seen.page.locator("#board").get_attribute("aria-rowcount") == "1"
    assert cell.locator("xpath=..").get_attribute("role") == "row"
    seen.page.locator(".cell[tabindex='0']").focus()
    seen.press("x")
    assert cell.get_attribute("aria-selected") == "true"
    seen.page.wait_for_function("() => document.getElementById('heard').textContent === '1 image selected'")
