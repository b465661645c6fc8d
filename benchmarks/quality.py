"""Measures of an image: how many a second at 512 pixels, against others' code, and how well they rank.

    python benchmarks/quality.py                    # speed of every measure and feature set
    python benchmarks/quality.py --memory 10000     # memory over so many images
    python benchmarks/quality.py --tid DIR          # SRoCC with people for each distortion of TID2013
    python benchmarks/quality.py --brisque PYTHON   # the package brisque in an environment of its own

The package brisque fails on numpy 2 and needs a compiler (libsvm). An environment for it:

    python -m venv brisque
    brisque/bin/pip install "numpy<2" "scipy<1.14" "opencv-python-headless<4.12" brisque==0.2.0

pypiqe (pip install --no-deps pypiqe==1.2 opencv-python-headless) and scikit-image are compared where they are
installed. Everything runs on one core. Times are of the processor; on a busy machine the ratios hold better
than the images per second.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

from sightline import registry  # noqa: E402
from sightline.extension import Configured  # noqa: E402
from sightline.pictures import Picture  # noqa: E402
from sightline.records import NoValue, Value  # noqa: E402

SIDE = 512
ENCODERS = ("brisque_features", "gmlf", "higrade", "bmpri")
OTHERS = """
import sys, time, numpy as np
from brisque import BRISQUE
score = BRISQUE(url=False).score
images = np.load(sys.argv[1])
score(images[0])
begin = time.process_time()
values = [float(score(each)) for each in images]
print(len(images) / (time.process_time() - begin), *values)
"""


def photographs(n: int) -> list[np.ndarray]:
    """Crops of 512 pixels of scikit-learn's two photographs, continued by their mirror images."""
    from sklearn.datasets import load_sample_images

    random = np.random.default_rng(0)
    wide = [
        np.pad(each, ((0, 160), (0, 0), (0, 0)), mode="symmetric") for each in load_sample_images().images
    ]
    found = []
    for number in range(n):
        photo = wide[number % 2]
        top, left = (int(random.integers(0, length - SIDE + 1)) for length in photo.shape[:2])
        found.append(np.ascontiguousarray(photo[top : top + SIDE, left : left + SIDE]))
    return found


def decoded(pixels: np.ndarray) -> Picture:
    picture = Picture(b"")
    picture._rgb = pixels  # what is timed begins after decoding
    return picture


def per_second(call: Callable[[Any], Any], things: list[Any], turns: int = 3) -> float:
    """How many of the things a second of processor time, the best of some turns."""
    call(things[0])
    best = float("inf")
    for _ in range(turns):
        begin = time.process_time()
        for each in things:
            call(each)
        best = min(best, time.process_time() - begin)
    return len(things) / best


def _ours() -> list[Configured]:
    every = [registry.find_measure(name) for name in registry.names("of_image")]
    return [each for each in every if each.spec.origin == "sightline" and not each.spec.missing()]


def speed(images: list[np.ndarray]) -> dict[str, float]:
    pictures = [decoded(each) for each in images]
    found = {}
    for measure in _ours():
        function = measure.load()
        found[measure.name] = per_second(lambda picture, call=function: call([picture]), pictures)
    for name in ENCODERS:
        loaded = registry.configure("encoder", name).load()
        found[name] = per_second(lambda picture, call=loaded: call.image([picture]), pictures)
    return found


def compared(images: list[np.ndarray], ours: dict[str, float], python: str | None) -> dict[str, float]:
    """What other implementations do of the same images, by the name of our measure and of theirs."""
    found: dict[str, float] = {}
    try:
        from pypiqe import piqe
    except ImportError:
        print("pypiqe is not installed")
    else:
        found["piqe pypiqe"] = per_second(piqe, images, turns=1)
    if python is not None:
        file = Path("quality-images.npy").resolve()
        np.save(file, np.stack(images))
        try:
            said = subprocess.run(
                [python, "-c", OTHERS, str(file)], capture_output=True, text=True, check=True
            )
        finally:
            file.unlink()
        rate, *values = map(float, said.stdout.split())
        found["brisque brisque"] = rate
        if "brisque" in ours:
            mine = [
                float(each) for each in registry.find_measure("brisque").load()(list(map(decoded, images)))
            ]
            print(f"brisque: largest difference to the package {np.abs(np.array(mine) - values).max():.2f}")
    found |= _scikit_image(images)
    return found


