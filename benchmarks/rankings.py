"""How fast rankings are measured: seven measures from columns against pytrec_eval from its dictionaries.

    python benchmarks/rankings.py [--rankings 10000] [--depth 100] [--runs 7] [--ranx]

Three ways from the same run and qrels, taken in turn, each the best of its runs: "gains" has what measures
are given (judged gains in rank order), "columns" begins with query, image and score in rank order (ties are
broken as trec_eval does, then gains looked up), "shuffled" with the same rows in no order at all. pytrec_eval
begins with its dictionaries of run and qrels; a second line has an evaluator that was made before, so that
qrels are read already. Values must agree to 1e-9. What counts is the ratio to pytrec_eval in the same run;
memory is what the "columns" way needs beyond its input. With --ranx a fresh process shows what ranx takes for
the same: it converts dictionaries, and compiles when first called.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytrec_eval

from sightline import registry
from sightline.records import Rankings
from sightline.statistics import runs

LEAST_RATIOS = {"gains": 5.0, "columns": 5.0}
MOST_BYTES_PER_ROW = 120
JUDGED = 30
IMAGES = 118_287
MEASURES = {
    "precision@10": "P_10",
    "recall@10": "recall_10",
    "hit_rate@10": "success_10",
    "reciprocal_rank": "recip_rank",
    "r_precision": "Rprec",
    "average_precision": "map",
    "ndcg": "ndcg",
}
ASKED = {"P.10", "recall.10", "success.10", "recip_rank", "Rprec", "map", "ndcg"}

RANX = """
import pickle, sys, time
qrels, run = pickle.load(sys.stdin.buffer)
begin = time.perf_counter()
from ranx import Qrels, Run, evaluate
made = Qrels(qrels), Run(run)
converted = time.perf_counter() - begin
measures = ["precision@10", "recall@10", "hit_rate@10", "mrr", "r-precision", "map", "ndcg"]
begin = time.perf_counter()
evaluate(*made, measures)
cold = time.perf_counter() - begin
begin = time.perf_counter()
evaluate(*made, measures)
print(converted, cold, time.perf_counter() - begin)
"""


class Data:
    """One run over many images and its qrels, as columns and as dictionaries."""

    def __init__(self, queries: int, depth: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.queries, self.depth = queries, depth
        # Distinct images a query: a random start and a step that shares no factor with their number.
        start, step = rng.integers(0, IMAGES, (queries, 1)), rng.integers(1, 100, (queries, 1)) * 2
        self.image = ((start + step * np.arange(depth)) % IMAGES).ravel()
        self.query = np.repeat(np.arange(queries), depth)
        self.position = np.tile(np.arange(depth), queries)
        # Cosines with four digits: some neighbours are tied.
        self.score = np.round(-np.sort(-rng.random((queries, depth)), axis=1), 4).ravel()
        # Half of what was judged was retrieved, the rest lies elsewhere.
        rows = np.argsort(rng.random((queries, depth)), axis=1)[:, : JUDGED // 2]
        found = np.take_along_axis(self.image.reshape(queries, depth), rows, axis=1)
        elsewhere = (start + step * (depth + np.arange(JUDGED - JUDGED // 2))) % IMAGES
        self.judged_image = np.sort(np.concatenate([found, elsewhere], axis=1), axis=1).ravel()
        self.judged_query = np.repeat(np.arange(queries), JUDGED)
        grades = rng.integers(0, 3, (queries, JUDGED)).astype(np.float64)
        self.judged_gain, self.ideal = grades.ravel(), -np.sort(-grades, axis=1).ravel()
        self.ideal_offsets = np.arange(queries + 1) * JUDGED
        self.order = rng.permutation(self.query.size)

    def dictionaries(self) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
        # Names of equal length order as the numbers do.
        qrels: dict[str, dict[str, int]] = {}
        for query, image, gain in zip(self.judged_query, self.judged_image, self.judged_gain, strict=True):
            qrels.setdefault(str(query), {})[f"{image:06d}"] = int(gain)
        run: dict[str, dict[str, float]] = {}
        for query, image, score in zip(self.query, self.image, self.score, strict=True):
            run.setdefault(str(query), {})[f"{image:06d}"] = float(score)
        return qrels, run


def rankings(data: Data, rows: np.ndarray | None) -> Rankings:
    """The run as measures are given it, from rows as they stand or in the order given."""
    columns = (data.query, data.position, data.score, data.image)
    query, position, score, image = columns if rows is None else (each[rows] for each in columns)
    order = runs.order(query, position, score, image, ties="trec")
    query, image = query[order], image[order]
    gains = runs.gains(query, image, data.judged_query, data.judged_image, data.judged_gain)
    offsets = np.searchsorted(query, np.arange(data.queries + 1))
    return Rankings(offsets, gains, data.ideal_offsets, data.ideal)


def measured(table: Rankings) -> dict[str, np.ndarray]:
    return {name: registry.configure("of_ranking", name).load()(table) for name in MEASURES}


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    found = call()
    return time.perf_counter() - begin, found


def compare(data: Data, times: int) -> tuple[dict[str, Any], Any]:
    """Seconds of each way, best of several taken in turn, after their values were found equal."""
    qrels, run = data.dictionaries()
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, ASKED)
    table = rankings(data, None)
    ways: dict[str, Callable[[], Any]] = {
        "pytrec_eval": lambda: pytrec_eval.RelevanceEvaluator(qrels, ASKED).evaluate(run),
        "pytrec_eval, qrels read before": lambda: evaluator.evaluate(run),
        "gains": lambda: measured(Rankings(table.offsets, table.gains, table.ideal_offsets, table.ideal)),
        "columns": lambda: measured(rankings(data, None)),
        "shuffled": lambda: measured(rankings(data, data.order)),
    }
    expected = ways["pytrec_eval"]()
    furthest = 0.0
    for way in ("gains", "columns", "shuffled"):
        for ours, theirs in MEASURES.items():
            values = ways[way]()[ours]
            known = ~np.isnan(values)
            wanted = np.array([expected[str(query)][theirs] for query in range(data.queries)])
            furthest = max(furthest, float(np.abs(values - wanted)[known].max()))
            if wanted[~known].any():
                raise SystemExit(f"{way} has no value of {ours} where trec_eval has one")
    seconds = {way: timed(call)[0] for way, call in ways.items()}
    for _ in range(times - 1):
        for way, call in ways.items():
            seconds[way] = min(seconds[way], timed(call)[0])
    return {"furthest_from_trec_eval": furthest, "seconds": seconds}, (qrels, run)


def memory(data: Data) -> float:
    """Bytes a row that the way from columns needs at its peak, beyond its input."""
    tracemalloc.start()
    measured(rankings(data, None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / data.query.size


def ranx(dictionaries: Any) -> dict[str, float] | str:
    import pickle

    try:
        import ranx as _  # noqa: F401
    except ImportError:
        return "not installed"
    done = subprocess.run(
        [sys.executable, "-c", RANX], input=pickle.dumps(dictionaries), capture_output=True, check=False
    )
    if done.returncode:
        return done.stderr.decode().strip().splitlines()[-1]
    names = ("convert", "cold", "warm")
    return dict(zip(names, (float(part) for part in done.stdout.split()), strict=True))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rankings", type=int, default=10_000, help="how many rankings (default 10,000)")
    parser.add_argument("--depth", type=int, default=100, help="images per ranking (default 100)")
    parser.add_argument("--runs", type=int, default=7, help="how often each way is timed (default 7)")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same run")
    parser.add_argument("--ranx", action="store_true", help="time ranx in a fresh process as well")
    options = parser.parse_args()
    data = Data(options.rankings, options.depth, options.seed)
    found, dictionaries = compare(data, options.runs)
    seconds = found["seconds"]
    ratios = {way: seconds["pytrec_eval"] / seconds[way] for way in ("gains", "columns", "shuffled")}
    bytes_per_row = memory(data)
    sound = found["furthest_from_trec_eval"] < 1e-9
    result = {
        "rankings": options.rankings,
        "depth": options.depth,
        "measures": list(MEASURES),
        **found,
        "times_as_fast_as_pytrec_eval": {way: round(ratio, 2) for way, ratio in ratios.items()},
        "least_ratios": LEAST_RATIOS,
        "bytes_per_row": round(bytes_per_row, 1),
        "most_bytes_per_row": MOST_BYTES_PER_ROW,
        "ranx_seconds": ranx(dictionaries) if options.ranx else "not asked for",
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
        "within": sound
        and all(ratios[way] >= least for way, least in LEAST_RATIOS.items())
        and bytes_per_row <= MOST_BYTES_PER_ROW,
    }
    print(json.dumps(result, indent=2))
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
