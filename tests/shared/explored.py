"""A study for the explorer whose every value is known, and somebody in a browser before it."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image as Pillow
from PIL import ImageDraw

from sightline.records import (
    Annotator,
    AnnotatorKey,
    Answer,
    Image,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)

SYSTEMS = ("alpha", "beta")
PROMPTS = 6
SAMPLES = 2
WIDE, HIGH = 96, 64
HOSTILE = '<script>window.evil = 1</script><img src=x onerror="window.evil = 2"> & "both" \'quotes\''
BOX = (0.25, 0.25, 0.75, 0.5)
FAILURE = "refused: <b>content</b> filter"

MEASURE = f"""
from sightline.extension import measure
from sightline.records import Value


@measure.of_image(direction="higher", range=(0, 1), source="test", licence="Apache-2.0")
def boxed(images):
    \"\"\"How sure a detector is of the box in the middle.\"\"\"
    found = {{"objects": [{{"label": "apple", "box": {list(BOX)}, "confidence": 0.9}}], "note": "one apple"}}
    return [Value(0.5, found) for _ in images]
"""


def truth_of(system: str, prompt: int, sample: int) -> float:
    """The known alignment: alpha is better at later prompts, beta at earlier ones."""
    return (prompt if system == "alpha" else PROMPTS - 1 - prompt) + sample / 2


def picture(number: int) -> bytes:
    """A picture that no other number gives, with a block where the detector sees it."""
    made = Pillow.new("RGB", (WIDE, HIGH), ((number * 53) % 256, (number * 97) % 256, (number * 29) % 256))
    pen = ImageDraw.Draw(made)
    pen.rectangle([WIDE * BOX[0], HIGH * BOX[1], WIDE * BOX[2], HIGH * BOX[3]], fill=(240, 240, 240))
    pen.text((WIDE // 2 - 6, HIGH // 3), str(number), fill=(0, 0, 0))
    out = io.BytesIO()
    made.save(out, "PNG")
    return out.getvalue()


def records(files: Path) -> Iterator[Record]:
    yield Question("alignment", low=0, high=6, direction="higher")
    people = [AnnotatorKey("panel", name) for name in ("Ann Lee", "Bob Ray")]
    yield from (Annotator(each) for each in people)
    serial = 0
    for number in range(PROMPTS):
        key = PromptKey("suite", str(number))
        words = HOSTILE if number == 3 else f"{number} red apples"
        yield Prompt(key, words, {"skill": "counting" if number % 2 else "spatial"})
        for system in SYSTEMS:
            for sample in range(SAMPLES):
                if (system, number, sample) == ("alpha", 5, 1):
                    yield Answer(key, system, sample, None, failure=FAILURE)
                    continue
                file = files / f"{system}-{number}-{sample}.png"
                file.write_bytes(picture(serial))
                image, serial = ImageKey("made", file.name), serial + 1
                yield Image(image, str(file))
                yield Answer(key, system, sample, image, seed=100 + serial, settings={"steps": 20})
                item, value = Item(prompt=key, image=image), truth_of(system, number, sample)
                yield Truth("alignment", item, value, value - 0.25, value + 0.25, 2)
                for who, away in zip(people, (-0.25, 0.25), strict=True):
                    yield Judgement("alignment", item, value + away, who, took_ms=4000)
    file = files / "photo.png"
    file.write_bytes(picture(99))
    yield Image(ImageKey("photos", file.name), str(file))


class View:
    """The explorer in a browser."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url

    def go(self, query: str = "") -> View:
        """Open an address, as somebody does who was sent it."""
        self.page.goto(f"{self.url}/view{query}")
        return self.loaded()

    def loaded(self) -> View:
        """Wait until the rows of the address are here."""
        self.page.wait_for_function(
            "() => document.getElementById('port')?.getAttribute('aria-busy') === 'false'"
            " && !document.querySelector('.line:not([hidden]) .cell.loading:not([hidden])')"
        )
        return self

    def count(self, text: str) -> None:
        """Wait until so many match."""
        self.page.wait_for_function(
            "text => document.getElementById('count').textContent === text"
            " && document.getElementById('port').getAttribute('aria-busy') === 'false'",
            arg=text,
        )

    def cells(self) -> list[dict[str, Any]]:
        """The cells in view, in the order they are seen."""
        return self.page.evaluate(
            "[...document.querySelectorAll('.line:not([hidden])')].sort((a, b) => a.number - b.number)"
            ".flatMap(line => line.cells).filter(cell => cell.row && !cell.hidden).map(cell => ({"
            "  key: cell.row.key, system: cell.querySelector('.who .name').textContent,"
            "  text: cell.querySelector('.text').textContent,"
            "  values: [...cell.querySelectorAll('.values b')].map(each => each.textContent),"
            "  selected: cell.getAttribute('aria-selected') === 'true' }))"
        )

    def query(self) -> str:
        """The query of the address, decoded."""
        return self.page.evaluate("decodeURIComponent(location.search.replaceAll('+', ' '))")

    def focused(self) -> str | None:
        """The key of the cell that has the focus."""
        return self.page.evaluate("document.activeElement.closest('.cell')?.row?.key ?? null")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def open(self, number: int = 0) -> None:
        """Open a cell with the mouse and wait for its detail."""
        self.page.locator(".line:not([hidden]) .cell:not([hidden])").nth(number).locator(".frame").click()
        self.opened()

    def opened(self) -> None:
        """Wait until a detail is open and all of it is here."""
        self.page.wait_for_selector("#detail[open]:not([aria-busy]) #facts h2")
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.stage')].every("
            "each => each.matches('.here') || each.querySelector('.absent').textContent)"
        )

    def closed(self) -> None:
        self.page.wait_for_selector("#detail", state="hidden")

    def filter(self, label: str) -> Any:
        """The filter of this name, unfolded."""
        found = self.page.locator("#filters .filter").filter(
            has=self.page.locator("summary .label", has_text=label)
        )
        found = found.first
        if not found.evaluate("it => it.open"):
            found.locator("summary").click()
        found.locator(".body > *").first.wait_for()
        return found
