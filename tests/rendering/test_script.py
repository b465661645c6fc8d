"""The one script of a page: the policy lets it run and nothing else, and without it the page still works."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path
from typing import Any

import pytest

from sightline.rendering.document import Document
from sightline.rendering.html import render

FILE = Path(__file__).parents[2] / "sightline" / "rendering" / "templates" / "page.js"


@pytest.fixture(scope="module")
def page_file(report: Document, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("scripted") / "report.html"
    path.write_text(render(report), "utf-8")
    return path


def test_the_policy_names_the_script_of_the_page_and_no_other(report: Document) -> None:
    page = render(report)
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script == FILE.read_text("utf-8") and script.isascii()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'" and rules["img-src"] == "data:"
    assert rules["script-src"] == f"'sha256-{digest}'"
    assert set(rules) == {"default-src", "img-src", "style-src", "script-src", "base-uri", "form-action"}


def test_a_script_that_is_not_the_pages_own_does_not_run(browser: Any, page_file: Path) -> None:
    added = "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    changed = page_file.with_name("changed.html")
    changed.write_text(page_file.read_text("utf-8").replace("</main>", f"{added}</main>"), "utf-8")
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(changed.as_uri())
    assert "ran" not in page.title() and any("Content Security Policy" in text for text in said)
    assert page.locator(".open").count() > 0, "the page's own script ran"
    page.close()


def test_pictures_open_large_and_keys_go_through_them(browser: Any, page_file: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(page_file.as_uri())
    first = page.locator("#prompts .pictures").first.locator(".open")
    small = first.nth(0).bounding_box()["width"]
    first.nth(0).focus()
    page.keyboard.press("Enter")
    large = page.locator("dialog.large")
    assert large.is_visible() and large.locator("img").bounding_box()["width"] > 1.5 * small
    assert "1 of 6" in large.locator("figcaption").inner_text()
    page.keyboard.press("ArrowRight")
    assert "2 of 6" in large.locator("figcaption").inner_text()
    assert large.locator("img").get_attribute("src") == first.nth(1).locator("img").get_attribute("src")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert "6 of 6" in large.locator("figcaption").inner_text()
    page.keyboard.press("Escape")
    assert not large.is_visible()
    assert page.evaluate("document.activeElement.classList.contains('open')"), "the focus goes back"
    page.close()


def test_without_scripts_the_page_is_all_there(browser: Any, page_file: Path) -> None:
    context = browser.new_context(java_script_enabled=False, viewport={"width": 390, "height": 900})
    page = context.new_page()
    page.goto(page_file.as_uri())
    assert page.locator("main img").first.is_visible() and page.locator("#ranking table").first.is_visible()
    assert page.locator("button, .tools, dialog").count() == 0
    assert page.locator("nav a").first.is_visible()
    context.close()
