"""Every page, in light and dark, as axe-core sees it. A page that is added gets a line in PAGES."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from accessible import findings

from sightline import registry

ROUND = '[annotate.r]\nmode = "{mode}"\nper_item = 2\nsession_pages = {pages}\nrest_minutes = {rest}\n'
MODES = registry.names("annotation_mode")
MORE = {"graded_relevance": 'reference = "photos"\n'}
"""What a mode needs besides."""
DISPUTED = '[annotate.r]\nmode = "preference(tie=True)"\nper_item = 2\n[annotate.z]\nmode = "yes_no"\n'


class Kit(NamedTuple):
    """What a page is opened with."""

    live: Any
    client: Any
    open: Callable[..., Any]
    folder: Path


def judging(mode: str) -> Callable[[Kit], Iterator[Any]]:
    def states(kit: Kit) -> Iterator[Any]:
        settings = ROUND.format(mode=mode, pages=200, rest=0) + MORE.get(mode, "")
        server = kit.live(settings, prompts=3, images=3)
        page = kit.open(server.invite("ann"))
        page.locator("#instructions[open]").wait_for()
        yield page
        page.keyboard.press("Enter")
        page.locator("#instructions").wait_for(state="hidden")
        page.wait_for_function(
            "() => [...document.querySelectorAll('.thing img')].every(image => image.naturalWidth)"
        )
        yield page
        page.keyboard.press("z")
        page.locator("#zoom[open]").wait_for()
        yield page

    return states


def between_tasks(kit: Kit) -> Iterator[Any]:
    server = kit.live(ROUND.format(mode="yes_no", pages=2, rest=5), prompts=3)
    page = kit.open(server.invite("ann"))
    page.locator("#instructions[open]").wait_for()
    page.keyboard.press("Enter")
    page.locator("#skip-page").click()
    page.locator("#skip[open]").wait_for()
    yield page
    page.keyboard.press("Escape")
    for _ in range(2):
        before = page.locator(".thing .picture img").get_attribute("src")
        page.keyboard.press("1")
        page.wait_for_function(
            "before => document.querySelector('.thing .picture img')?.getAttribute('src') !== before"
            " || !document.getElementById('screen').hidden",
            arg=before,
        )
    page.locator("#screen .rest").wait_for()
    yield page


def owner(kit: Kit) -> Iterator[Any]:
    server = kit.live(DISPUTED, prompts=4, images=1)
    for name, value in (("ann", 1.0), ("bob", 0.0)):
        who = kit.client(server.invite(name))
        while pages := who.work()["pages"]:
            who.answer_page(pages[0], value)
    page = kit.open(server.owner())
    page.locator(".dispute").first.wait_for()
    page.locator("#charts summary").first.click()
    page.locator("#charts table").wait_for()
    yield page
    page.locator(".dispute .picture").first.click()
    page.locator("#zoom[open]").wait_for()
    yield page
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Exclude").first.click()
    page.locator("#ask[open]").wait_for()
    yield page
    page.keyboard.press("Escape")
    page.get_by_label("Name").fill("cat")
    page.get_by_role("button", name="Make a link").click()
    page.locator("#link[open]").wait_for()
    yield page


def owner_of_nothing(kit: Kit) -> Iterator[Any]:
    page = kit.open(kit.live(ROUND.format(mode="two_sliders", pages=5, rest=0)).owner())
    page.locator("#all").wait_for(state="visible")
    yield page


def explorer(kit: Kit) -> Iterator[Any]:
    page = kit.open(kit.live(DISPUTED, prompts=4, images=1).owner())
    page.get_by_role("link", name="Explore images").click()
    page.locator("#board img").first.wait_for()
    yield page
    page.get_by_role("button", name="Head to head").click()
    page.locator("#pair").wait_for(state="visible")
    page.locator("#board img").first.wait_for()
    yield page
    page.get_by_role("button", name="Grid", exact=True).click()
    page.locator("#board [role=gridcell]").first.click()
    page.locator("#detail[open]").wait_for()
    yield page


def match(kit: Kit) -> Iterator[Any]:
    from PIL import Image

    Image.new("RGB", (60, 40), "red").save(kit.folder / "0_0.png")
    Image.new("RGB", (60, 40), "blue").save(kit.folder / "other.png")
    server = kit.live(DISPUTED, prompts=4, images=1)
    page = kit.open(server.owner())
    page.goto(f"{server.url}/match")
    yield page
    page.locator("#files").set_input_files([kit.folder / "0_0.png", kit.folder / "other.png"])
    page.locator("#prompts button").first.wait_for()
    yield page


def seeds(kit: Kit) -> Iterator[Any]:
    server = kit.live(DISPUTED, prompts=4, images=1)
    page = kit.open(server.owner())
    page.goto(f"{server.url}/seeds")
    page.locator("#collection option").first.wait_for(state="attached")
    yield page


def predict(kit: Kit) -> Iterator[Any]:
    page = kit.open(kit.live(ROUND.format(mode="yes_no", pages=5, rest=0), prompts=2).owner())
    page.get_by_role("link", name="Predict prompts").click()
    page.locator("#ask .primary:enabled").wait_for()
    page.locator("details summary").first.click()
    yield page
    page.select_option("[name=tier]", "small")
    page.fill("#prompts", "A dog catching a red frisbee\nA man riding a wave\n")
    page.get_by_role("button", name="Predict", exact=True).click()
    page.locator("#results").wait_for(state="visible")
    page.locator("#working").wait_for(state="hidden")
    yield page


def refused(kit: Kit) -> Iterator[Any]:
    server = kit.live(ROUND.format(mode="yes_no", pages=5, rest=0), prompts=2)
    yield kit.open(f"{server.url}/j/nobody")


def report(kit: Kit) -> Iterator[Any]:
    import sightline

    sightline.demo(kit.folder / "demo", prompts=12, samples=2)
    page = kit.open((kit.folder / "demo" / "report.html").as_uri())
    yield page
    page.evaluate("document.querySelectorAll('details').forEach(each => { each.open = true; })")
    yield page


def result(kit: Kit) -> Iterator[Any]:
    server = kit.live(DISPUTED)
    who = kit.client(server.invite("ann"))
    for _ in range(8):
        if pages := who.work()["pages"]:
            who.answer_page(pages[0], 1.0)
    from sightline.judging.overview import overview
    from sightline.rendering.html import page

    file = kit.folder / "result.html"
    file.write_text(page(overview(server.study, "r")), "utf-8")
    yield kit.open(file.as_uri())


PAGES: dict[str, Callable[[Kit], Iterator[Any]]] = {
    **{mode: judging(mode) for mode in MODES},
    "between tasks": between_tasks,
    "owner": owner,
    "owner of nothing": owner_of_nothing,
    "explorer": explorer,
    "match": match,
    "seeds": seeds,
    "predict": predict,
    "refused": refused,
    "report": report,
    "result": result,
}


# The report is by far the longest page; what it shares with the others is looked at with them.
SLOW = {"report": pytest.mark.slow}


@pytest.mark.parametrize("name", [pytest.param(name, marks=SLOW.get(name, ())) for name in PAGES])
def test_axe_finds_nothing(name: str, live: Any, client: Any, open_page: Any, tmp_path: Path) -> None:
    for state, page in enumerate(PAGES[name](Kit(live, client, open_page, tmp_path))):
        assert findings(page) == [], f"{name}, step {state}"
