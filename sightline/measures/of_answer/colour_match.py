"""Can the colours that a prompt names be seen in the image?"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

import numpy as np

from sightline.errors import UsageError
from sightline.extension import NoValue, Picture, Value, Values, measure
from sightline.records import Prompt

# The eleven basic colour terms of Berlin and Kay, each by a few examples as paint boxes and CSS name them.
EXAMPLES: Mapping[str, Sequence[tuple[int, int, int]]] = {
    "black": [(0, 0, 0), (30, 30, 30)],
    "white": [(255, 255, 255), (235, 235, 235)],
    "grey": [(128, 128, 128), (80, 80, 80), (190, 190, 190)],
    "red": [(255, 0, 0), (200, 20, 30), (139, 0, 0)],
    "orange": [(255, 165, 0), (255, 120, 0)],
    "yellow": [(255, 255, 0), (240, 210, 40)],
    "green": [(0, 128, 0), (0, 230, 60), (130, 190, 60), (40, 80, 40)],
    "blue": [(0, 0, 255), (40, 90, 200), (0, 150, 200), (150, 205, 250), (20, 30, 110)],
    "purple": [(128, 0, 128), (120, 60, 180), (190, 150, 240), (60, 10, 100)],
    "pink": [(255, 192, 203), (255, 105, 180), (240, 140, 160)],
    "brown": [(139, 69, 19), (100, 60, 30), (165, 110, 70)],
}
SPELLINGS: Mapping[str, str] = {**{name: name for name in EXAMPLES}, "gray": "grey", "violet": "purple"}
WORD = re.compile(r"\b(" + "|".join(SPELLINGS) + r")\b", re.IGNORECASE)
STEPS = 256


@measure.of_answer(direction="higher", range=(0, 1), source="Berlin and Kay 1969", licence="Apache-2.0")
def colour_match(prompts: Sequence[Prompt], images: Sequence[Picture], *, enough: float = 0.01) -> Values:
    """Proportion of the colours named in the prompt that can be seen in the image.

    Every pixel, at 32 steps per channel, belongs to the basic colour whose examples it is nearest to in
    CIELAB. A named colour is seen in full once it covers the proportion `enough` of the image, and in
    proportion below that; the value is the mean over the named colours. Which object wears the colour is not
    checked: a high value does not prove that a prompt was followed, a low one shows that it was not. Named
    are the colours of the objects the prompt expects, or else the colour words of its text ("orange" as a
    fruit counts, too).
    """
    if not 0 < enough <= 1:
        raise UsageError(f"colour_match: enough={enough} is no proportion", remedy="For example enough=0.01.")
    return [_match(prompt, image, enough) for prompt, image in zip(prompts, images, strict=True)]


def _match(prompt: Prompt, image: Picture, enough: float) -> Value | NoValue:
    named = _named_colours(prompt)
    if not named:
        return NoValue("the prompt names no colour")
    covered = _covered(image.rgb)
    seen = {name: covered[name] for name in named}
    return Value(sum(min(1.0, share / enough) for share in seen.values()) / len(seen), {"share": seen})


def _named_colours(prompt: Prompt) -> list[str]:
    objects = (prompt.expects or {}).get("objects", ())
    colours = [str(each["colour"]) for each in objects if isinstance(each, Mapping) and each.get("colour")]
    text = " ".join(colours) if colours else prompt.text
    return sorted({SPELLINGS[word.lower()] for word in WORD.findall(text)})


def _covered(rgb: np.ndarray) -> dict[str, float]:
    """The proportion of the image that each basic colour covers, on a grid of at most 256 x 256 pixels."""
    # Skipping pixels instead of averaging them: a mean of two colours is a third that nobody painted.
    step = max(1, -(-max(rgb.shape[:2]) // STEPS))
    red, green, blue = np.moveaxis(rgb[::step, ::step].astype(np.uint16) >> 3, 2, 0)
    cells = np.bincount((red << 10 | green << 5 | blue).ravel(), minlength=32**3)
    share = np.bincount(_names(), weights=cells, minlength=len(EXAMPLES)) / red.size
    return {name: float(part) for name, part in zip(EXAMPLES, share, strict=True)}


@cache
def _names() -> np.ndarray:
    """Which basic colour each cell of a 32 x 32 x 32 grid over RGB belongs to, by the centre of the cell."""
    steps = np.arange(32) * 8 + 3.5
    cells = _lab(np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3))
    examples = _lab(np.array([example for group in EXAMPLES.values() for example in group]))
    owner = np.repeat(np.arange(len(EXAMPLES)), [len(group) for group in EXAMPLES.values()])
    # |p - e|^2 without |p|^2, which is the same for every example.
    return owner[np.argmin((examples**2).sum(axis=1) - 2 * cells @ examples.T, axis=1)]


def _lab(rgb: np.ndarray) -> np.ndarray:
    """sRGB bytes to CIELAB under D65 (IEC 61966-2-1, CIE 15)."""
    value = rgb / 255
    linear = np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    xyz = linear @ to_xyz.T / np.array([0.9505, 1.0, 1.089])
    root = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    x, y, z = root[:, 0], root[:, 1], root[:, 2]
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)
