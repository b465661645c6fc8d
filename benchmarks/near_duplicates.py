"""How long it takes to find near-duplicates among very many image hashes, and whether all are found.

Two sets of 64-bit hashes. In the even one all bits are random: the easy case. In the crowded one half of all
hashes lie near one of a hundred centres, as when systems answer the same prompts in the same style, so many
share a band. In both, copies with up to as many flipped bits as the rule allows are planted; each must be
found. A sample of hashes is compared with all others one by one as well: it must give the same pairs, and its
time, extrapolated to all hashes, is the peer's.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import numpy as np

from sightline.data.checks.images import near_identical_images
from sightline.statistics.near_duplicates import near_pairs

MOST_SECONDS = 120.0
PLANTED = 0.01
CENTRES = 100
SPREAD = 0.18
"""Proportion of bits in which members of a crowd differ from its centre: some 12 of 64, twice the limit."""
SAMPLE = 200


def flipped(hashes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """The hashes with the wanted bits (rows of 64 flags) turned over."""
    masks = np.packbits(wanted, axis=1).view(">u8").ravel().astype(np.uint64)
    return hashes ^ masks


def pile(kind: str, count: int, within: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Hashes, and the places of originals whose planted copies stand at the end."""
    copies = max(1, int(count * PLANTED))
    hashes = rng.integers(0, 2**64, count - copies, dtype=np.uint64)
    if kind == "crowded":
        crowd = len(hashes) // 2
        centres = rng.integers(0, 2**64, CENTRES, dtype=np.uint64)
        hashes[:crowd] = flipped(centres[rng.integers(0, CENTRES, crowd)], rng.random((crowd, 64)) < SPREAD)
    originals = rng.choice(len(hashes), copies, replace=False)
    changed = rng.integers(0, within + 1, copies)
    turned = rng.random((copies, 64)).argsort(axis=1).argsort(axis=1) < changed[:, None]
    return np.concatenate([hashes, flipped(hashes[originals], turned)]), originals


def measured(kind: str, count: int, within: int, rng: np.random.Generator) -> dict[str, Any]:
    hashes, originals = pile(kind, count, within, rng)
    planted = set(zip(originals.tolist(), range(count - len(originals), count), strict=True))
    looked = np.zeros(count, dtype=bool)
    looked[rng.choice(count, min(SAMPLE, count), replace=False)] = True
    pairs, of_sample = 0, set()
    seconds = 0.0
    begin = time.perf_counter()
    for a, b, _ in near_pairs(hashes, within=within):
        seconds += time.perf_counter() - begin
        pairs += len(a)
        planted.difference_update(zip(a.tolist(), b.tolist(), strict=True))
        chosen = looked[a] | looked[b]
        of_sample.update(zip(a[chosen].tolist(), b[chosen].tolist(), strict=True))
        begin = time.perf_counter()
    seconds += time.perf_counter() - begin
    expected = set()
    begin = time.perf_counter()
    for place in np.flatnonzero(looked).tolist():
        others = np.flatnonzero(np.bitwise_count(hashes ^ hashes[place]) <= within).tolist()
        expected |= {(min(place, other), max(place, other)) for other in others if other != place}
    direct = (time.perf_counter() - begin) / looked.sum() * count / 2
    return {
        "hashes": count,
        "seconds": round(seconds, 2),
        "direct_seconds": round(direct, 2),
        "times_as_fast": round(direct / seconds, 1),
        "pairs": pairs,
        "planted": len(originals),
        "planted_missed": len(planted),
        "sample_pairs": len(expected),
        "sample_differs": len(expected ^ of_sample),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hashes", type=int, default=100_000, help="how many hashes (default 100,000)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same hashes")
    options = parser.parse_args()
    within = int(near_identical_images.spec.parameter("bits").default)
    rng = np.random.default_rng(options.seed)
    piles = {kind: measured(kind, options.hashes, within, rng) for kind in ("even", "crowded")}
    sound = all(not each["planted_missed"] and not each["sample_differs"] for each in piles.values())
    slowest = max(each["seconds"] for each in piles.values())
    result = {
        "within_bits": within,
        "seed": options.seed,
        "cores": os.cpu_count(),
        **piles,
        "most_seconds": MOST_SECONDS,
        "within": sound and slowest <= MOST_SECONDS,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
    }
    print(json.dumps(result, indent=2))
    print(
        f"{options.hashes:,} hashes: {slowest:.1f} s at most (allowed {MOST_SECONDS:g} s), "
        f"{'every planted pair found' if sound else 'PAIRS MISSED'}",
        file=sys.stderr,
    )
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
