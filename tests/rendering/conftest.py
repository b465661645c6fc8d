"""A realistic report to test with: three systems of different skill, drawn pictures, every section filled."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from PIL import Image, ImageDraw

from sightline.estimate import Estimate, absent
from sightline.rendering import document as d
from sightline.rendering.shown import Finding, Scale, ShownPrompt, Thumbnail

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
ALIKE = Scale("likeness of images (0 to 1)", "none", 0, 1)

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


def make_ranking() -> d.Ranking:
    def row(
        name: str, mean: float, low: float, high: float, ranks: tuple[int, int], best: float
    ) -> d.RankedSystem:
        share = d.Share("best on its prompt", Estimate(best, best - 0.1, best + 0.1, 24), "higher")
        return d.RankedSystem(name, Estimate(mean, low, high, 24), *ranks, (share,))

    return d.Ranking(
        QUALITY,
        (
            row("careful", 4.12, 3.95, 4.28, (1, 1), 0.79),
            row("sloppy", 3.21, 2.96, 3.47, (2, 3), 0.13),
            row("innumerate", 3.05, 2.74, 3.36, (2, 3), 0.17),
        ),
        (
            d.Difference(
                "careful", "sloppy", Estimate(0.91, 0.65, 1.18, 24), 0.0001, 0.0003, "careful is better"
            ),
            d.Difference(
                "careful", "innumerate", Estimate(1.07, 0.74, 1.41, 24), 0.0002, 0.0004, "careful is better"
            ),
            d.Difference(
                "sloppy", "innumerate", Estimate(0.16, -0.19, 0.52, 24), 0.312, 0.312, "cannot be told apart"
            ),
        ),
        summary="careful leads on nearly every prompt; sloppy and innumerate share second place.",
        method="Intervals hold 95 %, by bootstrap over prompts.",
    )


def make_breakdown() -> d.Breakdown:
    means = {
        "colour": (4.5, 4.3, 3.6),
        "counting": (4.1, 1.9, 3.1),
        "spatial": (3.9, 3.5, 2.9),
        "negation": (3.7, 3.1, 3.2),
        "text": (3.3, 3.2, 2.4),
    }
    cells = [
        d.BreakdownCell(skill, system, Estimate(mean, max(1, mean - 0.5), min(5, mean + 0.45), 5))
        for skill, row in means.items()
        for system, mean in zip(SYSTEMS, row, strict=True)
    ]
    return d.Breakdown("skill", QUALITY, cells, "innumerate falls behind on counting, and there alone.")


def make_report() -> d.Report:
    chance = random.Random(7)
    truths = [min(5, max(1, chance.gauss(3.5, 0.8))) for _ in range(72)]
    points = [(min(5, max(1, 1.3 + 0.62 * truth + chance.gauss(0, 0.45))), truth) for truth in truths]
    alike = ShownPrompt(
        PROMPTS[4][0],
        Estimate(0.91, 0.86, 0.95, 6),
        (("system", "careful"),),
        [Thumbnail(draw("careful", 1, "red", "circle", seed), "careful") for seed in range(6)],
    )
    varied = ShownPrompt(
        PROMPTS[0][0],
        Estimate(0.34, 0.22, 0.45, 6),
        (("system", "sloppy"),),
        [Thumbnail(draw("sloppy", 4 + seed, "yellow", "square", seed), "sloppy") for seed in range(6)],
    )
    measures = (
        ("clip_score(encoder=clip)", "higher", 0.62, 0.48),
        ("counts_right", "higher", 0.58, 0.21),
        ("sharpness", "higher", 0.07, 0.33),
        ("noise", "lower", -0.12, -0.41),
    )
    return d.Report(
        title="Sample study: scenes of shapes",
        answer=(
            "careful is the best of three systems: 4.1 of 5 [3.9, 4.3] over 24 prompts; "
            "sloppy and innumerate cannot be told apart."
        ),
        made_at=datetime(2026, 3, 4, 15, 9, tzinfo=UTC),
        study="sample",
        facts=(
            d.Fact("prompts", 24, "5 skills"),
            d.Fact("systems", 3),
            d.Fact("images", 288, "4 a prompt and system"),
            d.Fact("judgements", 3456),
            d.Fact("annotators", 12, "2 left out"),
        ),
        rankings=(make_ranking(),),
        breakdowns=(make_breakdown(),),
        prompts=d.Prompts(
            QUALITY,
            (shown(0, 2.04), shown(1, 2.37), shown(2, 2.51)),
            (shown(3, 4.61), shown(4, 4.55)),
            tuple(truths),
            "Counting beyond four is what all systems find hard.",
        ),
        variability=d.Variability(
            ALIKE,
            (
                d.SystemVariability("careful", Estimate(0.71, 0.66, 0.75, 24)),
                d.SystemVariability("innumerate", Estimate(0.69, 0.63, 0.74, 24)),
                d.SystemVariability("sloppy", Estimate(0.48, 0.41, 0.55, 24)),
            ),
            (varied,),
            (alike,),
            "sloppy draws a different picture every time; careful and innumerate repeat themselves.",
        ),
        trust=d.Trust(
            [
                d.MeasureTrust(name, direction, question, Estimate(value, value - 0.12, value + 0.11, 288))
                for name, direction, first, second in measures
                for question, value in (("agreement", first), ("quality", second))
            ]
            + [
                d.MeasureTrust("text_read", "higher", "agreement", Estimate(0.44, 0.12, 0.67, 36)),
                d.MeasureTrust("text_read", "higher", "quality", absent("only 3 prompts ask for text")),
            ]
        ),
        prediction=d.Prediction(
            QUALITY,
            (
                d.PredictorResult(
                    "ridge(embedding)", Estimate(0.71, 0.58, 0.81, 72), Estimate(0.52, 0.44, 0.6, 72)
                ),
                d.PredictorResult(
                    "word_count", Estimate(0.33, 0.11, 0.52, 72), Estimate(0.71, 0.6, 0.83, 72)
                ),
            ),
            "ridge(embedding)",
            tuple(points),
            (
                ShownPrompt(
                    "nine blue triangles above no square",
                    Estimate(1.9, 1.2, 2.6, 72),
                    note="many of one kind, and a negation",
                ),
                ShownPrompt("eight red circles and the word STOP", Estimate(2.1, 1.4, 2.8, 72)),
            ),
            "Ten folds, prompts kept together.",
            "Ridge regression on the prompt's embedding tells hard prompts from easy ones rather well.",
        ),
        judges=d.Judges(
            [
                d.Annotator(
                    f"annotator {n}", 288 + n, Estimate(0.78 - n / 50, 0.7 - n / 50, 0.84 - n / 50, 288)
                )
                for n in range(1, 9)
            ]
            + [
                d.Annotator(
                    "annotator 9", 288, Estimate(0.02, -0.1, 0.14, 288), "control kappa 0.05, below 0.4"
                ),
                d.Annotator("annotator 10", 12, absent("fewer than 20 shared judgements"), "left early"),
            ],
            (
                d.Agreement(
                    "agreement with the prompt", "Krippendorff's α (ordinal)", Estimate(0.67, 0.62, 0.72, 288)
                ),
            ),
        ),
        checks=d.Checks(
            "288 images of 24 prompts",
            (
                Finding(
                    "the same image answers two prompts",
                    4,
                    "warning",
                    ("a red circle.png",),
                    "Look at both and leave one out.",
                ),
                Finding(
                    "image cannot be decoded",
                    1,
                    "error",
                    ("sloppy/0012.png: truncated",),
                    "Import it again, or leave it out.",
                ),
                Finding("prompt has no tag", 2, "note", ("a red circle", "two green triangles")),
            ),
        ),
        gaps=(
            d.Gap("text_read", "the prompt asks for no text", 252),
            d.Gap("sharpness", "image cannot be decoded", 1, "Import it again."),
        ),
        provenance=d.Provenance(
            ("sightline import sample answers.csv", "sightline truth sample", "sightline report sample"),
            (("sightline", "0.1.0"), ("python", "3.11.7"), ("numpy", "2.4.0")),
            (("bootstrap", 20260304), ("folds", 17)),
            (
                ("consensus", "mean after control_kappa(above=0.4)"),
                ("interval", "bootstrap, 2,000 draws, 95 %"),
            ),
            (("sharpness", "3f2a" * 16), ("clip_score(encoder=clip)", "91bc" * 16)),
        ),
    )


@pytest.fixture(scope="session")
def report() -> d.Report:
    return make_report()


@pytest.fixture(scope="session")
def picture() -> Callable[[int], bytes]:
    return lambda seed: draw("careful", 2, "red", "circle", seed)
