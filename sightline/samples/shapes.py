"""The objects of the sample pictures, each a few vector shapes in the square from -1 to 1."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from PIL import Image, ImageDraw

RGB = tuple[int, int, int]
Point = tuple[float, float]

PAINT: dict[str, RGB] = {
    "red": (221, 56, 58),
    "orange": (244, 137, 40),
    "yellow": (247, 204, 55),
    "green": (70, 164, 88),
    "blue": (52, 122, 205),
    "purple": (136, 88, 190),
    "pink": (241, 128, 176),
    "black": (54, 54, 64),
}
WHITE: RGB = (255, 255, 255)
INK: RGB = (43, 42, 51)
WOOD: RGB = (146, 102, 70)
CREAM: RGB = (253, 243, 220)
LEAF: RGB = (92, 158, 84)
GLASS: RGB = (206, 229, 240)

# Drawn this many times larger and averaged down: smooth edges without an antialiasing library.
OVERSAMPLE = 3


def mix(colour: RGB, other: RGB, share: float) -> RGB:
    """A colour mixed with some of another."""
    r, g, b = (round(a + (z - a) * share) for a, z in zip(colour, other, strict=True))
    return r, g, b


@dataclass
class Pen:
    """Draws on a transparent square in coordinates from -1 to 1, in shades of one colour."""

    pixels: int
    colour: RGB

    def __post_init__(self) -> None:
        self.side = self.pixels * OVERSAMPLE
        self.image = Image.new("RGBA", (self.side, self.side))
        self.canvas = ImageDraw.Draw(self.image)
        self.light = mix(self.colour, WHITE, 0.36)
        self.dark = mix(self.colour, INK, 0.24)

    def _at(self, points: Sequence[Point]) -> list[Point]:
        half = self.side / 2
        return [(half + x * half, half + y * half) for x, y in points]

    def polygon(self, points: Sequence[Point], fill: RGB | None = None, *, round_by: float = 0) -> None:
        """A filled polygon; without a fill it takes the pen's colour, lighter at the top than below."""
        corners = self._at(points)
        if fill is None:
            mask = Image.new("L", self.image.size)
            _polygon(ImageDraw.Draw(mask), corners, 255, round_by * self.side)
            self.image.paste(_gradient(self.colour, self.side), mask=mask)
        else:
            _polygon(self.canvas, corners, fill, round_by * self.side)

    def ellipse(self, x: float, y: float, rx: float, ry: float, fill: RGB | None = None) -> None:
        """A filled ellipse, with the pen's own shaded colour when no fill is named."""
        box = self._at([(x - rx, y - ry), (x + rx, y + ry)])
        if fill is None:
            mask = Image.new("L", self.image.size)
            ImageDraw.Draw(mask).ellipse(box, fill=255)
            self.image.paste(_gradient(self.colour, self.side), mask=mask)
        else:
            self.canvas.ellipse(box, fill=fill)

    def line(self, points: Sequence[Point], fill: RGB, width: float) -> None:
        """A line with round joints and ends."""
        thick = max(1, round(width * self.side / 2))
        path = self._at(points)
        self.canvas.line(path, fill=fill, width=thick, joint="curve")
        for x, y in (path[0], path[-1]):
            self.canvas.ellipse((x - thick / 2, y - thick / 2, x + thick / 2, y + thick / 2), fill=fill)

    def ring(self, x: float, y: float, rx: float, ry: float, fill: RGB, width: float) -> None:
        """An ellipse that is only its outline."""
        thick = max(1, round(width * self.side / 2))
        self.canvas.ellipse(self._at([(x - rx, y - ry), (x + rx, y + ry)]), outline=fill, width=thick)


def _polygon(canvas: ImageDraw.ImageDraw, corners: list[Point], fill: RGB | int, radius: float) -> None:
    canvas.polygon(corners, fill=fill)
    if radius >= 1:
        canvas.line([*corners, corners[0]], fill=fill, width=round(radius * 2), joint="curve")
        for x, y in corners:
            canvas.ellipse((x - radius, y - radius, x + radius, y + radius), fill=fill)


@lru_cache(maxsize=256)
def _gradient(colour: RGB, side: int) -> Image.Image:
    top = Image.new("RGBA", (side, side), mix(colour, WHITE, 0.14))
    bottom = Image.new("RGBA", (side, side), mix(colour, INK, 0.1))
    return Image.composite(bottom, top, Image.linear_gradient("L").resize((side, side)))


