"""Rows of thumbnails: what is drawn, what is said, and what a page has to carry at most."""

import io

import pytest
from PIL import Image

from sightline.estimate import Estimate, absent
from sightline.rendering.shown import Scale, Thumbnail
from sightline.rendering.theme import SERIES, system_colours
from sightline.variability.gallery import MOST_PICTURES, MOST_ROWS, Shown, across_systems, by_prompt

SCALE = Scale("similarity", "none", 0, 1)
COLOURS = system_colours(["a", "b"])


def picture() -> Thumbnail:
    out = io.BytesIO()
    Image.new("RGB", (4, 4)).save(out, "PNG")
    return Thumbnail(out.getvalue())


def shown(prompt: str = "a cat", system: str = "a", images: int = 3, **more: int) -> Shown:
    return Shown(prompt, system, Estimate(0.5, 0.25, 0.75, images), [picture()] * images, **more)


def test_a_row_has_its_prompt_system_similarity_and_interval() -> None:
    rows = by_prompt([shown(), shown("a dog", "b")], SCALE, COLOURS, caption="Said below.").rows
    assert [row.title for row in rows] == ["a cat", "a dog"]
    assert [row.tags for row in rows] == [[("system", "a")], [("system", "b")]]
    assert [row.colour for row in rows] == [SERIES[0].name, SERIES[1].name]
    assert (rows[0].value, rows[0].interval, rows[0].n) == ("0.50", "[0.25, 0.75]", "n 3")
    assert rows[0].meter == (25, 50, 50)
    assert rows[0].pictures[1].alt == "image 2 of 3 by a: a cat"


def test_one_prompt_across_systems_has_a_row_a_system() -> None:
    found = across_systems([shown(system="b"), shown(system="a")], SCALE, COLOURS)
    assert found.title == "a cat"
    assert [(row.title, row.tags) for row in found.rows] == [("b", []), ("a", [])]
    with pytest.raises(ValueError, match="one prompt is needed, not 2"):
        across_systems([shown(), shown("a dog")], SCALE, COLOURS)


def test_missing_and_blank_images_are_said() -> None:
    missing = Shown(
        "p", "a", absent("fewer than two images"), [Thumbnail(None, "a", None, "gone"), picture()]
    )
    (row,) = by_prompt([missing], SCALE, COLOURS).rows
    assert (row.value, row.reason) == ("-", "fewer than two images")
    assert row.note == "1 has no picture here."
    assert row.pictures[0].reason == "gone" and row.pictures[0].source == ""
    (row,) = by_prompt([shown(images=4, blank=2)], SCALE, COLOURS).rows
    assert row.note == "2 of 4 are blank (one colour)."


def test_what_is_not_drawn_is_counted() -> None:
    found = by_prompt([shown(images=MOST_PICTURES + 5)] * (MOST_ROWS + 2), SCALE, COLOURS)
    assert len(found.rows) == MOST_ROWS and found.caption == "2 more rows are not drawn."
    assert len(found.rows[0].pictures) == MOST_PICTURES
    assert found.rows[0].note == f"{MOST_PICTURES} of {MOST_PICTURES + 5} images are drawn."


def test_rows_shown_among_others_line_up_with_them() -> None:
    few, many = shown(images=2), shown("b", images=4)
    assert by_prompt([few], SCALE, COLOURS, [few, many]).columns == (4, 4)
    assert by_prompt([few], SCALE, COLOURS).columns == (2, 2)
    assert by_prompt([], SCALE, COLOURS).columns == (1, 1)


def test_long_and_odd_prompts_are_shortened_and_cleaned() -> None:
    (row,) = by_prompt([shown("x" * 5000)], SCALE, COLOURS).rows
    assert len(row.title) < 300 and row.title.endswith("…")
    (row,) = by_prompt([shown("\x00 a \x07 b")], SCALE, COLOURS).rows
    assert "\x00" not in row.title
    (row,) = by_prompt([shown(" ")], SCALE, COLOURS).rows
    assert row.title == "(a prompt without text)"
