"""How often the 95 % intervals of kid and fid hold the true distance, for few vectors of several kinds.

    python benchmarks/distance_intervals.py [--rounds 400] [--dimensions 4 32]

Every line is a kind of vectors and a number of them in either set: proportions of rounds, of as many or half
as many, in which the interval held, and the mean of the estimates next to the truth.
"""

from __future__ import annotations

import argparse

import numpy as np

from sightline.statistics.feature_sets import Interval, frechet, frechet_infinity, kernel_distance

KINDS = ("the same", "shifted", "wider", "few directions", "long tails")
NUMBERS = (25, 50, 100, 200)
MANY, SOME = 50_000, 4_000


def drawn(kind: str, n: int, d: int, generator: np.random.Generator, other: bool) -> np.ndarray:
    """n vectors of d features: of the first set, or of the other."""
    rows = generator.normal(size=(n, d))
    if kind == "shifted":
        return rows + 0.5 * other
    if kind == "wider":
        return rows * (1.5 if other else 1)
    if kind == "few directions":
        spread = 1 / np.arange(1, d + 1)
        return (1.3 * rows + 0.3) * spread if other else rows * spread
    if kind == "long tails":
        return np.asarray(np.exp(0.36 * (rows + generator.normal(size=(n, 1))) + 0.3 * other))
    return rows


def truths(kind: str, d: int) -> tuple[float, float]:
    """The distances between very many vectors: kernel and Frechet."""
    if kind == "the same":
        return 0.0, 0.0
    generator = np.random.default_rng(99)

    def both(n: int) -> tuple[np.ndarray, np.ndarray]:
        return drawn(kind, n, d, generator, False), drawn(kind, n, d, generator, True)

    return float(np.mean([kernel_distance(*both(SOME)).value for _ in range(8)])), frechet(*both(MANY))


def held(found: Interval, truth: float) -> float:
    if found.low is None or found.high is None:
        return float("nan")
    return float(found.low <= truth <= found.high)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=400)
    options.add_argument("--dimensions", type=int, nargs="+", default=[4, 32])
    asked = options.parse_args()
    for d in asked.dimensions:
        for kind in KINDS:
            kid, fid = truths(kind, d)
            for n in NUMBERS:
                generator = np.random.default_rng(n + d)
                pairs = [
                    (drawn(kind, n, d, generator, False), drawn(kind, n, d, generator, True))
                    for _ in range(asked.rounds)
                ]
                kernels = [kernel_distance(*pair) for pair in pairs]
                distances = [frechet_infinity(*pair) for pair in pairs[: asked.rounds // 2]]
                print(
                    f"{d:3} features, {kind:14} n {n:3}: kid {np.mean([held(k, kid) for k in kernels]):.3f} "
                    f"fid {np.mean([held(f, fid) for f in distances]):.3f} "
                    f"({np.mean([f.value for f in distances]):.3f}, truth {fid:.3f})",
                    flush=True,
                )


if __name__ == "__main__":
    main()
