"""Run every quick benchmark, each under a minute, and print one table of ratios with the bounds we promise.

    python benchmarks/quick.py [NAME ...]

Each runs in a process of its own, on less data than by default where that would take long; the other
benchmarks of this folder stay separate. Exits with 1 where a bound is missed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
Result = Mapping[str, Any]


@dataclass(frozen=True)
class Benchmark:
    """A script with its arguments, what it is compared with, and how to read its result."""

    script: str
    arguments: tuple[str, ...]
    what: str
    peer: str
    bound: str
    n: Callable[[Result], int]
    ratio: Callable[[Result], float]


QUICK = (
    Benchmark(
        "startup", (), "time of sightline --help", "bare interpreter", "at most 12",
        lambda r: r["runs"], lambda r: r["ratio"],
    ),
    Benchmark(
        "rankings", ("--rankings", "4000", "--runs", "3"), "speed of seven ranking measures", "pytrec_eval",
        "at least 5", lambda r: r["rankings"], lambda r: r["times_as_fast_as_pytrec_eval"]["columns"],
    ),
    Benchmark(
        "search", ("--images", "40000", "--queries", "500", "--timed", "500", "--rounds", "3", "--no-memory"),
        "throughput of exact search", "FAISS, or BLAS and a partial sort", "at least 0.9",
        lambda r: r["images"], lambda r: r["against_peer"]["throughput_ratio"],
    ),
    Benchmark(
        "distances", ("--turns", "3", "--ssim-only"), "speed of all-pairs SSIM", "scikit-image", "at least 3",
        lambda r: r["ssim_by_side"]["256"]["pairs"],
        lambda r: min(each["ratio"] for each in r["ssim_by_side"].values()),
    ),
    Benchmark(
        "near_duplicates", (), "speed of near-duplicate search", "comparing all with all", "at most 120 s",
        lambda r: r["even"]["hashes"],
        lambda r: min(r[kind]["times_as_fast"] for kind in ("even", "crowded")),
    ),
    Benchmark(
        "variability", ("--prompts", "10", "--subsets", "1"), "speed of the k-expected maximum",
        "direct loop over subsets", "at least 50", lambda r: r["prompts"], lambda r: r["times_as_fast"],
    ),
    Benchmark(
        "scoring", ("--images", "200", "--runs", "3"), "time to score a study", "direct loop over files",
        "at most 1.05", lambda r: r["images"], lambda r: 1 + r["overhead"],
    ),
)  # fmt: skip


def run(benchmark: Benchmark) -> tuple[str, ...]:
    """The row of a benchmark, the last cell whether its bounds hold."""
    begin = time.perf_counter()
    command = [sys.executable, str(FOLDER / f"{benchmark.script}.py"), *benchmark.arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = f"{time.perf_counter() - begin:.0f} s"
    first = (benchmark.script, benchmark.what, benchmark.peer)
    try:
        result = json.loads(done.stdout)
    except json.JSONDecodeError:
        reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return (*first, "-", "-", benchmark.bound, seconds, f"FAILED: {reason}")
    ratio = benchmark.ratio(result)
    shown = f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.2f}"
    verdict = "yes" if result["within"] else "NO"
    return (*first, f"{benchmark.n(result):,}", shown, benchmark.bound, seconds, verdict)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    names = [each.script for each in QUICK]
    parser.add_argument("names", nargs="*", choices=[*names, []], metavar="NAME", help=", ".join(names))
    chosen = parser.parse_args().names or names
    head = ("benchmark", "what", "peer", "n", "ratio", "bound", "took", "within")
    rows = [head]
    for benchmark in (each for each in QUICK if each.script in chosen):
        print(f"{benchmark.script} ...", file=sys.stderr)
        rows.append(run(benchmark))
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    return 0 if all(row[-1] == "yes" for row in rows[1:]) else 1


if __name__ == "__main__":
    raise SystemExit(main())
