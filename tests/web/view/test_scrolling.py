"""The explorer over thousands of rows: few elements, few requests, and back where one was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from explored import View, picture

from sightline.records import Answer, Image, ImageKey, Prompt, PromptKey, Record
from sightline.study.study import create_study
from sightline.study.writing.loading import load

ROWS = 5_000
FILES = 40


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of 5,000 answers; every so many of them show the same image."""
    folder = tmp_path_factory.mktemp("large")
    records: list[Record] = []
    for number in range(FILES):
        (folder / f"{number}.png").write_bytes(picture(number))
        records.append(Image(ImageKey("made", str(number)), str(folder / f"{number}.png")))
    for number in range(ROWS):
        key = PromptKey("suite", f"{number:05}")
        records.append(Prompt(key, f"picture {number}"))
        records.append(Answer(key, "alpha", 0, ImageKey("made", str(number % FILES))))
    with create_study(folder / "study") as study:
        load(study, records, importer="test", path="test", digest="test")
    return folder / "study"


@pytest.fixture
def seen(large: Path, serve: Callable[..., Any], open_page: Callable[..., Any]) -> View:
    served = serve(large)
    return View(open_page(served.link), served.url).loaded()


def first_text(seen: View) -> str:
    """The prompt of the first cell that is wholly in view."""
    return seen.page.evaluate(
        "() => { const top = document.getElementById('port').getBoundingClientRect().top;"
        " const cells = [...document.querySelectorAll('.line:not([hidden]) .cell:not([hidden])')]"
        ".filter(cell => cell.getBoundingClientRect().top >= top - 1);"
        " cells.sort((a, b) => a.place.item - b.place.item);"
        " return cells[0].querySelector('.text').textContent; }"
    )


def test_the_page_stays_small_and_fetches_what_is_looked_at(seen: View) -> None:
    seen.count("5,000 images")
    rows, thumbs = [], []
    seen.page.on("request", lambda asked: rows.append(asked.url) if "/api/view/rows?" in asked.url else None)
    seen.page.on("request", lambda asked: thumbs.append(asked.url) if "/thumbs/" in asked.url else None)
    elements = seen.page.evaluate("document.querySelectorAll('#board *').length")
    # Fly to the end in steps of a frame each: what is passed is not fetched.
    seen.page.evaluate(
        "async () => { const port = document.getElementById('port');"
        " for (let step = 1; step <= 40; step += 1) { port.scrollTop = (port.scrollHeight * step) / 40;"
        " await new Promise(requestAnimationFrame); } }"
    )
    seen.page.wait_for_function(
        "() => [...document.querySelectorAll('.cell .text')]"
        ".some(each => each.textContent === 'picture 4999')"
    )
    seen.loaded()
    assert seen.page.evaluate("document.querySelectorAll('#board *').length") <= elements * 2
    assert seen.page.evaluate("document.querySelectorAll('.cell').length") < 150
    assert len(rows) < ROWS / 120 / 2
    # Only what is seen shows an image; each has the one that its answer has.
    seen.page.wait_for_function(
        "() => [...document.querySelectorAll('.line:not([hidden]) .cell:not([hidden]) img')]"
        ".every(each => each.matches('.here'))"
    )
    assert seen.page.evaluate("document.querySelectorAll('.line[hidden] img[src]').length") == 0


def test_a_place_is_part_of_the_address(seen: View) -> None:
    seen.page.evaluate("document.getElementById('port').scrollTop = 60_000")
    seen.page.wait_for_function("() => Number(new URLSearchParams(location.search).get('at')) > 300")
    seen.loaded()
    text = first_text(seen)
    at = int(seen.page.evaluate("new URLSearchParams(location.search).get('at')"))
    # A detail and back: the same place; a reload as well.
    seen.page.locator(".line:not([hidden]) .cell .frame").nth(20).click()
    seen.opened()
    seen.page.go_back()
    seen.closed()
    assert abs(int(first_text(seen).split()[1]) - int(text.split()[1])) <= 20
    seen.page.reload()
    seen.loaded()
    seen.page.wait_for_function(
        "() => document.querySelector('.line:not([hidden]) .cell .text')?.textContent"
    )
    assert abs(int(first_text(seen).split()[1]) - at) <= 20


def test_the_keyboard_reaches_the_end_and_a_range_over_rows_never_seen(seen: View) -> None:
    seen.page.locator(".cell[tabindex='0']").focus()
    seen.press("x", "Shift+Control+End")
    seen.page.wait_for_function(
        "() => document.activeElement.closest('.cell')?.querySelector('.text').textContent === 'picture 4999'"
    )
    seen.page.wait_for_function(
        "() => document.getElementById('selected').textContent === '5,000 images selected'"
    )
    seen.press("Control+Home")
    seen.page.wait_for_function(
        "() => document.activeElement.closest('.cell')?.querySelector('.text').textContent === 'picture 0'"
    )
