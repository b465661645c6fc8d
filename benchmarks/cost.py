"""What scoring a large study costs: time, money and storage, from seconds per image that were measured.

    python benchmarks/cost.py                  # the example of docs/scale.md
    python benchmarks/cost.py --check FOLDER   # predict a run that was not part of the fit, then run it

Everything that depends on hardware or prices is an input. Figures of a GPU are the reader's own: none was
measured here.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from drawn_studies import Size, build
from growth import measured

GIGABYTE = 1e9
SECONDS_AN_HOUR = 3600.0


@dataclass(frozen=True)
class Work:
    """What is to be computed, and on what.

    `seconds` has, for each measure, the seconds per image of one worker; `decode` is paid once per image for
    all measures together, `keep` once per score. `start` is what each worker needs before its first image.
    """

    images: int
    seconds: Sequence[float]
    decode: float
    keep: float
    workers: int = 1
    start: float = 0.0
    price_an_hour: float = 0.0
    """Of one worker."""
    image_bytes: float = 0.0
    score_bytes: float = 0.0
    vector_bytes: float = 0.0
    """Of all vectors of an image that are kept."""
    price_a_gigabyte_month: float = 0.0


@dataclass(frozen=True)
class Cost:
    """Hours on the clock, what they cost, and what is stored."""

    hours: float
    compute: float
    gigabytes: float
    storage_a_month: float


def cost(work: Work) -> Cost:
    """Start + images x (decode + sum of seconds + keep x measures) / workers, and what follows from it."""
    an_image = work.decode + sum(work.seconds) + work.keep * len(work.seconds)
    hours = (work.start + work.images * an_image / work.workers) / SECONDS_AN_HOUR
    held = work.image_bytes + work.vector_bytes + work.score_bytes * len(work.seconds)
    gigabytes = work.images * held / GIGABYTE
    return Cost(
        hours,
        hours * work.workers * work.price_an_hour,
        gigabytes,
        gigabytes * work.price_a_gigabyte_month,
    )


def fitted(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """The seconds that a run starts with, and those per image: a line by least squares."""
    mean, middle = sum(sizes) / len(sizes), sum(seconds) / len(seconds)
    spread = sum((each - mean) ** 2 for each in sizes)
    rate = sum((x - mean) * (y - middle) for x, y in zip(sizes, seconds, strict=True)) / spread
    return middle - rate * mean, rate


def check(folder: Path, sizes: Sequence[int], beyond: int) -> None:
    """Fit the time of scoring at some sizes, predict a larger one, and run that as well."""
    taken = [_scored(folder, n) for n in sizes]
    start, rate = fitted([float(n) for n in sizes], taken)
    predicted = cost(Work(beyond, [rate], 0.0, 0.0, start=start)).hours * SECONDS_AN_HOUR
    found = _scored(folder, beyond)
    print(f"fitted at {', '.join(f'{n:,}' for n in sizes)} images:", end=" ")
    print(f"{start:.2f} s and {rate * 1e3:.3f} ms per image")
    print(f"{beyond:,} images: predicted {predicted:.1f} s, measured {found:.1f} s,", end=" ")
    print(f"{found / predicted:.2f} times")


def _scored(folder: Path, n: int) -> float:
    build(folder / str(n), Size(n, n, max(1, n // 10), 5, 2, 1)).close()
    return measured("score", str(folder / str(n)), "sharpness")[0]


EXAMPLE = Work(
    images=10_000_000,
    seconds=[0.002] * 5,
    decode=0.0013,
    keep=0.00023,
    workers=16,
    price_an_hour=0.05,
    image_bytes=50_000,
    score_bytes=70,
    vector_bytes=2_048,
    price_a_gigabyte_month=0.02,
)
"""Light measures of images of 512 px on 16 cores; docs/scale.md says which figures were measured."""


def main() -> None:
    """Print the example, or check the arithmetic against a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", type=Path, metavar="FOLDER", help="an empty folder to make studies in")
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 1_000, 2_000])
    parser.add_argument("--beyond", type=int, default=8_000)
    chosen = parser.parse_args()
    if chosen.check:
        chosen.check.mkdir(parents=True, exist_ok=True)
        check(chosen.check, chosen.sizes, chosen.beyond)
        return
    found = cost(EXAMPLE)
    print(f"{EXAMPLE.images:,} images x {len(EXAMPLE.seconds)} measures on {EXAMPLE.workers} workers:")
    print(f"{found.hours:.1f} hours, {found.compute:.2f} for computing,", end=" ")
    print(f"{found.gigabytes:,.0f} GB, {found.storage_a_month:.2f} a month")


if __name__ == "__main__":
    main()
