"""Studies of given records, and what is written in a figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest
from PIL import Image as Pillow
from PIL import ImageDraw

from sightline.judging.truth import truth
from sightline.records import (
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
)
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import render
from sightline.study.study import Study, create_study
from sightline.study.writing.loading import load


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[[Sequence[Record]], Study]:
    """Makes a study that holds these records."""

    def make(records: Sequence[Record]) -> Study:
        study = create_study(tmp_path / "study")
        load(study, records, importer="test", path="test", digest="1")
        return study

    return make


@pytest.fixture
def texts() -> Callable[[Figure], list[str]]:
    """All that is written in each drawing of a figure, the wide one first."""

    def read(figure: Figure) -> list[str]:
        roots = [ElementTree.fromstring(render(spec)) for spec in (figure.wide, figure.narrow) if spec]
        assert all(root.get("aria-label") for root in roots)
        return [" ".join(root.itertext()) for root in roots]

    return read


SKILLS = ("counting", "colour", "spatial relations", "text in images", "negation", "rare words")
STYLES = [f"style {n}" for n in range(1, 13)]
LONG = "organisation/text-to-image-diffusion-xl-turbo-1024px-v{0}.{1}-finetuned"


def system_names(count: int) -> list[str]:
    """Names as they occur: short ones, and long ones that differ only near their ends."""
    return [LONG.format(1 + n // 8, n % 8) if n % 3 else f"System {n + 1}" for n in range(count)]


def judged_records(folder: Path, systems: Sequence[str], prompts: int, people: int = 3) -> list[Record]:
    """Drawn images of systems of falling skill, judged on two questions; a third has five votes."""
    chance = Random(3)
    folder.mkdir(parents=True, exist_ok=True)
    records: list[Record] = [
        Question("alignment", low=0, high=5, wording="Does the image show what the prompt asks for?"),
        Question("quality", low=0, high=5, wording="Does it look good?"),
        Question("taste", low=0, high=5),
    ]
    left = 5
    for p in range(prompts):
        key = PromptKey("drawn", str(p))
        skill, balls = SKILLS[p % len(SKILLS)], 2 + p % 7
        tags = {"skill": skill, "style": STYLES[p % len(STYLES)]}
        records.append(Prompt(key, f"{balls} balls on a table, for {skill}, number {p}", tags))
        for s, system in enumerate(systems):
            name = f"{p}-{s}.png"
            _draw(folder / name, balls, Random(f"{p} {s}"))
            image = ImageKey("drawn", name)
            records += [Image(image, str(folder / name)), Answer(key, system, 0, image)]
            item = Item(prompt=key, image=image)
            for who in range(people):
                rater = AnnotatorKey("test", f"person {who}")
                skill = 4.6 - 3 * s / len(systems) + 0.1 * who - 0.3 * (p % 5)
                good = min(5.0, max(0.0, skill + chance.gauss(0, 0.5)))
                fine = min(5.0, max(0.0, 2 + (s % 7) / 3 + chance.gauss(0, 0.5)))
                records += [
                    Judgement("alignment", item, good, rater),
                    Judgement("quality", item, fine, rater),
                ]
                if left:
                    left -= 1
                    records.append(Judgement("taste", item, float(left), rater))
    return records


def _draw(path: Path, balls: int, chance: Random) -> None:
    image = Pillow.new("RGB", (96, 96), (225 + chance.randrange(25), 222, 214))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 66, 96, 96), fill=(190, 178, 160))
    for _ in range(balls):
        x, y, r = chance.uniform(12, 84), chance.uniform(30, 80), chance.uniform(5, 11)
        pen.ellipse(
            (x - r, y - r, x + r, y + r), fill=(chance.randrange(80, 220), 70, chance.randrange(60, 200))
        )
    image.save(path)


@pytest.fixture(scope="session")
def many_systems(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """28 systems, some with long names, on 24 prompts with a skill and a style."""
    folder = tmp_path_factory.mktemp("many")
    study = create_study(folder / "study")
    records = judged_records(folder / "images", system_names(28), 24)
    load(study, records, importer="test", path="many", digest="many")
    truth(study)
    return study
