"""Prompts for text that must be written in the image."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sightline.expects import thing as demand
from sightline.extension import task
from sightline.records import NewPrompt
from sightline.skills.tasks._grammar import LARGEST, Stratum, check, check_word, cut, draw, single
from sightline.skills.tasks._things import BY_KIND, Thing

CARRIERS = (
    "book", "cup", "bus", "truck", "boat", "suitcase", "backpack", "cake", "tv", "laptop", "kite",
    "surfboard", "skateboard", "refrigerator", "bottle",
)  # fmt: skip
WIDE_CARRIERS = tuple(
    Thing(kind, kind, f"{kind}s", "street", "sign")
    for kind in ("sign", "billboard", "poster", "banner", "newspaper", "greeting card", "T-shirt", "ticket")
)
"""What usually carries text, though detectors of COCO's classes do not know it."""
WORDS = (
    "autumn", "bakery", "balance", "bridge", "butter", "candle", "carpet", "castle", "cherry", "circle",
    "cloud", "coffee", "copper", "cotton", "dance", "desert", "dream", "early", "eleven", "engine",
    "evening", "factory", "family", "feather", "fifty", "flower", "forest", "friend", "garden", "ginger",
    "golden", "green", "guitar", "hammer", "harbor", "harvest", "hello", "honey", "house", "island",
    "jacket", "jungle", "kettle", "kitchen", "ladder", "lemon", "letter", "library", "lucky", "magic",
    "market", "meadow", "mirror", "monday", "morning", "mountain", "museum", "music", "narrow", "needle",
    "north", "ocean", "office", "open", "orange", "palace", "paper", "pepper", "piano", "picnic", "planet",
    "pocket", "purple", "quiet", "rabbit", "railway", "ribbon", "river", "rocket", "sailor", "salt",
    "school", "seven", "shadow", "silver", "simple", "spring", "station", "stone", "summer", "sunday",
    "table", "thunder", "ticket", "tiger", "tomorrow", "travel", "valley", "velvet", "village", "violin",
    "visit", "water", "welcome", "window", "winter", "wonder", "yellow",
)  # fmt: skip
LONGEST = 8


@task(skill="text_rendering", source="GIMBRR (text rendering)", licence="Apache-2.0")
def text_rendering(
    rng: np.random.Generator, n: int, *, least: int = 1, most: int = 4, vocabulary: str = "coco"
) -> Iterator[NewPrompt]:
    """Prompts for a thing with `least` to `most` given words on it, every length equally often.

    The words are drawn at random, so that one cannot be guessed from the others. Expects the thing and the
    text. `vocabulary` is coco, or wide, which has signs, posters and the like as well.
    """
    check("text_rendering", "least", least, 1, LONGEST)
    check("text_rendering", "most", most, least, LONGEST)
    check_word("text_rendering", "vocabulary", vocabulary, ("coco", "wide"))
    carriers = [BY_KIND[kind] for kind in CARRIERS]
    carriers += WIDE_CARRIERS if vocabulary == "wide" else ()

    def made(length: int) -> Stratum:
        sizes = [len(carriers), *[len(WORDS)] * length]
        size = min(len(carriers) * len(WORDS) ** length, LARGEST)

        def make(number: int) -> NewPrompt:
            which, *words = cut(number, *sizes)
            return _written(carriers[which], [WORDS[word] for word in words])

        return Stratum(size, make)

    yield from draw("text_rendering", rng, n, [made(length) for length in range(least, most + 1)])


def _written(carrier: Thing, words: Sequence[str]) -> NewPrompt:
    text = " ".join(words)
    simpler = [single(carrier)]
    if len(words) > 1:
        simpler.insert(0, _written(carrier, words[:1]))
    named = "word" if len(words) == 1 else "words"
    return NewPrompt(
        f'{carrier.a} with the {named} "{text}" on it',
        {"skill": "text_rendering", "words": str(len(words))},
        {"objects": [demand(carrier.kind)], "text": text, "complete": True},
        simpler,
    )
