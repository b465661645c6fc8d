"""What pages are made of: the look of the house, and no script, style or address from elsewhere."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest

from sightline.rendering.theme import COLOURS, CONTROLS, css_variables
from sightline.web.app import HERE

PAGES = sorted(file.name.removesuffix(".html.jinja") for file in (HERE / "templates").glob("*.jinja"))
STYLES = sorted((HERE / "static").glob("*.css"))
SCRIPTS = sorted((HERE / "static").rglob("*.js"))
SHARED = HERE / "static" / "shared"


def test_every_page_wears_the_one_look(live: Any) -> None:
    server = live('[annotate.r]\nmode = "yes_no"\n')
    reply = httpx.get(f"{server.url}/static/look.css")
    assert reply.headers["content-type"].startswith("text/css")
    # A page is never shown with the look or the scripts of a version before.
    assert reply.headers["cache-control"] == "no-store"
    assert reply.text.startswith(css_variables())
    for page in PAGES:
        written = (HERE / "templates" / f"{page}.html.jinja").read_text("utf-8")
        assert written.index("/static/look.css") < written.index("</head>")
        own = re.findall(r'href="/static/(.+?\.css)"', written)[1:]
        assert all((HERE / "static" / name).is_file() for name in own)
        assert all(f"/static/{other}.css" not in written for other in PAGES if f"{other}.css" not in own)


@pytest.mark.parametrize("style", STYLES, ids=lambda file: file.name)
def test_colours_are_told_only_by_the_theme(style: Any) -> None:
    written = style.read_text("utf-8")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b(?![^{]*\{)", written)
    names = {f"--{colour.name}" for colour in COLOURS + CONTROLS}
    assert names.isdisjoint(re.findall(r"(--[\w-]+)\s*:", written))


@pytest.mark.parametrize("page", [page for page in PAGES if page != "refused"])
def test_a_page_has_one_script_and_no_style_of_its_own(page: str) -> None:
    written = (HERE / "templates" / f"{page}.html.jinja").read_text("utf-8")
    assert not re.search(r"style=|<style|\bon\w+=", written)
    assert written.count("<script") == written.count('<script type="module" src="/static/') == 1


@pytest.mark.parametrize("file", SCRIPTS, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_nothing_is_built_from_text_and_nothing_comes_from_elsewhere(file: Any) -> None:
    code = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
    built = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|https?://"
    assert not re.search(built, code)
    assert len(code.splitlines()) <= 420
    # A page takes from its own folder and from what is shared, never from another page; shared takes nothing.
    for name in re.findall(r'from "(.+?)"', code):
        found = (file.parent / name).resolve()
        assert found.is_file() and found.parent in (file.parent, SHARED), name


def test_what_is_shared_is_used_and_told_once() -> None:
    code = {file: file.read_text("utf-8") for file in SCRIPTS}
    told = {
        file: set(re.findall(r"^export (?:async )?(?:const|class|function) (\w+)", text, re.MULTILINE))
        for file, text in code.items()
    }
    for file, names in told.items():
        for name in names if file.parent == SHARED else ():
            assert [other.name for other in SCRIPTS if name in told[other]] == [file.name], name
            assert sum(bool(re.search(rf"\b{name}\b", text)) for text in code.values()) > 1, name