def _round(
    x: float, y: float, rx: float, ry: float, start: float, end: float, steps: int = 28
) -> list[Point]:
    """Points of an elliptic arc, angles in degrees clockwise from the right."""
    angles = [math.radians(start + (end - start) * i / steps) for i in range(steps + 1)]
    return [(x + rx * math.cos(a), y + ry * math.sin(a)) for a in angles]


def _apple(pen: Pen) -> None:
    pen.polygon([*_round(-0.28, 0.16, 0.56, 0.64, 75, 300), *_round(0.28, 0.16, 0.56, 0.64, -120, 105)])
    pen.ellipse(-0.42, -0.1, 0.13, 0.19, pen.light)
    pen.line([(0, -0.36), (0.03, -0.6), (0.12, -0.84)], WOOD, 0.1)
    pen.polygon([*_round(0.4, -0.36, 0.36, 0.36, 180, 270), *_round(0.04, -0.72, 0.36, 0.36, 0, 90)], LEAF)


def _ball(pen: Pen) -> None:
    pen.ellipse(0, 0, 0.9, 0.9)
    pen.polygon(
        [*_round(0, -0.42, 0.9, 0.62, 12, 168), *_round(0, -0.12, 0.9, 0.66, 172, 8)],
        mix(pen.colour, WHITE, 0.26),
    )
    pen.polygon([*_round(0, -0.12, 0.9, 0.66, 8, 172), *_round(0, 0, 0.9, 0.9, 176, 4)], pen.dark)
    pen.ellipse(-0.34, -0.56, 0.16, 0.1, mix(pen.light, WHITE, 0.6))


def _balloon(pen: Pen) -> None:
    pen.line(
        [*_round(0, 0.72, 0.07, 0.12, -90, 90, 8), *_round(0, 0.9, 0.05, 0.06, 270, 120, 8)],
        mix(INK, WHITE, 0.4),
        0.04,
    )
    pen.polygon([(0, 0.46), (0.14, 0.66), (-0.14, 0.66)], pen.dark)
    pen.polygon([*_round(0, -0.26, 0.64, 0.68, 180, 360), *_round(0, -0.26, 0.64, 0.82, 0, 180)])
    pen.ellipse(-0.26, -0.52, 0.13, 0.2, pen.light)


def _boat(pen: Pen) -> None:
    pen.line([(0, -0.9), (0, 0.5)], WOOD, 0.09)
    pen.polygon([(0.06, -0.86), (0.78, 0.36), (0.06, 0.4)], pen.light)
    pen.polygon([(-0.06, -0.6), (-0.06, 0.4), (-0.6, 0.36)], mix(pen.colour, WHITE, 0.2))
    pen.polygon([(-0.92, 0.34), (0.92, 0.34), (0.62, 0.84), (-0.6, 0.84)], round_by=0.02)
    pen.line([(-0.78, 0.52), (0.8, 0.52)], pen.dark, 0.07)


def _box(pen: Pen) -> None:
    pen.polygon([(0, -0.94), (0.84, -0.52), (0, -0.1), (-0.84, -0.52)], pen.light)
    pen.polygon([(-0.84, -0.52), (0, -0.1), (0, 0.94), (-0.84, 0.5)])
    pen.polygon([(0.84, -0.52), (0, -0.1), (0, 0.94), (0.84, 0.5)], pen.dark)
    pen.polygon([(-0.5, -0.69), (0.34, -0.27), (0.5, -0.35), (-0.34, -0.77)], mix(pen.light, WHITE, 0.55))
    pen.polygon([(0.34, -0.27), (0.5, -0.35), (0.5, -0.05), (0.34, 0.03)], mix(pen.light, WHITE, 0.35))


def _car(pen: Pen) -> None:
    pen.polygon([(-0.62, 0.06), (-0.36, -0.44), (0.26, -0.44), (0.58, 0.06)], round_by=0.05)
    pen.polygon([(-0.46, 0.0), (-0.28, -0.36), (-0.06, -0.36), (-0.06, 0.0)], GLASS)
    pen.polygon([(0.06, 0.0), (0.06, -0.36), (0.22, -0.36), (0.44, 0.0)], GLASS)
    pen.polygon([(-0.86, 0.1), (0.7, 0.06), (0.86, 0.2), (0.88, 0.44), (-0.88, 0.44)], round_by=0.04)
    pen.line([(-0.84, 0.34), (0.84, 0.34)], pen.dark, 0.06)
    pen.ellipse(0.86, 0.2, 0.08, 0.09, (255, 236, 150))
    for x in (-0.5, 0.5):
        pen.ellipse(x, 0.5, 0.25, 0.25, INK)
        pen.ellipse(x, 0.5, 0.11, 0.11, (214, 216, 222))


