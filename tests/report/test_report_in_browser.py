"""Reports as a browser shows them: of 28 systems, and of published data, on a desk and on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sightline.data.import_ import import_
from sightline.judging.truth import truth
from sightline.measures.score import score
from sightline.report.report import report
from sightline.study.study import Study, create_study

# Boxes of text within one chart that lie over each other by more than a pixel each way.
OVERPRINTED = """() => {
  const found = [];
  for (const chart of document.querySelectorAll('svg')) {
    if (!chart.getBoundingClientRect().width) continue;
    const texts = [...chart.querySelectorAll('text')].filter(text => text.textContent.trim());
    const boxes = texts.map(text => text.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++) for (let j = i + 1; j < boxes.length; j++) {
      const across = Math.min(boxes[i].right, boxes[j].right) - Math.max(boxes[i].left, boxes[j].left);
      const down = Math.min(boxes[i].bottom, boxes[j].bottom) - Math.max(boxes[i].top, boxes[j].top);
      if (across > 1 && down > 2) found.push([texts[i].textContent, texts[j].textContent]);
    }
  }
  return found;
}"""
# What reaches beyond the page and is not within something that scrolls on its own.
BEYOND = """() => {
  const width = document.documentElement.clientWidth;
  const scrolls = it => it.closest('.table-scroll, .contents, pre, .scrolls, .skip');
  return [...document.querySelectorAll('body *')]
    .filter(it => !scrolls(it) && it.getBoundingClientRect().right > width + 1)
    .map(it => `${it.tagName} ${it.className.baseVal ?? it.className} ${it.textContent.slice(0, 40)}`);
}"""


@pytest.fixture(scope="module")
def many(many_systems: Study, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report(many_systems, tmp_path_factory.mktemp("page") / "many.html").path


@pytest.fixture(scope="module")
def published(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imagenhub")
    with create_study(folder / "imagenhub") as study:
        import_(study, data / "imagenhub")
        truth(study)
        score(study)
        return report(study, folder / "report.html").path


def looked_at(browser: Any, path: Path, width: int, scheme: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(folded => folded.open = true)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(BEYOND) == []
    assert page.evaluate(OVERPRINTED) == []
    assert said == []
    page.close()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_28_systems_fit_the_page(browser: Any, many: Path, width: int, scheme: str) -> None:
    looked_at(browser, many, width, scheme)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "scheme"), [(1280, "dark"), (390, "light")])
def test_imagenhub_fits_the_page(browser: Any, published: Path, width: int, scheme: str) -> None:
    looked_at(browser, published, width, scheme)


@pytest.mark.slow
def test_all_images_of_imagenhub_are_there_within_what_a_mail_takes(browser: Any, published: Path) -> None:
    assert published.stat().st_size < 25e6
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(published.as_uri())
    assert page.locator("#images .gallery img").count() == 679
    assert page.locator("#images .gallery > details").count() == 97
    page.get_by_label("Search the prompts").fill("horse")
    shown = page.locator("#images .gallery > details:visible").count()
    assert 0 < shown < 97
    page.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_the_matrix_of_28_systems_is_readable(browser: Any, many: Path, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 900})
    page.goto(many.as_uri())
    box = "it => { const r = it.getBoundingClientRect(); return [r.width, r.height]; }"
    squares = page.locator("#ranking .square-matrix .is-above")
    across, down = squares.first.evaluate(box)
    assert across >= 5 and down >= 12, "a square can be seen"
    names = page.locator("#ranking .square-matrix .name")
    assert names.count() == 28
    for each in names.all():
        assert each.evaluate("it => it.scrollWidth <= it.clientWidth + 1"), each.inner_text()
        assert each.evaluate(box)[1] <= 48, "a name takes three lines at most"
    page.close()
