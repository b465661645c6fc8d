"""Prompts that ask for a number of things."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sightline.errors import UsageError
from sightline.extension import task
from sightline.records import NewPrompt

NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
THINGS: Mapping[str, str] = {
    "apple": "apples",
    "ball": "balls",
    "balloon": "balloons",
    "bird": "birds",
    "boat": "boats",
    "book": "books",
    "bottle": "bottles",
    "box": "boxes",
    "candle": "candles",
    "car": "cars",
    "cat": "cats",
    "chair": "chairs",
    "clock": "clocks",
    "cup": "cups",
    "dog": "dogs",
    "fish": "fish",
    "flower": "flowers",
    "hat": "hats",
    "horse": "horses",
    "key": "keys",
    "knife": "knives",
    "lamp": "lamps",
    "leaf": "leaves",
    "mushroom": "mushrooms",
    "orange": "oranges",
    "pencil": "pencils",
    "shoe": "shoes",
    "spoon": "spoons",
    "tree": "trees",
    "umbrella": "umbrellas",
}


@task(skill="counting", source="GIMBRR (counting)", licence="Apache-2.0")
def counting(rng: np.random.Generator, n: int, *, most: int = 9) -> Iterator[NewPrompt]:
    """Prompts that ask for two up to `most` of one everyday thing, every number equally often.

    Expects exactly that many. No two prompts are the same.
    """
    if not 2 <= most <= len(NUMBERS) + 1:
        raise UsageError(f"counting: most={most}", remedy=f"Between 2 and {len(NUMBERS) + 1}.")
    things = list(THINGS)
    counts = range(2, most + 1)
    if n > len(things) * len(counts):
        raise UsageError(
            f"counting has {len(things) * len(counts)} different prompts up to {most}, not {n}",
            remedy="Ask for fewer prompts or raise most.",
        )
    # Going through the numbers in rounds, each with its own order of things, keeps them equally frequent.
    orders = {count: rng.permutation(len(things)) for count in counts}
    for place in range(n):
        count = counts[place % len(counts)]
        thing = things[int(orders[count][place // len(counts)])]
        yield NewPrompt(
            text=f"{NUMBERS[count - 2]} {THINGS[thing]}",
            tags={"skill": "counting", "number": str(count)},
            expects={"objects": [{"kind": thing, "count": count}]},
        )