def _cat(pen: Pen) -> None:
    for side in (-1, 1):
        pen.polygon([(side * 0.74, -0.84), (side * 0.78, 0.1), (side * 0.12, -0.4)], round_by=0.025)
        pen.polygon([(side * 0.64, -0.6), (side * 0.66, -0.16), (side * 0.34, -0.38)], pen.light)
    pen.ellipse(0, 0.18, 0.86, 0.7)
    pen.ellipse(0, 0.5, 0.36, 0.26, pen.light)
    for side in (-1, 1):
        pen.ellipse(side * 0.36, 0.06, 0.17, 0.2, WHITE)
        pen.ellipse(side * 0.33, 0.08, 0.09, 0.15, INK)
        for y in (0.34, 0.46):
            pen.line([(side * 0.5, y), (side * 0.95, y - 0.08 + (y - 0.34))], mix(INK, WHITE, 0.35), 0.025)
    pen.polygon([(-0.1, 0.32), (0.1, 0.32), (0, 0.43)], (226, 120, 132))
    pen.line([(-0.16, 0.5), (-0.08, 0.56), (0, 0.5), (0.08, 0.56), (0.16, 0.5)], INK, 0.035)


def _cup(pen: Pen) -> None:
    pen.ring(0.5, 0.04, 0.4, 0.4, pen.dark, 0.17)
    pen.polygon(
        [
            (-0.8, -0.5),
            (0.52, -0.5),
            *_round(0.1, 0.5, 0.3, 0.34, 0, 90),
            *_round(-0.38, 0.5, 0.3, 0.34, 90, 180),
        ]
    )
    pen.ellipse(-0.14, -0.52, 0.66, 0.22, pen.light)
    pen.ellipse(-0.14, -0.5, 0.54, 0.15, (104, 66, 46))
    pen.line([(-0.56, -0.1), (-0.48, 0.42)], pen.light, 0.09)


def _fish(pen: Pen) -> None:
    pen.polygon([(-0.2, -0.3), (0.1, -0.68), (0.36, -0.2)], pen.dark, round_by=0.03)
    pen.polygon([(0.36, 0), (0.9, -0.5), (0.76, 0), (0.9, 0.5)], pen.dark, round_by=0.03)
    pen.polygon([*_round(-0.14, 0.3, 0.8, 0.76, 200, 340), *_round(-0.14, -0.3, 0.8, 0.76, 20, 160)])
    for x in (0.06, 0.26):
        pen.line(_round(x - 0.18, 0, 0.16, 0.26, -60, 60), pen.light, 0.06)
    pen.ellipse(-0.54, -0.1, 0.14, 0.14, WHITE)
    pen.ellipse(-0.57, -0.1, 0.075, 0.085, INK)


def _flower(pen: Pen) -> None:
    pen.line([(0, 0), (0.03, 0.5), (0, 0.94)], LEAF, 0.1)
    pen.polygon([*_round(0.03, 0.42, 0.46, 0.4, 0, 90), *_round(0.49, 0.82, 0.46, 0.4, 180, 270)], LEAF)
    for i in range(6):
        angle = math.radians(60 * i + 30)
        pen.ellipse(
            0.36 * math.cos(angle), -0.3 + 0.36 * math.sin(angle), 0.29, 0.29, None if i % 2 else pen.dark
        )
    for i in range(1, 6, 2):
        angle = math.radians(60 * i + 30)
        pen.ellipse(0.36 * math.cos(angle), -0.3 + 0.36 * math.sin(angle), 0.29, 0.29)
    pen.ellipse(0, -0.3, 0.22, 0.22, (250, 222, 120) if pen.colour != PAINT["yellow"] else (150, 96, 50))


def _heart(pen: Pen) -> None:
    turns = [2 * math.pi * i / 72 for i in range(72)]
    pen.polygon(
        [
            (
                0.93 * math.sin(t) ** 3,
                -0.056 * (13 * math.cos(t) - 5 * math.cos(2 * t) - 2 * math.cos(3 * t) - math.cos(4 * t))
                - 0.06,
            )
            for t in turns
        ]
    )
    pen.ellipse(-0.46, -0.38, 0.15, 0.12, pen.light)


