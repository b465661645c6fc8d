"""Take the pictures of the documentation again: docs/annotate/*.png, docs/view/*.png and docs/report.png.

    python tools/screenshots.py                # all of them
    python tools/screenshots.py owner report   # some of them

Chromium (SIGHTLINE_CHROMIUM names one) visits a real server over the sample study, and its report.
"""

from __future__ import annotations

import argparse
import io
import os
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

import sightline
from sightline.judging.annotate import annotate
from sightline.judging.oversee import invite
from sightline.judging.store import tokens
from sightline.samples.annotators import panel
from sightline.samples.judging import judge_round
from sightline.samples.study import write_sample
from sightline.study import reading
from sightline.study.study import Study, create_study, open_study
from sightline.web.app import create_app, create_explorer
from sightline.web.guarding import rules_for
from sightline.web.serving import Limits, Server, listen

DOCS = Path(__file__).resolve().parent.parent / "docs"
# Picture: mode of judging, and the keys that are pressed before it is taken.
MODES = {
    "graded_relevance": ("graded_relevance(images=5)", "211"),
    "binary_relevance": ("binary_relevance(images=8)", "12"),
    "ternary_relevance": ("ternary_relevance(images=5)", "12"),
    "two_sliders": ("two_sliders", "4"),
    "yes_no": ("yes_no", ""),
    "two_afc": ("two_afc", "a"),
    "similarity_rating": ("similarity_rating", "4"),
    "preference": ("preference(tie=True)", ""),
    "order": ("order", "12"),
}
# Taken of one of the modes: how the browser is set up.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "two_afc-dark": ("two_afc", {"color_scheme": "dark"}),
    "graded_relevance-phone": ("graded_relevance", {"viewport": {"width": 360, "height": 740}}),
    "order-phone": ("order", {"viewport": {"width": 360, "height": 740}}),
    "instructions": ("graded_relevance", {}),
}
# Of the explorer: its address, what is clicked before the picture is taken, and how the browser is set up.
VIEWS: dict[str, tuple[str, Sequence[str], dict[str, Any]]] = {
    "grid": (
        "?f.truth:alignment=..4&sort=truth:alignment&show=tag:skill",
        ["#filters [data-id='truth:alignment'] summary", ".cell >> nth=1 >> .check"],
        {},
    ),
    "detail": ("?q=six&sort=truth:alignment", [".cell >> nth=0 >> .frame"], {}),
    "verdicts": ("?f.tag:skill=counting&system=innumerate&chart=none", ["#verdicts"], {}),
    "head_to_head": (
        "?layout=pair&a=careful&b=sloppy&sort=-truth:alignment",
        [".cell >> nth=2 >> .frame"],
        {"color_scheme": "dark"},
    ),
    "phone": ("?sort=-disagreement:alignment", [], {"viewport": {"width": 390, "height": 800}}),
}
WIDE = {"width": 1280, "height": 800}
TALL = {"width": 1040, "height": 1396}
REPORT = {"width": 1000, "height": 1510}
SHRINK = 0.75


def main(words: Sequence[str]) -> int:
    known = [*MODES, *VARIANTS, "owner", "report", "view"]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*known, []], help="which; by default all")
    chosen = set(parser.parse_args(words).names or known)
    chromium = shutil.which(os.environ.get("SIGHTLINE_CHROMIUM", "chromium"))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        if chosen & {*MODES, *VARIANTS}:
            judging(browser, Path(folder), chosen)
        if "owner" in chosen:
            owner(browser, Path(folder))
        if chosen & {"report", "view"}:
            sightline.demo(Path(folder) / "demo")
        if "report" in chosen:
            report(browser, Path(folder) / "demo" / "report.html")
        if "view" in chosen:
            explorer(browser, Path(folder) / "demo" / "study")
        browser.close()
    return 0


def judging(browser: Any, folder: Path, chosen: set[str]) -> None:
    """The page on which people judge, in every mode."""
    for name in sorted(chosen & {*MODES, *VARIANTS}):
        mode, how = VARIANTS.get(name, (name, {}))
        with serving(folder / name, round_of(MODES[mode][0])) as (study, url):
            link = f"{url}/j/{invite(study, 'sample', 'ann', 'annotator').token}"
            context = browser.new_context(**{"viewport": WIDE, **how})
            page = context.new_page()
            page.goto(link)
            page.wait_for_selector("#instructions[open]")
            if name != "instructions":
                page.keyboard.press("Enter")
                page.wait_for_selector("#instructions", state="hidden")
                page.keyboard.type(MODES[mode][1])
            page.wait_for_load_state("networkidle")
            page.wait_for_timeout(800)
            save(Image.open(io.BytesIO(page.screenshot())), DOCS / "annotate" / f"{name}.png")
            context.close()


def round_of(mode: str, more: str = "") -> str:
    photo = "reference = false\n" if mode.startswith("graded_relevance") else ""
    return f'[annotate.sample]\nmode = "{mode}"\ntitle = "Sample study"\n{photo}{more}'


