"""Do the intervals of `trust` hold? Their coverage at each level, and the false alarms of its tests.

    python benchmarks/trust_coverage.py [STUDIES]

Values are normal: prompts with correlation `between`, answers of one prompt with correlation `within`, four
systems with one or three images each. The truth is a study of 3,000 prompts.
"""

from __future__ import annotations

import sys

import numpy as np

from sightline.statistics.levels import Items, at_levels, difference
from sightline.statistics.logistic import fit_logistic

SYSTEMS = 4
STATISTICS = ("spearman", "kendall", "plcc", "rmse", "accuracy")
LEVELS = ("pooled", "within prompts", "within systems")


def _mixed(rng: np.random.Generator, r: float, base: np.ndarray) -> np.ndarray:
    return r * base + np.sqrt(1 - r * r) * rng.normal(size=base.shape)


def study(rng: np.random.Generator, prompts: int, images: int, between: float, within: float) -> list[Items]:
    """Two measures of the same items, equally good."""
    rows = prompts * SYSTEMS * images
    prompt = np.repeat(np.arange(prompts), SYSTEMS * images)
    system = np.tile(np.repeat(np.arange(SYSTEMS), images), prompts)
    hard, own = rng.normal(size=prompts), rng.normal(size=rows)
    people = hard[prompt] + own
    made = []
    for _ in range(2):
        x = _mixed(rng, between, hard)[prompt] + _mixed(rng, within, own)
        made.append(Items(x, fit_logistic(x, people)(x), people, prompt, prompt, system))
    return made


def coverage(studies: int, prompts: int, images: int, between: float, within: float) -> dict[str, float]:
    """The proportion of intervals that hold the truth, and of equal measures that are called different."""
    true = at_levels(study(np.random.default_rng(0), 3_000, images, between, within)[0]).levels
    inside: dict[str, list[bool]] = {}
    for seed in range(studies):
        drawn = study(np.random.default_rng(1 + seed), prompts, images, between, within)
        first, second = (at_levels(each) for each in drawn)
        for level in LEVELS:
            for name in STATISTICS:
                found, value = getattr(first.levels[level], name), getattr(true[level], name).value
                if found.low is not None:
                    inside.setdefault(f"{level}: {name}", []).append(found.low <= value <= found.high)
            gap = difference(first.levels[level], second.levels[level], (1.0, 1.0), seed)
            inside.setdefault(f"{level}: false alarms", []).append(gap.p is not None and gap.p < 0.05)
    return {name: float(np.mean(each)) for name, each in inside.items() if len(each) > studies // 2}


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for prompts in (8, 10, 20, 40):
        for images in (1, 3):
            for between, within in ((0.0, 0.0), (0.6, 0.3), (0.9, 0.9)):
                found = coverage(number, prompts, images, between, within)
                print(f"prompts {prompts}, images {SYSTEMS * images}, between {between}, within {within}")
                for name, value in found.items():
                    print(f"  {name}: {value:.3f}", flush=True)
