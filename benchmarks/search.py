"""Exact search against a peer on the same vectors in one run, and the memory it takes.

The peer is FAISS's flat index, or, where FAISS is not installed, NumPy's products (BLAS) with a partial sort.
Unit vectors drawn at random are the hardest case: nothing is far behind. Both search the same queries in
turn, with the same number of threads, several times; the ratio is that of the best times, since other load
only ever adds. Both must find the same images, except for neighbours whose products differ by less than
float32 resolves. Then a process of its own searches a memory-mapped file of the same size for all queries,
and its peak memory, pages of that file included, is compared with the limit. So is that of a third process
that searches as `sightline retrieve` does: with the retriever `exact` over the vectors of a study.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sightline.cores import cores
from sightline.statistics.search import top_k, unit

LEAST_RATIO = 0.9
MOST_MEMORY = 2.0
"""GB, of 1024^3 bytes."""

PEAK = """
import json, re, resource, sys, time
from pathlib import Path
import numpy as np

def tell(seconds):
    status = Path("/proc/self/status")
    # Where there is no /proc: this counts the peak of the parent too, from which the process was forked.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    if status.exists():
        peak = int(re.search(r"VmHWM:\\s+(\\d+) kB", status.read_text())[1]) * 1024
    print(json.dumps({"seconds": round(seconds, 1), "peak_gb": round(peak / 1024**3, 3)}))
"""
ALONE = """
from sightline.statistics.search import top_k
images, queries, k = np.load(sys.argv[1], mmap_mode="r"), np.load(sys.argv[2]), int(sys.argv[3])
start = time.perf_counter()
indices, _ = top_k(queries, images, k)
tell(time.perf_counter() - start)
"""
ENCODER = """
from sightline.extension import encoder

@encoder(encodes=("text", "image"), source="none", licence="Apache-2.0")
def held():
    "An encoder all of whose vectors are held by the study."
    raise RuntimeError("a vector is missing")
"""
RETRIEVER = """
from sightline import registry
from sightline.study.running.embedding import Cached
from sightline.extension import Picture
from sightline.records import Candidates, ImageKey, Prompt, PromptKey
from sightline.study.study import open_study
n, asked, k = (int(each) for each in sys.argv[2:])
keys = [ImageKey("images", str(i)) for i in range(n)]
pictures = [Picture(b"", sha256=f"{i:064x}") for i in range(n)]
candidates = Candidates(keys, [[] for _ in keys], pictures)
prompts = [Prompt(PromptKey("prompts", str(i)), f"prompt {i}") for i in range(asked)]
with open_study(sys.argv[1]) as study:
    encoder = Cached(study, registry.configure("encoder", "held"))
    search = registry.configure("retriever", "exact(encoder=held)").load({"encoder": encoder})
    start = time.perf_counter()
    search(candidates, prompts, k)
    tell(time.perf_counter() - start)
"""


def vectors(n: int, dimensions: int, seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((n, dimensions), dtype=np.float32))


Search = Callable[[np.ndarray, int], tuple[np.ndarray, np.ndarray]]


def peer(images: np.ndarray, threads: int) -> tuple[str, Search]:
    """The peer's name, and its search: scores and indices of the k best images per query."""
    try:
        import faiss
    except ImportError:
        return "BLAS and a partial sort", lambda queries, k: by_blas(images, queries, k)
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(images.shape[1])
    index.add(images)
    return f"FAISS {faiss.__version__}", index.search


