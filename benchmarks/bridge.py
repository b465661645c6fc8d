"""How often a bridge fitted on the 400 captioned photos of Flickr8k finds photos that it has not seen.

Imports the photos into a fresh study, fits, and prints the nested cross-validated hit rates with chance and
the learning curve. Ranks are among the photos of a fold only: an image predicted by another fold's bridge
has had the caption's own photo among its examples, which would count against the truth.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sightline.data.import_ import import_
from sightline.encoders.fit_bridge import fit_bridge
from sightline.study import reading
from sightline.study.study import create_study

LEAST = 0.4
"""The first of 80 is right for so many captions at least (chance 0.0125)."""


def measure(data: Path, image: str | None, text: str | None, folds: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, create_study(Path(folder) / "study") as study:
        import_(study, data)
        (collection,) = reading.images(study)["collection"].unique().to_list()
        started = time.monotonic()
        fitted = fit_bridge(study, collection, image=image, text=text, folds=folds, seed=seed)
        return {
            "encoder": fitted.encoder.replace(folder, ""),
            "images": fitted.images,
            "captions": fitted.captions,
            "among": fitted.among,
            "settings": asdict(fitted.settings),
            "hits": [asdict(hit) for hit in fitted.hits],
            "curve": [asdict(step) for step in fitted.curve],
            "seconds": round(time.monotonic() - started, 1),
            "within": fitted.hits[0].value >= LEAST,
        }


def main() -> int:
    """Measure, print, and fail below the least hit rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = os.environ.get("SIGHTLINE_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default) / "flickr8k_400")
    parser.add_argument("--image", default=None)
    parser.add_argument("--text", default=None)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    result = measure(options.data, options.image, options.text, options.folds, options.seed)
    print(json.dumps(result, indent=2))
    return 0 if result["within"] else 1


if __name__ == "__main__":
    sys.exit(main())
