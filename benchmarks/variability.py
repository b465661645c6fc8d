"""How fast the k-expected maximum is: all k at once by random orders, against a direct loop over subsets.

    python benchmarks/variability.py [--prompts 50] [--images 300] [--permutations 1000] [--subsets 3]

Ours goes all the way from embeddings: distances of every prompt's images, normalised by a reference of all
pairs, then the k-expected minimum for every k from 2 to the number of images with its Monte-Carlo error.

The direct way is NumPy's as well: for each k draw a subset, take its part of the matrix of distances, and the
smallest off its diagonal. It would take hours for all of it, so that it is timed for `--subsets` subsets of
every k on one prompt and multiplied: its work is the same for each subset and prompt. It is given the
distances. Both must agree within five of their standard errors, which is looked at where the direct way has
draws enough: 400 subsets of a few k.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from sightline.statistics.reference import fitted
from sightline.statistics.sets import ExpectedMinimum, k_expected_minimum

MOST_SECONDS = 20.0
LEAST_RATIO = 50.0
LOOKED_AT = (2, 5, 10, 50, 200)
CHECKED = 400


def embeddings(prompts: int, images: int, dimensions: int, seed: int) -> np.ndarray:
    """Vectors of images: each prompt has its own scatter, and a few directions in which its images vary."""
    rng = np.random.default_rng(seed)
    scale = rng.uniform(0.3, 1.0, size=(prompts, 1, 1))
    few = rng.normal(size=(prompts, images, 8)) @ rng.normal(size=(prompts, 8, dimensions))
    return (scale * (few + 0.3 * rng.normal(size=(prompts, images, dimensions)))).astype(np.float32)


def ours(vectors: np.ndarray, permutations: int) -> tuple[list[ExpectedMinimum], np.ndarray]:
    """Every prompt's curve, and the normalised distances of the first prompt."""
    distances = [squareform(pdist(each)) for each in vectors]
    upper = np.triu_indices(vectors.shape[1], 1)
    reference = fitted(np.concatenate([each[upper] for each in distances]), "euclidean", "", "")
    normalised = [reference.normalise_matrix(each) for each in distances]
    found = [
        k_expected_minimum(each, permutations=permutations, seed=(0, number))
        for number, each in enumerate(normalised)
    ]
    return found, normalised[0]


def direct(distances: np.ndarray, k: int, subsets: int, rng: np.random.Generator) -> np.ndarray:
    """The smallest distance within each of some random k-subsets."""
    found = np.empty(subsets)
    for number in range(subsets):
        chosen = rng.choice(len(distances), size=k, replace=False)
        inside = distances[np.ix_(chosen, chosen)]
        np.fill_diagonal(inside, np.inf)
        found[number] = inside.min()
    return found


def furthest(curve: ExpectedMinimum, distances: np.ndarray) -> float:
    """How many standard errors the two ways lie apart at most."""
    rng = np.random.default_rng(1)
    apart = []
    for k in (each for each in LOOKED_AT if each <= len(distances)):
        drawn = direct(distances, k, CHECKED, rng)
        error = np.hypot(curve.error[k - 2], drawn.std(ddof=1) / CHECKED**0.5)
        apart.append(abs(drawn.mean() - curve.value[k - 2]) / max(error, 1e-12))
    return float(max(apart))


def timed(prompts: int, images: int, dimensions: int, permutations: int, subsets: int) -> dict[str, Any]:
    vectors = embeddings(prompts, images, dimensions, seed=0)
    begin = time.perf_counter()
    curves, distances = ours(vectors, permutations)
    seconds = time.perf_counter() - begin
    rng = np.random.default_rng(0)
    begin = time.perf_counter()
    for k in range(2, images + 1):
        direct(distances, k, subsets, rng)
    one = time.perf_counter() - begin
    whole = one / subsets * permutations * prompts
    return {
        "seconds": round(seconds, 2),
        "direct_seconds": round(whole, 1),
        "times_as_fast": round(whole / seconds, 1),
        "furthest_in_standard_errors": round(furthest(curves[0], distances), 2),
        "largest_monte_carlo_error": round(max(float(each.error.max()) for each in curves), 5),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--prompts", type=int, default=50, help="how many prompts (default 50)")
    parser.add_argument("--images", type=int, default=300, help="images per prompt (default 300)")
    parser.add_argument("--dimensions", type=int, default=512, help="of an embedding (default 512)")
    parser.add_argument("--permutations", type=int, default=1000, help="random orders (default 1,000)")
    parser.add_argument(
        "--subsets", type=int, default=3, help="subsets of every k that are timed (default 3)"
    )
    options = parser.parse_args()
    sizes = {key: value for key, value in vars(options).items() if key != "output"}
    found = timed(**sizes)
    result = {
        **sizes,
        **found,
        "most_seconds": MOST_SECONDS,
        "least_ratio": LEAST_RATIO,
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "within": found["seconds"] <= MOST_SECONDS
        and found["times_as_fast"] >= LEAST_RATIO
        and found["furthest_in_standard_errors"] <= 5,
    }
    print(json.dumps(result, indent=2))
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
