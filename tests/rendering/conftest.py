"""A realistic report to test with: three systems of different skill, drawn pictures, every section filled."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from PIL import Image, ImageDraw

from sightline.comparison.breakdown import Breakdown, GroupMean
from sightline.comparison.compare import Comparison
from sightline.comparison.measure_trust import MeasureTrust
from sightline.comparison.trust import Trust
from sightline.estimate import Direction, Estimate, absent
from sightline.records import Finding
from sightline.rendering import charts
from sightline.rendering.blocks import Figure, Findings, Grid, Heading, Section, cards
from sightline.rendering.document import Document, Fact, section_of
from sightline.rendering.shown import Scale, ShownPrompt, Thumbnail
from sightline.rendering.tables import Column, Table
from sightline.rendering.theme import system_colours
from sightline.statistics.comparison import Pair, Standing
from sightline.statistics.levels import LEVELS, Level

SYSTEMS = ("careful", "innumerate", "sloppy")
COLOURS = {"red": "#d1495b", "blue": "#30638e", "yellow": "#edae49", "green": "#3c8d5a"}
SKY = {"careful": "#eef2f5", "innumerate": "#f3efe6", "sloppy": "#e9e6ee"}


def draw(system: str, count: int, colour: str, shape: str, seed: int) -> bytes:
    """A small picture of `count` shapes, scattered by the seed."""
    chance = random.Random(f"{system}{seed}")
    size = 192
    image = Image.new("RGB", (size, size), SKY.get(system, "#eeeeee"))
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, size * 0.7, size, size), fill="#d9d2c3")
    for _ in range(count):
        x, y, r = chance.uniform(30, 160), chance.uniform(40, 160), chance.uniform(14, 26)
        box = (x - r, y - r, x + r, y + r)
        if shape == "circle":
            pen.ellipse(box, fill=COLOURS[colour])
        elif shape == "square":
            pen.rectangle(box, fill=COLOURS[colour])
        else:
            pen.polygon([(x, y - r), (x + r, y + r), (x - r, y + r)], fill=COLOURS[colour])
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


QUALITY = Scale("agreement with the prompt", "higher", 1, 5)
SKILLS = ("colour", "counting", "spatial", "negation", "text")

PROMPTS = (
    (
        "seven yellow squares and no circle",
        7,
        "yellow",
        "square",
        (("skill", "counting"), ("negation", "yes")),
    ),
    ("five red circles to the left of a blue square", 5, "red", "circle", (("skill", "spatial"),)),
    ("a green triangle with the word HELLO", 1, "green", "triangle", (("skill", "text"),)),
    ("one large blue square", 1, "blue", "square", (("skill", "colour"),)),
    ("a red circle", 1, "red", "circle", (("skill", "colour"),)),
    ("two green triangles", 2, "green", "triangle", (("skill", "counting"),)),
)


def shown(index: int, mean: float, samples: int = 2) -> ShownPrompt:
    text, count, colour, shape, tags = PROMPTS[index]
    wrong = {"careful": count, "innumerate": count + 2, "sloppy": max(1, count - 1)}
    thumbnails = [
        Thumbnail(draw(system, wrong[system], colour, shape, seed), system)
        for system in SYSTEMS
        for seed in range(samples)
    ]
    return ShownPrompt(text, Estimate(mean, mean - 0.31, mean + 0.28, 18), tags, thumbnails)


def make_comparison(names: Sequence[str] = ("careful", "sloppy", "innumerate")) -> Comparison:
    means = [Estimate(4.12 - n / 2, 3.95 - n / 2, 4.28 - n / 2, 24) for n in range(len(names))]
    standings = [
        Standing(name, mean, min(n + 1, 2), 1 if n == 0 else len(names))
        for n, (name, mean) in enumerate(zip(names, means, strict=True))
    ]
    pairs = [
        Pair(a, b, Estimate(0.91, 0.65, 1.18, 24), 0.0001, 0.0003, True)
        if first == 0
        else Pair(a, b, Estimate(0.16, -0.19, 0.52, 24), 0.312, 0.312, False)
        for first, a in enumerate(names)
        for b in names[first + 1 :]
    ]
    return Comparison(QUALITY.name, "higher", 24, standings, pairs, low=1, high=5)


def make_breakdown(groups: Sequence[str] = SKILLS, systems: Sequence[str] = SYSTEMS) -> Breakdown:
    means = {
        (group, system): Estimate(4.5 - g / 4 - s / 10, 4 - g / 4 - s / 10, 5 - g / 4 - s / 10, 5)
        for g, group in enumerate(groups)
        for s, system in enumerate(systems)
    }
    rows = [GroupMean(group, system, mean, mean) for (group, system), mean in means.items()]
    return Breakdown("skill", QUALITY.name, "higher", rows, dict.fromkeys(systems, 3.5), 1, 5)


def make_trust() -> Trust:
    measures: list[tuple[str, Direction, float]] = [
        ("counts_right", "higher", 0.58),
        ("noise", "lower", -0.41),
    ]

    def level(name: str, value: Estimate) -> Level:
        return Level(name, 288, value, value, value, Estimate(0.5, n=24), Estimate(0.7, n=3), np.zeros(0))

    def levels(r: float) -> dict[str, Level]:
        own = Estimate(r, r - 0.12, r + 0.11, 24)
        return {name: level(name, own if name != LEVELS[-1] else Estimate(r, n=3)) for name in LEVELS}

    rows = [
        MeasureTrust(name, "of_image", direction, question, levels(r))
        for name, direction, r in measures
        for question in ("agreement", "quality")
    ]
    missing = {"pooled": level("pooled", absent("only 3 prompts ask for text"))}
    return Trust([*rows, MeasureTrust("text_read", "of_image", "higher", "agreement", missing)])


def make_report() -> Document:
    hardest, easiest = [shown(0, 2.04), shown(1, 2.37), shown(2, 2.51)], [shown(3, 4.61), shown(4, 4.55)]
    means = [1 + n / 18 for n in range(72)]
    histogram = Figure.of(
        lambda width: charts.histogram(means, axis="mean quality", width=width), "All prompts."
    )
    scatter = Figure.of(
        lambda width: charts.scatter(
            [(x, x + 0.1) for x in means], x_axis="predicted", y_axis="true", width=width
        )
    )
    findings = [
        Finding("the same image answers two prompts", 4, ["a red circle.png"], "Look at both.", "warning"),
        Finding("image cannot be decoded", 1, ["sloppy/0012.png: truncated"], "Import it again.", "error"),
    ]
    gaps = Table([Column("what"), Column("reason")], [("text_read", "the prompt asks for no text")], "Gaps")
    colours = system_colours(SYSTEMS)
    compared = make_comparison()
    return Document(
        title="Sample study: scenes of shapes",
        answer=compared.sentence,
        made_at=datetime(2026, 3, 4, 15, 9, tzinfo=UTC),
        facts=[Fact("prompts", 24, "5 skills"), Fact("systems", 3), Fact("images", 288)],
        sections=[
            section_of(compared, "ranking", "The ranking", "How well does it match?"),
            section_of(make_breakdown(), "by-1", "By skill"),
            Section(
                "prompts",
                "Hardest and easiest prompts",
                "Counting beyond four is hard for all systems.",
                [
                    Heading("Hardest"),
                    cards(hardest, QUALITY, colours, easiest),
                    Heading("Easiest"),
                    cards(easiest, QUALITY, colours, hardest),
                    histogram,
                ],
            ),
            section_of(make_trust(), "trust", "Measures against people"),
            Section("prediction", "Prediction", "", [scatter]),
            Section("checks", "What the checks found", "2 findings", [Findings(findings)]),
            Section("gaps", "What could not be computed", "", [Grid.of(gaps)]),
        ],
        commands=["sightline import sample answers.csv", "sightline report sample"],
        provenance=[Table([Column("name"), Column("value")], [("sightline", "0.2.0")], "Versions")],
    )


@pytest.fixture(scope="session")
def comparison_of() -> Callable[..., Comparison]:
    return make_comparison


@pytest.fixture(scope="session")
def breakdown_of() -> Callable[..., Breakdown]:
    return make_breakdown


@pytest.fixture(scope="session")
def report() -> Document:
    return make_report()


@pytest.fixture(scope="session")
def picture() -> Callable[[int], bytes]:
    return lambda seed: draw("careful", 2, "red", "circle", seed)
