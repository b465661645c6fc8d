"""What it costs to decode in bounded processes: scoring files against the same with Pillow in this process.

Both read each file, decode it and call a light measure on the pixels; ours sends the bytes to processes with
limited memory and time and takes the pixels from shared memory, their start included. Both are run in turn;
the ratio is the median of the ratios of neighbours, by the clock and in processor time of all processes. On a
busy machine look at the processor time.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from sightline import decoding, registry
from sightline.pictures import DECODERS, Picture
from sightline.study.running.calls import compute_files

MOST = 1.10
SIDE = 512
BATCH = 32


def draw(folder: Path, images: int, form: str) -> list[str]:
    """Distinct pictures of the sample systems."""
    from sightline.samples.scenes import scenes
    from sightline.samples.systems import answer

    asked = scenes(min(images, 50))
    paths = []
    for n in range(images):
        path = folder / f"{n:05d}.{form}"
        answer("careful", asked[n % len(asked)], n // len(asked), size=SIDE).image.save(path, quality=90)
        paths.append(str(path))
    return paths


class Here(Picture):
    """A picture that is decoded in this process, as one would without limits."""

    @property
    def rgb(self) -> np.ndarray:
        if self._rgb is None:
            (height, width, _), strips = decoding.pixels(self.data, self.name)
            self._rgb = np.frombuffer(b"".join(strips), np.uint8).reshape(height, width, 3)
        return self._rgb


def busy() -> float:
    """Seconds of processor time of this process and of those that it has ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def in_process(name: str, paths: list[str]) -> list[float]:
    call = registry.find_measure(name).load()
    batches = [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
    return [float(value) for batch in batches for value in call([Here(path=path) for path in batch])]


def bounded(name: str, paths: list[str]) -> list[float]:
    measure = registry.find_measure(name)
    batches = [paths[start : start + BATCH] for start in range(0, len(paths), BATCH)]
    values = [found.value for batch in batches for found in compute_files(measure, batch)[0]]
    DECODERS.close()
    return [float(value) for value in values if value is not None]


def measure_all(name: str, images: int, runs: int, form: str) -> dict[str, object]:
    clock: dict[str, list[float]] = {"here": [], "bounded": []}
    cpu: dict[str, list[float]] = {"here": [], "bounded": []}
    with tempfile.TemporaryDirectory() as folder:
        paths = draw(Path(folder), images, form)
        in_process(name, paths[:16])
        for _ in range(runs):
            expected: list[float] = []
            for which, work in (("here", in_process), ("bounded", bounded)):
                begin, used = time.perf_counter(), busy()
                values = work(name, paths)
                clock[which].append(time.perf_counter() - begin)
                cpu[which].append(busy() - used)
                if expected and values != expected:
                    raise SystemExit("the values differ")
                expected = values
    ratios = [a / b for a, b in zip(clock["bounded"], clock["here"], strict=True)]
    return {
        "measure": name,
        "format": form,
        "images": images,
        "side": SIDE,
        "runs": runs,
        "in_process_s": round(statistics.median(clock["here"]), 3),
        "bounded_s": round(statistics.median(clock["bounded"]), 3),
        "ratio": round(statistics.median(ratios), 3),
        "ratio_of_least": round(min(clock["bounded"]) / min(clock["here"]), 3),
        "ratio_of_processor_time": round(
            statistics.median(a / b for a, b in zip(cpu["bounded"], cpu["here"], strict=True)), 3
        ),
        "most": MOST,
        "within": statistics.median(ratios) <= MOST,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=1000, help="how many pictures to score (default 1000)")
    parser.add_argument("--runs", type=int, default=5, help="runs of each (default 5)")
    parser.add_argument("--measure", default="sharpness", help="a measure of an image (default sharpness)")
    parser.add_argument("--format", default="png", choices=("png", "jpg", "webp"), help="of the files")
    options = parser.parse_args()
    result = measure_all(options.measure, options.images, options.runs, options.format)
    print(json.dumps(result, indent=2))
    return 0 if result["within"] else 1


if __name__ == "__main__":
    sys.exit(main())