def owner(browser: Any, folder: Path) -> None:
    """The owner's page in the middle of a round, its upper part next to its lower part."""
    rules = '[screening]\nrules = ["agreement_with_rest", "speed"]\n'
    settings = rules + round_of("graded_relevance(images=5)", "per_item = 3\nprice = 0.2\n")
    with serving(folder / "owner", settings) as (study, url):
        right = dict(truth_of_images(study))
        began = datetime.now(UTC) - timedelta(minutes=5)
        judge_round(study, "sample", panel(), right, 12, began, skips=0.03)
        for person in panel():
            invite(study, "sample", person.name, "annotator")
        context = browser.new_context(viewport=TALL)
        page = context.new_page()
        page.goto(f"{url}/j/{tokens.issue_token(study, 'owner', 1)[0]}")
        page.wait_for_load_state("networkidle")
        page.wait_for_timeout(1500)
        parts(page, DOCS / "annotate" / "owner.png", "text=In dispute")
        context.close()


def explorer(browser: Any, folder: Path) -> None:
    """The explorer over the demo's study: the grid, one image, two systems head to head, a phone."""
    with open_study(folder) as study, answering(create_explorer(study, rules=rules_for("127.0.0.1"))) as url:
        for name, (query, clicks, how) in VIEWS.items():
            context = browser.new_context(**{"viewport": WIDE, **how})
            page = context.new_page()
            page.goto(f"{url}/j/{tokens.issue_token(study, 'owner', 1)[0]}")
            page.goto(f"{url}/view{query}")
            page.wait_for_selector(".cell:not(.loading) img.here")
            page.wait_for_load_state("networkidle")
            for place in clicks:
                page.locator(place).click()
                page.wait_for_load_state("networkidle")
            page.mouse.move(0, 0)
            page.wait_for_timeout(800)
            save(Image.open(io.BytesIO(page.screenshot())), DOCS / "view" / f"{name}.png")
            context.close()


def report(browser: Any, path: Path) -> None:
    """The beginning of the demo's report next to its hardest prompts."""
    page = browser.new_page(viewport=REPORT)
    page.goto(path.as_uri())
    page.wait_for_timeout(500)
    parts(page, DOCS / "report.png", "h2:has-text('Hardest and easiest prompts')", below=72)


def parts(page: Any, path: Path, second: str, below: int = 16) -> None:
    """The top of a page, and the page from an element on, side by side; `below` is the room above that."""
    left = Image.open(io.BytesIO(page.screenshot()))
    top = "(it, below) => window.scrollTo(0, it.getBoundingClientRect().top - below)"
    page.locator(second).first.evaluate(top, below)
    page.wait_for_timeout(500)
    right = Image.open(io.BytesIO(page.screenshot()))
    both = Image.new("RGB", (left.width + right.width, left.height))
    both.paste(left, (0, 0))
    both.paste(right, (left.width, 0))
    both = both.resize((round(both.width * SHRINK), round(both.height * SHRINK)), Image.Resampling.LANCZOS)
    save(both, path)


def save(picture: Image.Image, path: Path) -> None:
    """With a palette of 256 colours, a third of the bytes; small dots of colour keep theirs."""
    seen = picture.convert("RGB")
    # Every colour once more, however few pixels have it: the median cut goes by pixels.
    coarse = seen.quantize(256, Image.Quantize.FASTOCTREE).convert("RGB").getcolors(256) or []
    rare = Image.new("RGB", (seen.width, len(coarse)))
    for row, (_, colour) in enumerate(coarse):
        rare.paste(colour, (0, row, seen.width, row + 1))  # type: ignore[arg-type]
    both = Image.new("RGB", (seen.width, seen.height + rare.height))
    both.paste(seen, (0, 0))
    both.paste(rare, (0, seen.height))
    seen.quantize(palette=both.quantize(256), dither=Image.Dither.NONE).save(path, optimize=True)
    print(path.relative_to(DOCS.parent))


def truth_of_images(study: Study) -> Iterator[tuple[int, float]]:
    """The known alignment of each image, as the sample's files are named after it."""
    for key, name in reading.images(study).select("image_id", "name").iter_rows():
        system, _, rest = name.partition("/")
        ref, _, sample = rest.removesuffix(".png").rpartition("-")
        yield key, TRUTH[ref, system, int(sample)][0]


TRUTH: dict[tuple[str, str, int], tuple[float, float]] = {}


@contextmanager
def serving(folder: Path, settings: str) -> Iterator[tuple[Study, str]]:
    """A server over the images of the sample with these rounds, and its address."""
    sample = write_sample(folder / "files", prompts=16)
    TRUTH.update(sample.truth)
    with create_study(folder / "study", settings=settings) as study:
        sightline.import_(study, sample.prompts)
        sightline.import_(study, sample.answers)
        with answering(create_app(study, annotate(study).rounds, rules=rules_for("127.0.0.1"))) as url:
            yield study, url


@contextmanager
def answering(app: Any) -> Iterator[str]:
    """The address of an application while it runs."""
    ready: queue.Queue[str] = queue.Queue()
    server = Server(app, on_ready=ready.put, limits=Limits())
    thread = threading.Thread(target=server.run, args=(listen("127.0.0.1", 0),))
    thread.start()
    try:
        yield ready.get(timeout=60)
    finally:
        server.should_exit = True
        thread.join(60)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
