"""Whether distances know what belongs together: images of one prompt against images of different prompts.

The images of VISOR's two systems, 100 prompts each with 4 samples: for each system and distance the chance
that a pair of one prompt is closer than a pair of two prompts (AUC, ties counting half). Pictures without any
content, which a system gives when its filter strikes, are equal whatever the prompt: figures are given
without them and with them.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sightline import registry
from sightline.data.checks.images import blank_images
from sightline.errors import MissingPackage
from sightline.extension import Picture

COSINE = "embedding(encoder={}, metric=cosine)"
DISTANCES = (
    "pixel_l2",
    "colour_histogram",
    "perceptual_hash",
    "ssim",
    "ms_ssim",
    "lpips",
    "lpips(side=128)",
    "lpips(net=vgg)",
    "embedding",
    COSINE.format("colour_layout"),
    "embedding(encoder=efficientnet_lite0)",
    COSINE.format("efficientnet_lite0"),
    COSINE.format("efficientnet_lite0(stages=(7,))"),
    COSINE.format("efficientnet_lite0(stages=(6, 7, 8))"),
    COSINE.format("efficientnet_lite0(stages=(6, 7, 8), views=2)"),
)
BEST = COSINE.format("efficientnet_lite0(stages=(6, 7, 8))")
BOUNDS = {"glide": 0.75, "stable-diffusion": 0.90}


def auc(distances: np.ndarray, prompts: np.ndarray) -> float:
    """The chance that a pair of one prompt is closer than one of two, by ranks."""
    from scipy.stats import rankdata

    one, two = np.triu_indices(len(prompts), 1)
    same = prompts[one] == prompts[two]
    ranks = rankdata(distances[one, two])
    below = same.sum() * (same.sum() + 1) / 2
    return float(1 - (ranks[same].sum() - below) / (same.sum() * (~same).sum()))


def measured(text: str, images: dict[str, list[Picture]], prompts: dict[str, np.ndarray]) -> dict[str, Any]:
    function = registry.configure("distance", text).load()
    systems: dict[str, Any] = {}
    for system, pictures in images.items():
        begin = time.perf_counter()
        distances = function(pictures)
        seconds = time.perf_counter() - begin
        shown = ~blank(pictures)
        systems[system] = {
            "auc": round(auc(distances[np.ix_(shown, shown)], prompts[system][shown]), 4),
            "auc_with_blank": round(auc(distances, prompts[system]), 4),
            "seconds": round(seconds, 1),
        }
    return systems


def blank(pictures: Sequence[Picture]) -> np.ndarray:
    """Which pictures the check `blank_images` would report."""
    share = registry.configure("of_image", "blank").load()
    most = float(blank_images.spec.parameter("share").default)
    return np.array([value.value >= most for value in share(pictures)])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the VISOR sample: images.csv and images/")
    parser.add_argument("--distance", action="append", help="only these distances")
    parser.add_argument("--prompts", type=int, default=100, help="at most this many prompts per system")
    options = parser.parse_args()
    with (options.data / "images.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = set(list(dict.fromkeys(row["prompt_id"] for row in rows))[: options.prompts])
    images: dict[str, list[Picture]] = {}
    names: dict[str, list[str]] = {}
    for row in rows:
        if row["prompt_id"] in kept:
            images.setdefault(row["model"], []).append(Picture(path=options.data / row["path"]))
            names.setdefault(row["model"], []).append(row["prompt_id"])
    prompts = {system: np.array(of_system) for system, of_system in names.items()}
    table: dict[str, Any] = {}
    for text in options.distance or DISTANCES:
        try:
            table[text] = measured(text, images, prompts)
        except MissingPackage as error:
            table[text] = {"not_measured": str(error)}
        print(f"{text}: {json.dumps(table[text])}", file=sys.stderr)
    best = table.get(BEST, {})
    within = (
        all(best[system]["auc"] >= bound for system, bound in BOUNDS.items()) if "glide" in best else None
    )
    result = {
        "images": {system: len(pictures) for system, pictures in images.items()},
        "blank": {system: int(blank(pictures).sum()) for system, pictures in images.items()},
        "distances": table,
        "best": BEST,
        "bounds": BOUNDS,
        "within": within,
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
    }
    print(json.dumps(result, indent=2))
    return 1 if within is False else 0


if __name__ == "__main__":
    raise SystemExit(main())
