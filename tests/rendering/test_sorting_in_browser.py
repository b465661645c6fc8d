"""Tables that sort and are searched, and contents that follow the reader."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sightline.estimate import Estimate, absent
from sightline.rendering.blocks import Grid, Note, Section
from sightline.rendering.document import Document
from sightline.rendering.html import render
from sightline.rendering.tables import Column, Table

ROWS = [
    (f"system {n}", Estimate((7 * n) % 12 - 3.5, (7 * n) % 12 - 4, (7 * n) % 12 - 3, 20)) for n in range(12)
]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    columns = [Column("system"), Column("mean", direction="higher"), Column("note")]
    rows = [(*row, "x") for row in ROWS] + [("none", absent("nobody judged it"), "y")]
    short = Table(columns[:2], [("a", 2.0), ("b", 1.0)], "Short")
    text = [Note("A long way down. " * 300)]
    sections = [
        Section("one", "First", "", [Grid(Table(columns, rows, "Long"))]),
        *(Section(f"s{n}", f"Section {n}", "", text) for n in range(8)),
        Section("short", "Short", "", [Grid(short), *text]),
    ]
    path: Path = tmp_path_factory.mktemp("sorted") / "report.html"
    path.write_text(render(Document("t", "An answer.", datetime(2026, 1, 2, tzinfo=UTC), sections)), "utf-8")
    return path.as_uri()


def order(page: Any) -> list[str]:
    return page.eval_on_selector_all("#one tbody tr:not([hidden]) th", "all => all.map(it => it.textContent)")


def test_a_heading_sorts_by_its_numbers_with_the_keyboard(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    given = order(page)
    mean = page.locator("#one th", has_text="mean")
    mean.locator("button").focus()
    page.keyboard.press("Enter")
    assert mean.get_attribute("aria-sort") == "descending"
    falling = sorted(range(12), key=lambda n: -ROWS[n][1].value)  # type: ignore[operator]
    assert order(page) == [*(f"system {n}" for n in falling), "none"], (
        "negative numbers too; what is missing last"
    )
    page.keyboard.press("Enter")
    assert mean.get_attribute("aria-sort") == "ascending"
    assert order(page) == [*(f"system {n}" for n in reversed(falling)), "none"]
    page.keyboard.press("Enter")
    assert mean.get_attribute("aria-sort") is None and order(page) == given
    name = page.locator("#one th", has_text="system").first
    name.locator("button").click()
    assert order(page)[:4] == ["none", "system 0", "system 1", "system 2"], "numbers within names by size"
    page.close()


def test_a_long_table_is_searched_and_a_short_one_is_not(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)
    assert page.locator("#short .tools").count() == 0 and page.locator("#short .sort").count() == 0
    page.get_by_label("Search").fill("JUDGED nobody")
    assert order(page) == ["none"], "every word, in any order and case"
    assert page.locator("#one output").inner_text() == "1 of 13"
    page.get_by_label("Search").fill("")
    assert len(order(page)) == 13
    page.close()


def test_on_a_phone_rows_are_sorted_by_a_list(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(address)
    assert not page.locator("#one thead").is_visible()
    page.get_by_label("Sort by").select_option(label="mean, smallest first")
    assert order(page)[0] == "system 0"  # 0 - 3.5 is the least
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_contents_stay_in_view_and_mark_what_is_read(browser: Any, address: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(address)
    for section in ("s3", "s6"):
        page.evaluate(f"document.getElementById('{section}').scrollIntoView({{behavior: 'instant'}})")
        page.wait_for_selector(f"nav a[href='#{section}'][aria-current]")
        assert page.locator("nav a[aria-current]").count() == 1
        box = page.locator("nav a[aria-current]").bounding_box()
        assert 0 <= box["y"] < 900 and box["x"] >= 0 and box["x"] + box["width"] <= width
        # The heading is not hidden under the bar.
        bar = page.locator("nav").bounding_box()
        heading = page.locator(f"#{section} h2").bounding_box()
        assert width == 1280 or heading["y"] >= bar["y"] + bar["height"]
    page.close()
