"""Draws what a scene says: paper cut-outs with soft shadows on a calm ground."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont

from sightline.samples.scenes import COLOURS, WHERES, Colour, Group, Scene, pick
from sightline.samples.shapes import CREAM, INK, OVERSAMPLE, WHITE, WOOD, cutout, mix

Box = tuple[float, float, float, float]

# What an object looks like when nobody asked for a colour.
NATURAL: dict[str, tuple[Colour, ...]] = {
    "apple": ("red", "green", "yellow"),
    "cat": ("orange", "black"),
    "fish": ("orange", "blue", "yellow"),
    "flower": ("red", "pink", "purple", "yellow", "orange"),
    "heart": ("red", "pink"),
    "mushroom": ("red", "orange"),
    "star": ("yellow", "orange"),
    "tree": ("green",),
}
# Share of the free square an object fills, and the largest radius it may have in a picture of width 1.
FILL: dict[str | None, tuple[float, float]] = {
    "small": (0.46, 0.13),
    None: (0.82, 0.26),
    "large": (0.9, 0.33),
}
GROUNDS: tuple[tuple[tuple[int, int, int], tuple[int, int, int]], ...] = (
    ((252, 246, 236), (243, 229, 211)),
    ((240, 246, 251), (217, 230, 241)),
    ((245, 248, 238), (224, 234, 214)),
    ((251, 243, 246), (238, 222, 229)),
    ((246, 243, 251), (226, 221, 239)),
    ((241, 249, 247), (213, 233, 229)),
)
UPRIGHT = frozenset({"boat", "car", "cup", "house", "tree", "flower", "mushroom"})
MIRRORED = frozenset({"boat", "car", "cup", "fish", "flower", "umbrella"})
SHADOW = 0.3
MARGIN = 0.05


@dataclass(frozen=True)
class Placed:
    """An object in its place; lengths as fractions of the picture's width."""

    group: Group
    x: float
    y: float
    radius: float


def settle(scene: Scene, rng: np.random.Generator) -> Scene:
    """The scene with what it leaves open decided: colours, and how the first two groups stand to each other.

    After this, a fact about the picture can be read from the scene; nothing is left to where objects land.
    """
    groups = tuple(
        group if group.colour else replace(group, colour=pick(rng, NATURAL.get(group.kind, COLOURS)))
        for group in scene.groups
    )
    where = scene.where or (pick(rng, WHERES) if len(groups) > 1 else None)
    return replace(scene, groups=groups, where=where)


def draw(scene: Scene, rng: np.random.Generator, size: int = 192) -> Image.Image:
    """A picture of the scene; what the scene leaves open, and the exact places, follow the generator."""
    return draw_known(scene, rng, size)[0]


def draw_known(scene: Scene, rng: np.random.Generator, size: int = 192) -> tuple[Image.Image, dict[str, Any]]:
    """A picture of the scene, and everything that is in it with its box."""
    scene = settle(scene, rng)
    picture = _ground(rng, size)
    placed, sign = layout(scene, rng)
    pieces = [_piece(thing, rng, size) for thing in placed]
    if scene.words and sign:
        pieces.append(_sign(scene.words, sign, size))
    shadow = Image.new("L", picture.size)
    for image, at in pieces:
        shadow.paste(150, (at[0] + round(size * 0.008), at[1] + round(size * 0.022)), image.getchannel("A"))
    shadow = shadow.filter(ImageFilter.GaussianBlur(size * 0.018))
    picture.paste(
        mix(INK, (90, 80, 110), 0.4), mask=shadow.point([round(v * SHADOW * 1.4) for v in range(256)])
    )
    for image, at in pieces:
        picture.paste(image, at, image)
    return picture, known(scene, placed, sign)


def known(scene: Scene, placed: Sequence[Placed], sign: Box | None) -> dict[str, Any]:
    """What is in a picture, as the study knows it: objects with boxes, colour and size, and written words."""
    objects = []
    for thing in placed:
        left, top, right, bottom = (
            round(min(max(centre + way * thing.radius, 0.0), 1.0), 4)
            for way in (-1, 1)
            for centre in (thing.x, thing.y)
        )
        seen = {"kind": thing.group.kind, "box": [left, top, right, bottom], "colour": thing.group.colour}
        objects.append({**seen, "size": thing.group.size} if thing.group.size else seen)
    words = [{"text": scene.words, "box": [round(side, 4) for side in sign]}] if scene.words and sign else []
    return {"objects": objects, "text": words, "complete": True}


def layout(scene: Scene, rng: np.random.Generator) -> tuple[tuple[Placed, ...], Box | None]:
    """Places without overlap for all objects, and the box of the sign if there is one.

    Related groups stand in two halves of the picture, side by side or one above the other, without a drift to
    the second direction that would make another relation true as well.
    """
    free: Box = (MARGIN, MARGIN, 1 - MARGIN, 1 - MARGIN)
    sign: Box | None = None
    if scene.words:
        sign, free = _sign_and_rest(free, bool(scene.groups), rng)
    groups = scene.groups
    if not groups:
        return (), sign
    if not scene.where:
        return tuple(_scatter(free, groups, rng, drift=(0.8, 0.8))), sign
    across = scene.where in ("left of", "right of")
    rest, placed = groups[2:], []
    if rest:
        free, band = _split(free, 0.66, across=not across)
        placed += _scatter(band, rest, rng, drift=(0.5, 0.5))
    first, second = groups[:2] if scene.where in ("left of", "above") else (groups[1], groups[0])
    share = min(0.62, max(0.38, first.count / (first.count + second.count)))
    near, far = _split(free, share, across=across)
    drift = (0.5, 0.15) if across else (0.15, 0.5)
    placed += _scatter(near, (first,), rng, drift) + _scatter(far, (second,), rng, drift)
    return tuple(placed), sign


