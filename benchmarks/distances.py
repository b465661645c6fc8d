"""How long all-pairs SSIM takes against scikit-image pair by pair, and whether both find the same.

The same grey images, already scaled, go into both: `structure`, which is what the distances `ssim` and
`ms_ssim` compute, and scikit-image's `structural_similarity` with the same Gaussian window, called for each
pair. Both have one thread and take turns; the ratio is that of the medians of processor
time. Other distances are timed from pictures to matrix, for orientation.
"""

from __future__ import annotations

import os

# Before numpy is loaded: with more threads its products would be compared with a library that has one.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"

import argparse  # noqa: E402
import io  # noqa: E402
import json  # noqa: E402
import statistics  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from collections.abc import Callable  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402

from sightline import registry  # noqa: E402
from sightline.errors import MissingPackage  # noqa: E402
from sightline.extension import Picture  # noqa: E402
from sightline.measures.distances.structural_similarity import structure  # noqa: E402

LEAST_RATIO = 3.0
SIDES = (128, 256)
OTHERS = (
    "pixel_l2", "colour_histogram", "perceptual_hash", "ssim", "ms_ssim", "lpips", "embedding",
    "embedding(encoder=efficientnet_lite0)",
)  # fmt: skip


def drawn(count: int, side: int, rng: np.random.Generator) -> np.ndarray:
    """Images with coarse shapes and fine noise."""
    coarse = rng.uniform(0, 255, (count, side // 16, side // 16, 3))
    shapes = coarse.repeat(16, axis=1).repeat(16, axis=2)
    return np.clip(shapes + rng.normal(0, 12, shapes.shape), 0, 255).astype(np.uint8)


def pair_by_pair(luma: np.ndarray) -> np.ndarray:
    """The same matrix as a user of scikit-image would get it: symmetric work is done once here too."""
    from skimage.metrics import structural_similarity

    found = np.eye(len(luma))
    for one in range(len(luma)):
        for two in range(one):
            found[one, two] = found[two, one] = structural_similarity(
                luma[one], luma[two],
                gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=255,
            )  # fmt: skip
    return found


def seconds(work: Callable[[], Any]) -> float:
    """Of the processor, not of the clock: other programs may have it in between."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def compared(side: int, count: int, turns: int, rng: np.random.Generator) -> dict[str, Any]:
    luma = drawn(count, side, rng) @ np.array([0.2126, 0.7152, 0.0722])
    difference = float(np.abs(structure(luma)[0] - pair_by_pair(luma)).max())
    ours, theirs = [], []
    for _ in range(turns):
        ours.append(seconds(lambda: structure(luma)))
        theirs.append(seconds(lambda: pair_by_pair(luma)))
    pairs = count * (count - 1) // 2
    return {
        "images": count,
        "pairs": pairs,
        "milliseconds_a_pair": round(1000 * statistics.median(ours) / pairs, 3),
        "scikit_image_milliseconds_a_pair": round(1000 * statistics.median(theirs) / pairs, 3),
        "ratio": round(statistics.median(theirs) / statistics.median(ours), 1),
        "least_ratio_of_a_turn": round(min(b / a for a, b in zip(ours, theirs, strict=True)), 1),
        "largest_difference": difference,
    }


def timed(text: str, images: np.ndarray) -> float | str:
    from PIL import Image

    try:
        function = registry.configure("distance", text).load()
        pictures = []
        for pixels in images:
            file = io.BytesIO()
            Image.fromarray(pixels).save(file, "PNG")
            pictures.append(Picture(file.getvalue()))
        function(pictures[:2])
    except MissingPackage as error:
        return error.what
    return round(seconds(lambda: function(pictures)), 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=24, help="how many images are compared (default 24)")
    parser.add_argument("--turns", type=int, default=5, help="how often each is timed (default 5)")
    parser.add_argument("--ssim-only", action="store_true", help="time no other distance")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same images")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    sides = {str(side): compared(side, options.images, options.turns, rng) for side in SIDES}
    images = drawn(options.images, 256, rng)
    sound = all(each["largest_difference"] < 1e-9 for each in sides.values())
    slowest = min(each["ratio"] for each in sides.values())
    others = () if options.ssim_only else OTHERS
    result = {
        "ssim_by_side": sides,
        "seconds_from_pictures_of_256_px": {text: timed(text, images) for text in others},
        "least_ratio": LEAST_RATIO,
        "within": sound and slowest >= LEAST_RATIO,
        "seed": options.seed,
        "threads": 1,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
    }
    print(json.dumps(result, indent=2))
    same = "the same values" if sound else "DIFFERENT VALUES"
    print(f"{slowest:.1f} times scikit-image's speed (at least {LEAST_RATIO:g}), {same}", file=sys.stderr)
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
