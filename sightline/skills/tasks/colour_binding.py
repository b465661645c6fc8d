"""Prompts that give each thing its own colour."""

from __future__ import annotations

from collections.abc import Iterator
from math import comb, perm

import numpy as np

from sightline.errors import UsageError
from sightline.extension import task
from sightline.records import NewPrompt

COLOURS = ("red", "orange", "yellow", "green", "blue", "purple", "pink", "brown", "black", "white")
THINGS = (
    "ball",
    "bag",
    "book",
    "bowl",
    "car",
    "chair",
    "cup",
    "door",
    "flower",
    "hat",
    "lamp",
    "pencil",
    "scarf",
    "shoe",
    "umbrella",
)


@task(skill="colour_binding", source="Huang et al. 2023 (T2I-CompBench)", licence="Apache-2.0")
def colour_binding(rng: np.random.Generator, n: int, *, things: int = 2) -> Iterator[NewPrompt]:
    """Prompts that name different things, each in another colour; right only if none is swapped.

    The things are such as come in any colour, so that habit gives no answer away. Expects one of each in
    its colour. No two prompts ask for the same.
    """
    if not 2 <= things <= len(COLOURS):
        raise UsageError(f"colour_binding: things={things}", remedy=f"Between 2 and {len(COLOURS)}.")
    different = comb(len(THINGS), things) * perm(len(COLOURS), things)
    if n > different:
        raise UsageError(
            f"colour_binding has {different:,} different prompts of {things} things, not {n:,}",
            remedy="Ask for fewer prompts, or for more things in each.",
        )
    made: set[frozenset[tuple[str, str]]] = set()
    while len(made) < n:
        chosen = [THINGS[int(each)] for each in rng.choice(len(THINGS), things, replace=False)]
        colours = [COLOURS[int(each)] for each in rng.choice(len(COLOURS), things, replace=False)]
        pairs = list(zip(colours, chosen, strict=True))
        if frozenset(pairs) in made:
            continue
        made.add(frozenset(pairs))
        named = [f"{'an' if colour[0] in 'aeiou' else 'a'} {colour} {thing}" for colour, thing in pairs]
        yield NewPrompt(
            text=f"{', '.join(named[:-1])} and {named[-1]}",
            tags={"skill": "colour_binding", "things": str(things)},
            expects={"objects": [{"kind": thing, "count": 1, "colour": colour} for colour, thing in pairs]},
        )
