"""Exact search against FAISS's flat index on the same vectors in one run, and the memory it takes.

Unit vectors drawn at random, the hardest case: nothing is far behind. Ours and FAISS search the same queries
in turn, with the same number of threads, several times; what counts is the ratio of the best times, since
whatever else the machine does only ever adds. Both must find the same images, but for neighbours whose
products differ by less than float32 can tell. Then a process of its own searches a memory-mapped file of the
same size for all queries, and its peak memory, pages of that file included, is held against the ceiling.
So is that of a third process, which goes the way of `sightline retrieve`: the retriever `exact` over the
vectors that a study holds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

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
from sightline.study.running.embedding import cached
from sightline.extension import Picture
from sightline.records import Candidates, ImageKey, Prompt, PromptKey
from sightline.study.study import open_study
n, asked, k = (int(each) for each in sys.argv[2:])
keys = [ImageKey("images", str(i)) for i in range(n)]
pictures = [Picture(b"", sha256=f"{i:064x}") for i in range(n)]
candidates = Candidates(keys, [[] for _ in keys], pictures)
prompts = [Prompt(PromptKey("prompts", str(i)), f"prompt {i}") for i in range(asked)]
with open_study(sys.argv[1]) as study:
    encoder = cached(study, registry.configure("encoder", "held"))
    search = registry.configure("retriever", "exact(encoder=held)").load({"encoder": encoder})
    start = time.perf_counter()
    search(candidates, prompts, k)
    tell(time.perf_counter() - start)
"""


def vectors(n: int, dimensions: int, seed: int) -> np.ndarray:
    return unit(np.random.default_rng(seed).standard_normal((n, dimensions), dtype=np.float32))


def against_faiss(images: np.ndarray, queries: np.ndarray, k: int, rounds: int) -> dict[str, Any]:
    import faiss

    threads = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatIP(images.shape[1])
    index.add(images)
    ours, theirs = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        found, scores = top_k(queries, images, k)
        ours.append(time.perf_counter() - begin)
        begin = time.perf_counter()
        other_scores, others = index.search(queries, k)
        theirs.append(time.perf_counter() - begin)
    differ = found != others
    gap = np.abs(scores - other_scores)[differ]
    return {
        "threads": threads,
        "queries": len(queries),
        "seconds": round(min(ours), 2),
        "faiss_seconds": round(min(theirs), 2),
        "throughput_ratio": round(min(theirs) / min(ours), 3),
        "median_ratio": round(float(np.median(theirs) / np.median(ours)), 3),
        "places_that_differ": int(differ.sum()),
        "largest_gap_there": float(gap.max(initial=0.0)),
        "faiss": faiss.__version__,
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


def run(program: str, *told: object) -> dict[str, Any]:
    line = [sys.executable, "-c", PEAK + program, *map(str, told)]
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
    parser.add_argument("--output", type=Path, help="write the result to this JSON file as well")
    told = parser.parse_args()
    images = vectors(told.images, told.dimensions, told.seed)
    queries = vectors(told.queries, told.dimensions, told.seed + 1)
    timed = against_faiss(images, queries[: told.timed], told.k, told.rounds)
    memory = alone(images, queries, told.k)
    retriever = through_the_retriever(images, queries, told.k)
    fast = timed["throughput_ratio"] >= LEAST_RATIO
    small = max(memory["peak_gb"], retriever["peak_gb"]) <= MOST_MEMORY
    # Products of unit vectors are at most 1: float32 sums of this length are off by at most n u.
    same = timed["largest_gap_there"] <= 2 * told.dimensions * 2.0**-24
    result = {
        "images": told.images,
        "dimensions": told.dimensions,
        "k": told.k,
        "seed": told.seed,
        "against_faiss": timed,
        "least_ratio": LEAST_RATIO,
        "memory": {"queries": told.queries, **memory},
        "retriever": {"queries": told.queries, **retriever},
        "most_memory_gb": MOST_MEMORY,
        "within": fast and small and same,
        "python": sys.version.split()[0],
        "numpy": np.__version__,
    }
    text = json.dumps(result, indent=2)
    print(text)
    if told.output:
        told.output.write_text(text + "\n", encoding="utf-8")
    print(
        f"{timed['throughput_ratio']:.2f} times the throughput of FAISS (at least {LEAST_RATIO:g}), "
        f"peak {memory['peak_gb']:.2f} GB, through the retriever {retriever['peak_gb']:.2f} GB "
        f"(at most {MOST_MEMORY:g}), "
        f"{'the same images' if same else 'OTHER IMAGES'}",
        file=sys.stderr,
    )
    return 0 if result["within"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
