"""How fast prompts are predicted and predictors fitted, and how good each tier is on rows it never saw.

    SIGHTLINE_DATA=... python benchmarks/prediction.py [--tier small] [--tier medium] [--tier large]

Speed: the small tier that ships predicts the training prompts of PQPP in one batch without explanations,
against scikit-learn's TfidfVectorizer (the same sequences of words and letters) with Ridge, which has no
features, no stacking and no intervals; and one prompt is predicted from the command line in a new process.
Quality: each tier is fitted to the 6,000 training rows and evaluated on the 2,000 validation rows, with the
coverage of its intervals.
"""

from __future__ import annotations

import argparse
import csv
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline, make_union

from sightline.prediction import fitted
from sightline.prediction.model import TARGETS
from sightline.prediction.predict import predict_prompts as predict
from sightline.statistics.correlation import kendall, pearson

COLUMNS = ("avg_generative_score", "retrieval_avg_pk", "retrieval_avg_rr", "glide_score", "sdxl_score")
COLUMNS += ("clip_pk", "blip2_pk", "clip_rr", "blip2_rr")
PROMPT = "seven green cups left of a blue house"


def rows(name: str) -> tuple[list[str], np.ndarray]:
    folder = Path(os.environ["SIGHTLINE_DATA"]) / "pqpp" / "dataset"
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    truth = [[float(row[column]) for column in COLUMNS] for row in read]
    return [row["best_caption"] for row in read], np.array(truth)


def seconds(work: Callable[[], Any], times: int) -> float:
    """The least of some runs: what the work takes when nothing else disturbs it."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def peer() -> Any:
    words = TfidfVectorizer(ngram_range=(1, 2), min_df=2, sublinear_tf=True)
    letters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=2, sublinear_tf=True)
    return make_pipeline(make_union(words, letters), Ridge(alpha=3.0))


def speed(texts: list[str], truth: np.ndarray) -> None:
    predict(texts[:1], tier="small", explain=False)
    ours = seconds(lambda: predict(texts, tier="small", explain=False), 3)
    other = peer().fit(texts, truth)
    theirs = seconds(lambda: other.predict(texts), 3)
    print(
        f"small batch: {len(texts) / ours:,.0f} prompts/s; TfidfVectorizer + Ridge "
        f"{len(texts) / theirs:,.0f}/s; ratio {theirs / ours:.2f}"
    )
    for tier in ("small", "medium", "large"):
        command = [sys.executable, "-m", "sightline", "predict", PROMPT, "--tier", tier]
        bare = statistics.median(
            seconds(lambda: subprocess.run([sys.executable, "-c", "import numpy"], check=True), 1)
            for _ in range(5)
        )
        asked = [
            seconds(lambda: subprocess.run(command, check=True, capture_output=True), 1)  # noqa: B023
            for _ in range(5)
        ]
        median = statistics.median(asked)
        print(f"one prompt, {tier}: {median:.2f} s from start to end, {median / bare:.1f} times import numpy")


def quality(tier: str, texts: list[str], truth: np.ndarray, new: list[str], wanted: np.ndarray) -> None:
    start = time.perf_counter()
    made = fitted.fit(tier, texts, truth, targets=TARGETS)
    fit_took = time.perf_counter() - start
    start = time.perf_counter()
    values = made.values(new)
    took = time.perf_counter() - start
    print(f"{tier}: fitted to {len(texts):,} in {fit_took:.0f} s; {len(new) / took:,.0f} new prompts/s")
    low, high = made.limits(new, values)
    inside = (low - 1e-9 <= wanted) & (wanted <= high + 1e-9)
    for number, name in enumerate(TARGETS):
        said, true = values[:, number], wanted[:, number]
        parts = np.array_split(inside[np.argsort(said, kind="stable"), number], 10)
        least = min(part.mean() for part in parts)
        print(
            f"  {name:12} {pearson(said, true).value:.3f} / {kendall(said, true).value:.3f}, "
            f"interval holds {inside[:, number].mean():.3f}, at least {least:.3f} of a predicted tenth"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", action="append", choices=list(fitted.RECIPES))
    asked = parser.parse_args()
    texts, truth = rows("train")
    new, wanted = rows("validation")
    speed(texts, truth)
    for tier in asked.tier or ["small"]:
        quality(tier, texts, truth, new, wanted)


if __name__ == "__main__":
    main()