def by_blas(images: np.ndarray, queries: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    parts = []
    for start in range(0, len(queries), 256):
        products = queries[start : start + 256] @ images.T
        best = np.argpartition(products, products.shape[1] - k, axis=1)[:, -k:]
        scores = np.take_along_axis(products, best, axis=1)
        order = np.argsort(-scores, axis=1)
        parts.append((np.take_along_axis(scores, order, axis=1), np.take_along_axis(best, order, axis=1)))
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def against_peer(images: np.ndarray, queries: np.ndarray, k: int, rounds: int) -> dict[str, Any]:
    threads = cores()
    name, search = peer(images, threads)
    ours, theirs = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        indices, scores = top_k(queries, images, k)
        ours.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        other_scores, others = search(queries, k)
        theirs.append(time.perf_counter() - begin)
    differ = indices != others
    gap = np.abs(scores - other_scores)[differ]
    return {
        "peer": name,
        "threads": threads,
        "queries": len(queries),
        "seconds": round(min(ours), 2),
        "peer_seconds": round(min(theirs), 2),
        "throughput_ratio": round(min(theirs) / min(ours), 3),
        "median_ratio": round(float(np.median(theirs) / np.median(ours)), 3),
        "ranks_that_differ": int(differ.sum()),
        "largest_gap_there": float(gap.max(initial=0.0)),
    }


def alone(images: np.ndarray, queries: np.ndarray, k: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, "images.npy"), Path(folder, "queries.npy")]
        for file, matrix in zip(files, (images, queries), strict=True):
            np.save(file, matrix)
        return run(ALONE, *files, k)


def through_the_retriever(images: np.ndarray, queries: np.ndarray, k: int) -> dict[str, Any]:
    from sightline import registry
    from sightline.study.running.embedding import SHARD_ROWS, text_hash
    from sightline.study.study import create_study

    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "plugins").mkdir()
        Path(folder, "plugins", "held.py").write_text(ENCODER, encoding="utf-8")
        os.environ["SIGHTLINE_PLUGINS"] = str(Path(folder, "plugins"))
        identity = registry.configure("encoder", "held").identity
        contents = [f"{i:064x}" for i in range(len(images))]
        texts = [text_hash(f"prompt {i}") for i in range(len(queries))]
        with create_study(Path(folder, "study")) as study:
            for names, rows in ((contents, images), (texts, queries)):
                for start in range(0, len(rows), SHARD_ROWS):
                    part = slice(start, start + SHARD_ROWS)
                    study.vectors.put(identity, names[part], rows[part])
        return run(RETRIEVER, Path(folder, "study"), len(images), len(queries), k)


def run(program: str, *words: object) -> dict[str, Any]:
    line = [sys.executable, "-c", PEAK + program, *map(str, words)]
    return dict(json.loads(subprocess.run(line, check=True, stdout=subprocess.PIPE, text=True).stdout))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=118_000)
    parser.add_argument("--queries", type=int, default=10_000, help="for the memory it takes")
    parser.add_argument("--timed", type=int, default=2_000, help="queries of one timed round")
    parser.add_argument("--dimensions", type=int, default=512)
    parser.add_argument("--k", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5, help="timed rounds, ours and FAISS in turn")
    parser.add_argument("--seed", type=int, default=0, help="the same seed gives the same vectors")
    parser.add_argument("--no-memory", action="store_true", help="measure speed only")
    options = parser.parse_args()
    images = vectors(options.images, options.dimensions, options.seed)
    queries = vectors(options.queries, options.dimensions, options.seed + 1)
    timed = against_peer(images, queries[: options.timed], options.k, options.rounds)
    # Products of unit vectors are at most 1: float32 sums of this length are off by at most n u.
    same = timed["largest_gap_there"] <= 2 * options.dimensions * 2.0**-24
    peaks = {}
    if not options.no_memory:
        peaks = {
            "memory": {"queries": options.queries, **alone(images, queries, options.k)},
            "retriever": {"queries": options.queries, **through_the_retriever(images, queries, options.k)},
        }
    small = all(each["peak_gb"] <= MOST_MEMORY for each in peaks.values())
    result = {
        "images": options.images,
        "dimensions": options.dimensions,
        "k": options.k,
        "seed": options.seed,
        "against_peer": timed,
        "least_ratio": LEAST_RATIO,
        **peaks,
        "most_memory_gb": MOST_MEMORY,
        "within": timed["throughput_ratio"] >= LEAST_RATIO and small and same,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
    }
    print(json.dumps(result, indent=2))
    memory = ", ".join(f"{name} {each['peak_gb']:.2f} GB" for name, each in peaks.items())
    print(
        f"{timed['throughput_ratio']:.2f} times the throughput of {timed['peer']}, at least {LEAST_RATIO:g}; "
        f"peak {memory or 'not measured'} (at most {MOST_MEMORY:g}); "
        f"{'the same images' if same else 'OTHER IMAGES'}",
        file=sys.stderr,
    )
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
