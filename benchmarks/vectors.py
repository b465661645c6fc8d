"""A million vectors in a study: files, seconds and memory, against np.save and np.load of the same matrix.

    python benchmarks/vectors.py [--rows 1000000] [--dimensions 64] [--at-once 1024]

Puts them as encoders do, some at a time, reads all and a few thousand at random, and prints ratios to the
plain file, which knows neither contents nor encoders.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.study.study import create_study

FEW = 10_000


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=1_000_000)
    options.add_argument("--dimensions", type=int, default=64)
    options.add_argument("--at-once", type=int, default=1024)
    asked = options.parse_args()
    generator = np.random.default_rng(0)
    matrix = generator.standard_normal((asked.rows, asked.dimensions), dtype=np.float32)
    contents = [generator.bytes(32).hex() for _ in range(asked.rows)]
    chosen = generator.integers(asked.rows, size=FEW)
    with tempfile.TemporaryDirectory() as made:
        with create_study(Path(made) / "study") as study:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

            def put() -> None:
                for start in range(0, asked.rows, asked.at_once):
                    part = slice(start, start + asked.at_once)
                    study.vectors.put("e" * 64, contents[part], matrix[part])

            written, _ = timed(put)
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
            some, (few, _) = timed(lambda: study.vectors.get("e" * 64, [contents[n] for n in chosen]))
            assert np.array_equal(few, matrix[chosen])
            read, (rows, known) = timed(lambda: study.vectors.get("e" * 64, contents))
            assert known.all() and np.array_equal(rows, matrix)
            files = len(study.vectors.root.listing("vectors"))
            joined, _ = timed(lambda: study.vectors.join("e" * 64))
        plain = Path(made) / "plain.npy"
        saved, _ = timed(lambda: np.save(plain, matrix))
        loaded, _ = timed(lambda: np.array(np.load(plain, mmap_mode="r")))
        picked, _ = timed(lambda: np.load(plain, mmap_mode="r")[chosen])
    print(f"{asked.rows:,} vectors of {asked.dimensions} numbers, {asked.at_once:,} at a time: {files} files")
    print(f"put {written:.1f} s ({asked.rows / written:,.0f} per second), {written / saved:.1f} x np.save")
    print(f"peak memory while putting: {grown:.0f} MB more; joining what is joined: {joined * 1e3:.0f} ms")
    print(f"get all {read:.1f} s ({asked.rows / read:,.0f} per second), {read / loaded:.1f} x np.load")
    print(f"get {FEW:,} at random {some * 1e3:.0f} ms, {some / picked:.1f} x np.load(mmap)[rows]")


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of processor time, which other work on the machine changes less, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


if __name__ == "__main__":
    main()
