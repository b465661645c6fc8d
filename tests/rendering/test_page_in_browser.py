"""The page as a browser shows it: on a phone and a desk, in the light, in the dark and on paper."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sightline.rendering.document import Document
from sightline.rendering.html import render
from sightline.rendering.theme import PAPER, SERIES


@pytest.fixture(scope="module")
def address(report: Document, tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render(report), "utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [320, 390, 1200])
def test_nothing_is_cut_off_and_nothing_is_fetched(browser: Any, address: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("[...document.images].length > 0")
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    # One of the two drawings of each chart is shown.
    shown = "document.querySelectorAll('.chart .{0}')[0].getBoundingClientRect().width > 0"
    assert page.evaluate(shown.format("narrow")) == (width < 700)
    assert page.evaluate(shown.format("wide")) == (width > 700)
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert said == []
    page.close()


def test_on_a_phone_every_cell_of_a_table_is_on_the_page(browser: Any, address: str) -> None:
    page = browser.new_page(viewport={"width": 390, "height": 900})
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    beyond = page.evaluate(
        "[...document.querySelectorAll('.stacks :is(caption, th, td, span)')]"
        ".filter(cell => !cell.closest('thead') && cell.getBoundingClientRect().right > 390)"
        ".map(cell => cell.textContent)"
    )
    assert beyond == []
    verdict = page.evaluate(
        "getComputedStyle(document.querySelector('#ranking td[data-label=verdict]'), '::before').content"
    )
    assert verdict == '"verdict"'
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_and_charts_follow_the_scheme(browser: Any, address: str, scheme: str) -> None:
    page = browser.new_page(color_scheme=scheme)
    page.goto(address)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == as_rgb(getattr(PAPER, scheme))
    drawn = page.evaluate(
        "[...document.querySelectorAll('#ranking svg path')].map(path => getComputedStyle(path).fill)"
    )
    assert as_rgb(getattr(SERIES[0], scheme)) in drawn
    page.close()


def test_paper_is_light_and_shows_what_is_folded(browser: Any, address: str) -> None:
    page = browser.new_page(color_scheme="dark")
    page.goto(address)
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).color") == "rgb(31, 38, 45)"
    assert page.evaluate("document.querySelector('#made table').getBoundingClientRect().height") > 0
    page.close()


def as_rgb(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgb({red}, {green}, {blue})"
