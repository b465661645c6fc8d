"""The explorer: the keyboard, selecting, and what is done with a selection, down to the study."""

from __future__ import annotations

import csv
import io
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from sqlalchemy import text

from sightline.study.schema import database


def rows_of(served: Any, query: str) -> list[tuple[Any, ...]]:
    """What a query gives in the study."""
    with database.reading(served.study.engine) as connection:
        return [tuple(row) for row in connection.execute(text(query))]


def tags(served: Any, name: str) -> dict[str, str]:
    """The images that have a tag, by the name of their file, with its value."""
    query = (
        f"SELECT i.name, t.value FROM image_tag t JOIN image i ON i.id = t.image_id WHERE t.name = '{name}'"
    )
    return {str(file): str(value) for file, value in rows_of(served, query)}


def select(seen: Any, *numbers: int) -> None:
    """Select cells by their check marks."""
    for number in numbers:
        cell = seen.page.locator(".line:not([hidden]) .cell:not([hidden])").nth(number)
        cell.hover()
        cell.locator(".check").click()
        cell.and_(seen.page.locator("[aria-selected=true]")).wait_for()


def act(seen: Any, button: str, yes: str, **values: str) -> None:
    """Press a button of the bar, fill in what it asks for, and confirm."""
    seen.page.locator("#actions").get_by_role("button", name=button, exact=True).click()
    for name, value in values.items():
        seen.page.locator(f"#act [name={name}]").fill(value)
    seen.page.locator("#act").get_by_role("button", name=yes, exact=True).click()


def done(seen: Any, words: str) -> None:
    seen.page.locator("#said", has_text=words).wait_for()
    seen.page.wait_for_selector("#act", state="hidden")
    seen.loaded()


def test_tags_come_and_go(served: Any, view: Any) -> None:
    seen = view("?sort=truth:alignment&system=beta")
    select(seen, 0, 2)
    assert seen.page.locator("#selected").inner_text() == "2 images selected"
    act(seen, "Tag", "Tag", name="defect", value="six fingers")
    done(seen, "2 images tagged defect = six fingers.")
    # beta is worst at the last prompt, then at the one before: 0, 0.5, 1.
    assert tags(served, "defect") == {"beta-5-0.png": "six fingers", "beta-4-0.png": "six fingers"}
    # The new tag is a filter at once, and the selection is still there.
    assert seen.page.locator("#selected").inner_text() == "2 images selected"
    seen.filter("defect").get_by_label("six fingers").check()
    seen.count("2 of 25 images")
    act(seen, "Remove tag", "Remove the tag", name="defect")
    # Nothing has the tag any more, so that nothing can be filtered by it.
    seen.count("12 of 25 images")
    assert tags(served, "defect") == {} and "defect" not in seen.query()


def test_failures_are_marked_with_a_reason_and_unmarked(served: Any, view: Any) -> None:
    seen = view("?q=4&system=alpha")
    select(seen, 1)
    act(seen, "Mark as failure", "Mark as failure", value="wrong <b>number</b>")
    done(seen, "1 image marked as failures.")
    assert tags(served, "failure") == {"alpha-4-1.png": "wrong <b>number</b>"}
    assert seen.filter("failure").locator(".choice bdi").first.inner_text() == "wrong <b>number</b>"
    seen.page.locator("#actions").get_by_role("button", name="Mark as failure").click()
    seen.page.locator("#act").get_by_role("button", name="Remove the mark").click()
    done(seen, "1 image no longer marked as failures.")
    assert tags(served, "failure") == {}


def test_a_selection_becomes_a_round_of_judging(served: Any, view: Any) -> None:
    seen = view("?q=1")
    select(seen, 0, 3)
    seen.page.locator("#actions").get_by_role("button", name="Have judged").click()
    assert seen.page.locator("#act [name=name]").input_value() == "chosen-1"
    seen.page.select_option("#act [name=mode]", "yes_no")
    seen.page.fill("#act [name=per_item]", "5")
    seen.page.get_by_role("button", name="Make the round").click()
    seen.page.wait_for_selector("#command")
    command = seen.page.locator("#command").inner_text()
    assert command.startswith("sightline annotate ") and command.endswith("--round chosen-1")
    declared = tomllib.loads((served.study.home / "study.toml").read_text("utf-8"))["annotate"]["chosen-1"]
    assert declared["mode"].startswith("yes_no") and declared["per_item"] == 5
    assert set(tags(served, "round.chosen-1")) == {"alpha-1-0.png", "beta-1-1.png"}
    seen.page.locator("#act").get_by_role("button", name="Close").click()
    # The next one gets a name of its own; one that is taken is refused in words.
    seen.loaded()
    seen.page.locator("#actions").get_by_role("button", name="Have judged").click()
    seen.page.wait_for_function("() => document.querySelector('#act [name=name]').value === 'chosen-2'")
    seen.page.fill("#act [name=name]", "chosen-1")
    seen.page.get_by_role("button", name="Make the round").click()
    seen.page.locator("#act [role=alert]", has_text="chosen-1").wait_for()