def _house(pen: Pen) -> None:
    pen.polygon([(0.36, -0.9), (0.58, -0.9), (0.58, -0.2), (0.36, -0.2)], pen.dark)
    pen.polygon([(-0.7, -0.16), (0.7, -0.16), (0.7, 0.88), (-0.7, 0.88)])
    pen.polygon([(-0.9, -0.08), (0, -0.84), (0.9, -0.08)], pen.dark, round_by=0.025)
    pen.polygon([(-0.14, 0.34), (0.2, 0.34), (0.2, 0.88), (-0.14, 0.88)], WOOD)
    for x in (-0.54, 0.34):
        pen.polygon([(x, 0.14), (x + 0.24, 0.14), (x + 0.24, 0.42), (x, 0.42)], (255, 240, 178))
    pen.ellipse(0, -0.36, 0.13, 0.13, (255, 240, 178))
    pen.ellipse(0.12, 0.62, 0.035, 0.035, (255, 226, 130))


def _mushroom(pen: Pen) -> None:
    pen.polygon([(-0.22, 0), (0.22, 0), (0.28, 0.78), (-0.28, 0.78)], CREAM, round_by=0.06)
    pen.polygon([(0.08, 0), (0.22, 0), (0.28, 0.78), (0.12, 0.78)], mix(CREAM, WOOD, 0.18), round_by=0.06)
    pen.polygon([*_round(0, 0.08, 0.94, 0.98, 180, 360), *_round(0, 0.08, 0.94, 0.26, 0, 180)])
    for x, y, r in ((-0.46, -0.16, 0.14), (0.04, -0.5, 0.17), (0.5, -0.1, 0.13), (0.02, 0.02, 0.1)):
        pen.ellipse(x, y, r, r * 0.88, CREAM)


def _star(pen: Pen) -> None:
    tips = [math.radians(36 * i - 90) for i in range(10)]
    points = [
        ((0.9, 0.42)[i % 2] * math.cos(a), (0.9, 0.42)[i % 2] * math.sin(a) + 0.06)
        for i, a in enumerate(tips)
    ]
    pen.polygon(points, round_by=0.02)
    for i in range(0, 10, 2):
        pen.polygon([(0, 0.06), points[i], points[i - 1]], mix(pen.colour, WHITE, 0.26))


def _tree(pen: Pen) -> None:
    pen.polygon([(-0.12, 0.2), (0.12, 0.2), (0.17, 0.92), (-0.17, 0.92)], WOOD, round_by=0.01)
    for x, y, r in ((-0.42, 0.06, 0.44), (0.42, 0.08, 0.42), (0, -0.36, 0.56), (0, 0.14, 0.44)):
        pen.ellipse(x, y, r, r)
    for x, y, r in ((-0.16, -0.56, 0.18), (-0.52, -0.08, 0.13), (0.3, -0.16, 0.14)):
        pen.ellipse(x, y, r, r * 0.85, mix(pen.colour, WHITE, 0.24))


def _triangle(pen: Pen) -> None:
    pen.polygon([(0, -0.78), (0.82, 0.68), (-0.82, 0.68)], round_by=0.05)
    pen.polygon([(0, -0.78), (0.0, 0.2), (-0.82, 0.68)], mix(pen.colour, WHITE, 0.22), round_by=0.01)
    pen.polygon([(0, 0.2), (0.82, 0.68), (-0.82, 0.68)], pen.dark, round_by=0.01)


def _umbrella(pen: Pen) -> None:
    pen.line([(0, -0.9), (0, 0.66), *_round(0.17, 0.7, 0.17, 0.2, 180, 0, 12)], WOOD, 0.09)
    edge = [point for x in (0.69, 0.23, -0.23, -0.69) for point in _round(x, 0.1, 0.23, 0.14, 0, -180, 10)]
    pen.polygon([*_round(0, 0.1, 0.92, 0.88, 180, 360), *edge])
    for x in (-0.69, 0.23):
        pen.polygon([(0, -0.78), *_round(x, 0.1, 0.23, 0.14, 180, 360, 10)], pen.dark)


_SHAPES: dict[str, Callable[[Pen], None]] = {
    "apple": _apple,
    "ball": _ball,
    "balloon": _balloon,
    "boat": _boat,
    "box": _box,
    "car": _car,
    "cat": _cat,
    "cup": _cup,
    "fish": _fish,
    "flower": _flower,
    "heart": _heart,
    "house": _house,
    "mushroom": _mushroom,
    "star": _star,
    "tree": _tree,
    "triangle": _triangle,
    "umbrella": _umbrella,
}


@lru_cache(maxsize=1024)
def cutout(kind: str, colour: str, pixels: int, tilt: int = 0) -> Image.Image:
    """An object on a transparent square; treat it as read-only, since it is shared."""
    pen = Pen(pixels, PAINT[colour])
    _SHAPES[kind](pen)
    image = pen.image.rotate(tilt, Image.Resampling.BILINEAR) if tilt else pen.image
    return image.reduce(OVERSAMPLE)
