"""What pages are made of: colours of the house, and no script, style or address from elsewhere."""

from __future__ import annotations

import re

import pytest

from sightline.rendering.theme import COLOURS, SERIES, Colour
from sightline.web.app import HERE

HOUSE = {colour.name: colour for colour in COLOURS if not colour.name.startswith("series")}
# The first two series, which the theme's own tests hold against colour-vision deficiencies.
MARKS = dict(zip(("easier", "harder"), SERIES, strict=False))


@pytest.mark.parametrize(("page", "colours"), [("judge", HOUSE), ("owner", HOUSE), ("predict", MARKS)])
def test_pages_wear_the_colours_of_the_house(page: str, colours: dict[str, Colour]) -> None:
    style = (HERE / "static" / f"{page}.css").read_text("utf-8")
    light, _, dark = style.partition("prefers-color-scheme: dark")
    for name, colour in colours.items():
        assert f"--{name}: {colour.light};" in light and f"--{name}: {colour.dark};" in dark


@pytest.mark.parametrize("page", ["judge", "owner", "predict"])
def test_nothing_is_built_from_text_and_nothing_comes_from_elsewhere(page: str) -> None:
    written = (HERE / "templates" / f"{page}.html.jinja").read_text("utf-8")
    assert not re.search(r"style=|<style|\bon\w+=", written)
    assert written.count("<script") == written.count('<script type="module" src="/static/') == 1
    files = list((HERE / "static" / page).glob("*.js"))
    assert files
    for file in files:
        code = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        built = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://"
        assert not re.search(built, code), file.name
        assert len(code.splitlines()) <= 420, file.name