def test_a_selection_is_exported(view: Any, tmp_path: Path) -> None:
    seen = view("?q=2 red&sort=truth:alignment")
    select(seen, 0, 1)
    keys = [cell["key"] for cell in seen.cells() if cell["selected"]]
    with seen.page.expect_download() as download:
        act(seen, "Export", "Download")
    download.value.save_as(tmp_path / "rows.csv")
    table = list(csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text("utf-8-sig"))))
    assert [row["key"] for row in table] == keys
    # All that match, with their images.
    seen.page.locator("#act-all").click()
    seen.page.wait_for_function("() => document.getElementById('selected').textContent.startsWith('All 4')")
    seen.page.locator("#actions").get_by_role("button", name="Export").click()
    seen.page.locator("#act").get_by_label("Images and table").check()
    with seen.page.expect_download() as download:
        seen.page.locator("#act").get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "rows.zip")
    with zipfile.ZipFile(tmp_path / "rows.zip") as archive:
        files = archive.namelist()
    assert len([name for name in files if name.endswith(".png")]) == 4
    assert [name for name in files if name.endswith(".csv")]


def test_all_that_match_are_acted_on(served: Any, view: Any) -> None:
    seen = view("?f.tag:skill=counting")
    seen.count("12 of 25 images")
    select(seen, 0)
    seen.page.locator("#act-all").click()
    seen.page.wait_for_function("() => document.getElementById('selected').textContent.startsWith('All 12')")
    assert all(cell["selected"] for cell in seen.cells())
    act(seen, "Tag", "Tag", name="seen", value="yes")
    # The failed answer has no image to tag.
    done(seen, "11 images tagged seen = yes. Left out: 1 failed answers.")
    assert len(tags(served, "seen")) == 11


def test_the_keyboard_does_everything(served: Any, view: Any) -> None:
    seen = view("?size=m")
    keys = [cell["key"] for cell in seen.cells()]
    columns = int(seen.page.locator("#board").get_attribute("aria-colcount"))
    seen.page.locator(".cell[tabindex='0']").focus()
    assert seen.focused() == keys[0]
    seen.press("ArrowRight", "ArrowDown", "ArrowLeft")
    assert seen.focused() == keys[columns]
    # One cell is in the order of tabs, wherever the focus is.
    assert seen.page.locator(".cell[tabindex='0']").count() == 1
    seen.press("x")
    seen.press("Shift+ArrowRight", "Shift+ArrowRight")
    seen.page.wait_for_function(
        "() => document.getElementById('selected').textContent === '3 images selected'"
    )
    seen.press("Shift+ArrowLeft")
    seen.page.wait_for_function(
        "() => document.getElementById('selected').textContent === '2 images selected'"
    )
    assert [cell["key"] for cell in seen.cells() if cell["selected"]] == keys[columns : columns + 2]
    seen.press("Control+a")
    seen.page.wait_for_function("() => document.getElementById('selected').textContent.startsWith('All 25')")
    seen.press("Escape")
    seen.page.wait_for_selector("#actions", state="hidden")

    seen.press("Enter")
    seen.opened()
    assert seen.page.evaluate("new URLSearchParams(location.search).get('open')") == keys[columns + 1]
    seen.press("]")
    seen.page.wait_for_function(
        "key => document.getElementById('facts').dataset.key === key", arg=keys[columns + 2]
    )
    before = seen.page.locator(".stage .scale").inner_text()
    seen.press("z")
    assert seen.page.locator(".stage .scale").inner_text() != before
    seen.press("z", "x")
    assert seen.page.locator("#detail-select").get_attribute("aria-pressed") == "true"
    seen.press("Escape")
    seen.closed()
    # The keyboard goes on where the eyes are.
    assert seen.focused() == keys[columns + 2]
    seen.press("End", "Control+End")
    seen.page.wait_for_function("() => document.activeElement.closest('.cell')?.row?.key.startsWith('i-')")
    seen.press("/")
    assert seen.page.evaluate("document.activeElement.id") == "search"
    seen.page.keyboard.type("?x")
    assert seen.page.input_value("#search") == "?x"
    seen.page.fill("#search", "")
    seen.press("Escape", "?")
    seen.page.wait_for_selector("#keys[open]")
    assert "previous and next image" in seen.page.locator("#keys-list").inner_text()
    seen.press("Escape", "h")
    seen.count("6 pairs")
    seen.press("g")
    seen.count("25 images")


def test_shift_and_click_select_a_range(view: Any) -> None:
    seen = view()
    select(seen, 1)
    seen.page.locator(".cell .frame").nth(4).click(modifiers=["Shift"])
    seen.page.wait_for_function(
        "() => document.getElementById('selected').textContent === '4 images selected'"
    )
    seen.page.locator(".cell .frame").nth(2).click(modifiers=["Control"])
    seen.page.wait_for_function(
        "() => document.getElementById('selected').textContent === '3 images selected'"
    )
    assert [cell["selected"] for cell in seen.cells()[:6]] == [False, True, False, True, True, False]
