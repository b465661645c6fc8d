"""The explorer in a browser: verdicts with their boxes on the grid, and one key that corrects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from explored import View
from known_scenes import Maker, asked, seen
from sqlalchemy import text

from sightline.judging.truth import truth
from sightline.skills.verify import verify
from sightline.study.schema import database

pytestmark = pytest.mark.slow


def test_verdicts_are_drawn_filtered_and_corrected(tmp_path: Path, serve: Any, open_page: Any) -> None:
    maker = Maker(tmp_path / "files")
    maker.prompt("p", "two cats", "counting", asked(("cat", 2)))
    for place, (cats, said) in enumerate([(2, 1.0), (3, 0.0), (1, 1.0)]):
        maker.answer("p", "s", seen(*["cat"] * cats), said, at=place)
    with maker.study(tmp_path / "study") as made:
        truth(made)
        verify(made)
    served = serve(tmp_path / "study")
    view = View(open_page(served.link), served.url).go("?f.tag:skill=counting")
    page = view.page
    page.locator("#verdicts:not([hidden])").wait_for()
    assert page.locator(".seen-mark").count() == 0
    page.keyboard.press("v")
    page.locator(".seen-verdict[data-said=no]").first.wait_for()
    cells = page.locator(".line:not([hidden]) .cell:not([hidden])")
    assert [cells.nth(n).locator(".seen-mark").count() for n in range(3)] == [2, 3, 1]
    box, frame = (
        cells.nth(0).locator(".seen-mark").nth(1).bounding_box(),
        cells.nth(0).locator(".frame").bounding_box(),
    )
    # The second of two cats begins in the middle of the image and a fifth below its top.
    assert (box["x"] - frame["x"]) / frame["width"] == pytest.approx(0.5, abs=0.02)
    assert (box["y"] - frame["y"]) / frame["height"] == pytest.approx(0.2, abs=0.02)
    cells.nth(1).focus()
    page.keyboard.press("c")
    page.locator("#said", has_text="1 verdict corrected to yes").wait_for()
    cells.nth(1).locator(".seen-verdict", has_text="no → yes").wait_for()
    # In the detail the boxes are drawn at once, and the same key takes the correction back.
    cells.nth(1).focus()
    page.keyboard.press("Enter")
    page.locator("#detail .box").first.wait_for()
    assert page.locator("#detail .box").count() == 3
    page.keyboard.press("c")
    page.locator("#detail-said", has_text="1 verdict corrected to no").wait_for()
    page.keyboard.press("Escape")
    view.go("?f.agrees:match=only%20people%20say%20yes")
    view.count("1 of 3 images")
    with database.reading(served.study.engine) as connection:
        made = connection.execute(
            text(
                "SELECT j.value, a.role FROM judgement j JOIN annotator a ON a.id = j.annotator_id "
                "ORDER BY j.id"
            )
        ).fetchall()
    assert [tuple(row) for row in made] == [(1.0, "adjudicator"), (0.0, "adjudicator")]
