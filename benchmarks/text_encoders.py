"""How many captions a second the text encoders read, against one text a call in the same run.

Captions of 6 to 16 common words are drawn from a seed. The peer of each encoder is itself with one text per
call, as a caller without batches would use it: that ratio is what batches, sorting and all cores bring. The
vectors of both must agree. The bound is a rate: at 300 texts per second 590,000 captions take 33 minutes.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np

from sightline import registry
from sightline.cores import cores
from sightline.errors import SightlineError

LEAST = {"sentence": 300.0}
"""Texts per second on two cores."""
WORDS = (
    "a the man woman dog cat street table red blue large small two three people sitting standing holding "
    "riding bicycle train plate pizza ball umbrella beach snow kitchen window next to on of with in near "
    "front young old green wooden parked eating playing giraffe elephant clock sign building"
)
NAMES = ("sentence", "minilm", "minilm_layers", "hashed_words")


def captions(n: int, seed: int) -> list[str]:
    rng, words = np.random.default_rng(seed), WORDS.split()
    return [" ".join(rng.choice(words, size=rng.integers(6, 17))) for _ in range(n)]


def rate(encode: Callable[[], np.ndarray], n: int) -> tuple[float, np.ndarray]:
    begin = time.perf_counter()
    rows = encode()
    return n / (time.perf_counter() - begin), rows


def measured(name: str, texts: list[str], alone: int, rounds: int) -> dict[str, float | int]:
    encoder = registry.configure("encoder", name).load()
    encoder.text(texts[:32])
    several, single, gap = [], [], 0.0
    for _ in range(rounds):
        found, rows = rate(lambda: encoder.text(texts), len(texts))
        several.append(found)
        found, own = rate(lambda: np.vstack([encoder.text([text]) for text in texts[:alone]]), alone)
        single.append(found)
        gap = max(gap, float(np.abs(rows[:alone] - own).max()))
    return {
        "texts": len(texts),
        "texts_per_second": round(max(several), 1),
        "one_at_a_time": round(max(single), 1),
        "ratio": round(max(several) / max(single), 2),
        "largest_difference": gap,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=2_000)
    parser.add_argument("--alone", type=int, default=100, help="texts that are also encoded one at a time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same captions")
    parser.add_argument("names", nargs="*", default=list(NAMES), help="encoders; all by default")
    options = parser.parse_args()
    texts = captions(options.texts, options.seed)
    found: dict[str, dict[str, float | int] | str] = {}
    for name in options.names:
        try:
            found[name] = measured(name, texts, options.alone, options.rounds)
        except SightlineError as error:
            found[name] = f"not measured: {error.what}"
    slow = [
        name
        for name, least in LEAST.items()
        if isinstance(made := found.get(name), dict) and made["texts_per_second"] < least
    ]
    print(json.dumps({"cores": cores(), "encoders": found, "least": LEAST, "within": not slow}, indent=2))
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