def _split(box: Box, share: float, *, across: bool) -> tuple[Box, Box]:
    left, top, right, bottom = box
    if across:
        middle = left + (right - left) * share
        return (left, top, middle, bottom), (middle, top, right, bottom)
    middle = top + (bottom - top) * share
    return (left, top, right, middle), (left, middle, right, bottom)


def _sign_and_rest(free: Box, shared: bool, rng: np.random.Generator) -> tuple[Box, Box]:
    if not shared:
        return (0.12, 0.2, 0.88, 0.84), free
    upper = rng.random() < 0.5
    parts = _split(free, 0.42 if upper else 0.58, across=False)
    band, rest = parts if upper else parts[::-1]
    inset = 0.1 + 0.08 * rng.random()
    slide = (rng.random() - 0.5) * inset
    return (band[0] + inset + slide, band[1] + 0.02, band[2] - inset + slide, band[3] - 0.02), rest


def _scatter(
    box: Box, groups: tuple[Group, ...], rng: np.random.Generator, drift: tuple[float, float]
) -> list[Placed]:
    """The objects of the groups in rows of cells, mixed, each moved within its own cell."""
    things = [group for group in groups for _ in range(group.count)]
    things = [things[int(i)] for i in rng.permutation(len(things))]
    width, height = box[2] - box[0], box[3] - box[1]
    rows = _rows(len(things), width, height, rng)
    cell_height = height / len(rows)
    radius = min(width / max(rows), cell_height) / 2
    placed: list[Placed] = []
    for row, columns in enumerate(rows):
        cell_width = width / columns
        for column in range(columns):
            group = things[len(placed)]
            fill, most = FILL[group.size]
            r = min(radius * fill, most)
            dx, dy = (rng.random(2) * 2 - 1) * drift
            placed.append(
                Placed(
                    group,
                    box[0] + (column + 0.5) * cell_width + dx * (cell_width / 2 - r),
                    box[1] + (row + 0.5) * cell_height + dy * (cell_height / 2 - r),
                    r,
                )
            )
    return placed


def _rows(n: int, width: float, height: float, rng: np.random.Generator) -> list[int]:
    """How many objects stand in each row, so that the cells are as large as can be: seven become 2, 3, 2."""
    rows = max(range(1, n + 1), key=lambda r: min(width / -(-n // r), height / r))
    counts = [n // rows] * rows
    for i in rng.permutation(rows)[: n % rows]:
        counts[int(i)] += 1
    return counts


def _ground(rng: np.random.Generator, size: int) -> Image.Image:
    light, deep = (np.array(tone, dtype=np.float64) for tone in pick(rng, GROUNDS))
    steps = 24
    x, y = np.meshgrid(np.linspace(-1, 1, steps), np.linspace(-1, 1, steps))
    angle = rng.uniform(0.2, 0.8) * np.pi
    share = 0.5 + 0.34 * (x * np.cos(angle) + y * np.sin(angle))
    for _ in range(3):
        cx, cy, r = rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.3, 0.7)
        share -= 0.3 * np.exp(-((((x - cx) ** 2 + (y - cy) ** 2) / r**2) ** 2))
    share = np.clip(share, 0, 1)[..., None]
    tiny = np.round(light * (1 - share) + deep * share).astype(np.uint8)
    return Image.fromarray(tiny).resize((size, size), Image.Resampling.BICUBIC)


def _piece(thing: Placed, rng: np.random.Generator, size: int) -> tuple[Image.Image, tuple[int, int]]:
    pixels = max(8, int(thing.radius * 2 * size))
    tilt = 0 if thing.group.kind in UPRIGHT else int(pick(rng, (-8, -4, 0, 4, 8)))
    image = cutout(thing.group.kind, str(thing.group.colour), pixels, tilt)
    if thing.group.kind in MIRRORED and rng.random() < 0.5:
        image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
    return image, (round(thing.x * size - pixels / 2), round(thing.y * size - pixels / 2))


def _sign(words: str, box: Box, size: int) -> tuple[Image.Image, tuple[int, int]]:
    left, top, right, bottom = (round(side * size) for side in box)
    width, height = (right - left) * OVERSAMPLE, (bottom - top) * OVERSAMPLE
    image = Image.new("RGBA", (width, height))
    canvas = ImageDraw.Draw(image)
    board, edge = round(height * 0.7), size * OVERSAMPLE // 60
    for x in (0.24, 0.76):
        canvas.rectangle((width * x - edge * 1.4, board - edge, width * x + edge * 1.4, height), fill=WOOD)
    canvas.rounded_rectangle((0, 0, width - 1, board), radius=edge * 3, fill=WOOD)
    canvas.rounded_rectangle(
        (edge, edge, width - 1 - edge, board - edge), radius=edge * 2, fill=mix(CREAM, WHITE, 0.4)
    )
    points = 10.0 * OVERSAMPLE
    x0, y0, x1, y1 = canvas.textbbox((0, 0), words, font=ImageFont.load_default(size=points))
    points *= min((width - edge * 7) / (x1 - x0), (board - edge * 6) / (y1 - y0))
    font = ImageFont.load_default(size=points)
    canvas.text(
        (width / 2, board / 2),
        words,
        font=font,
        fill=INK,
        anchor="mm",
        stroke_width=max(1, round(points / 40)),
    )
    return image.reduce(OVERSAMPLE), (left, top)