def _scikit_image(images: list[np.ndarray]) -> dict[str, float]:
    try:
        from skimage import color, exposure, filters, measure, metrics, restoration
    except ImportError:
        print("scikit-image is not installed")
        return {}

    def equalised(rgb: np.ndarray) -> float:
        grey = color.rgb2gray(rgb)
        other = exposure.equalize_hist(grey)
        return float(metrics.structural_similarity(grey, other, gaussian_weights=True, data_range=1.0))

    calls = {
        "brightness rgb2gray": lambda rgb: color.rgb2gray(rgb).mean(),
        "contrast rgb2gray": lambda rgb: color.rgb2gray(rgb).std(),
        "sharpness laplace": lambda rgb: filters.laplace(color.rgb2gray(rgb)).var(),
        "noise estimate_sigma": lambda rgb: restoration.estimate_sigma(color.rgb2gray(rgb)),
        "spatial_information sobel": lambda rgb: filters.sobel(color.rgb2gray(rgb)).std(),
        "edge_sharpness blur_effect": lambda rgb: measure.blur_effect(rgb, channel_axis=2),
        "contrast_quality equalize_hist, structural_similarity": equalised,
    }
    found = {}
    for name, call in calls.items():
        try:
            found[name] = per_second(call, images, turns=2)
        except ImportError as error:
            print(f"{name}: {error}")
    return found


def memory(n: int) -> tuple[float, float]:
    """Megabytes at most after a tenth and after all of n images, every measure on each."""
    functions = [measure.load() for measure in _ours()]
    few = [np.ascontiguousarray(each[:128, :128]) for each in photographs(8)]
    seen = []
    for number in range(n):
        for function in functions:
            function([decoded(few[number % len(few)])])
        if number + 1 in (n // 10, n):
            seen.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    return seen[0], seen[1]


def with_people(folder: Path) -> None:
    from scipy.stats import spearmanr

    with (folder / "mos.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    pictures = [Picture(path=folder / row["file"]) for row in rows]
    mos = np.array([float(row["mos"]) for row in rows])
    kinds = sorted({int(row["type"]) for row in rows})
    print("| measure | direction | all | " + " | ".join(f"type {kind}" for kind in kinds) + " |")
    print("|---" * (3 + len(kinds)) + "|")
    for measure in _ours():
        values = np.array([_number(each) for each in measure.load()(pictures)])
        cells = [_rank(spearmanr, values, mos)]
        for kind in kinds:
            own = np.array([int(row["type"]) == kind for row in rows])
            levels = np.array([int(row["level"]) for row in rows])
            means = [values[own & (levels == level)].mean() for level in sorted(set(levels[own]))]
            steps = np.diff(means)
            way = "↑" if (steps > 0).all() else "↓" if (steps < 0).all() else ""
            cells.append(_rank(spearmanr, values[own], mos[own]) + way)
        print(f"| {measure.name} | {measure.spec.direction} | " + " | ".join(cells) + " |")


def _rank(spearmanr: Any, values: np.ndarray, mos: np.ndarray) -> str:
    known = np.isfinite(values)
    if known.sum() < 3 or np.ptp(values[known]) == 0:
        return "-"
    return f"{spearmanr(values[known], mos[known]).statistic:.2f}".replace("-", "−")


def _number(found: Any) -> float:
    if isinstance(found, NoValue):
        return float("nan")
    return float(found.value if isinstance(found, Value) else found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--images", type=int, default=12)
    parser.add_argument("--memory", type=int, default=0, metavar="N", help="watch memory over so many images")
    parser.add_argument("--brisque", metavar="PYTHON", help="an interpreter that has the package brisque")
    parser.add_argument("--tid", type=Path, metavar="DIR", help="TID2013 with mos.csv")
    asked = parser.parse_args()
    if asked.tid:
        with_people(asked.tid)
        return
    if asked.memory:
        first, last = memory(asked.memory)
        print(f"{asked.memory:,} images: {first:.0f} MB after a tenth, {last:.0f} MB at the end")
        sys.exit(last > 1.05 * first)
    images = photographs(asked.images)
    ours = speed(images)
    print("| measure or feature set | images per second |\n|---|---|")
    for name, rate in ours.items():
        print(f"| {name} | {rate:.0f} |")
    print("\n| ours | theirs | images per second, theirs | ratio |\n|---|---|---|---|")
    for names, rate in compared(images, ours, asked.brisque).items():
        name, _, other = names.partition(" ")
        if name in ours:
            print(f"| {name} | {other} | {rate:.1f} | {ours[name] / rate:.1f} |")
    print(json.dumps({"images": len(images), "side": SIDE}))


if __name__ == "__main__":
    main()
