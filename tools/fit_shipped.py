"""Fit the predictor that ships, from the published PQPP data (CC BY 4.0): fit_shipped.py DIR [TIER ..]

DIR holds train.csv and validation.csv. Nothing else is read, and the rows of the test split never are. With
--check a tier is fitted on the training rows alone and held against the validation rows, without it the
coverage and width of its intervals by predicted tenth are printed, out of fold.
"""

from __future__ import annotations

import csv
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sightline.prediction import fitted
from sightline.prediction.model import SHIPPED as SHIPPED_SCALES
from sightline.prediction.model import TARGETS, TIERS
from sightline.statistics.conformal import calibrated, half_width
from sightline.statistics.correlation import kendall, pearson
from sightline.statistics.folds import k_fold

COLUMNS = {
    "hbpp": "avg_generative_score",
    "p_at_10": "retrieval_avg_pk",
    "rr": "retrieval_avg_rr",
    "hbpp.glide": "glide_score",
    "hbpp.sdxl": "sdxl_score",
    "p_at_10.clip": "clip_pk",
    "p_at_10.blip2": "blip2_pk",
    "rr.clip": "clip_rr",
    "rr.blip2": "blip2_rr",
}
ABOUT = {
    "data": "PQPP, Poesina et al. 2025 (CC BY 4.0), training and validation rows",
    "learned": "fitted by the Sightline project; no text of the data is included",
}
SHIPPED = Path(__file__).parent.parent / "sightline" / "prediction" / "shipped"


def rows(folder: Path, name: str) -> tuple[list[str], np.ndarray]:
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        read = list(csv.DictReader(file))
    truth = [[float(row[COLUMNS[target]]) for target in TARGETS] for row in read]
    return [row["best_caption"] for row in read], np.array(truth)


def quality(values: np.ndarray, truth: np.ndarray) -> dict[str, list[float]]:
    found = {}
    for name, said, true in zip(TARGETS, values.T, truth.T, strict=True):
        found[name] = [round(float(pearson(said, true).value), 4), round(float(kendall(said, true).value), 4)]
    return found


def intervals(
    held: np.ndarray, truth: np.ndarray, texts: list[str]
) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Of every target one width for all, then what is shipped: limits set by the other of five folds."""
    fold, group = k_fold(len(texts), 5, seed=0), fitted.numbered(texts)
    for said, true in zip(held.T, truth.T, strict=True):
        ends = np.empty((2, 2, len(texts)))
        for part in range(5):
            mine, rest = fold == part, fold != part
            width = half_width(said[rest] - true[rest])
            ends[0][:, mine] = said[mine] - width, said[mine] + width
            ends[1][:, mine] = calibrated(said[rest], true[rest], group[rest]).around(said[mine], group[mine])
        yield from (("one width", *ends[0]), ("by value", *ends[1]))


def tenths(held: np.ndarray, truth: np.ndarray, texts: list[str]) -> None:
    """Print coverage and mean width by predicted tenth, hardest first, and for prompts with a number."""
    counted = fitted.numbered(texts) == 1
    for number, (how, low, high) in enumerate(intervals(held, truth, texts)):
        name, said, true = TARGETS[number // 2], held[:, number // 2], truth[:, number // 2]
        scale = SHIPPED_SCALES[name.partition(".")[0]]
        low, high = np.clip(low, scale.low, scale.high), np.clip(high, scale.low, scale.high)
        inside, width = (low - 1e-9 <= true) & (true <= high + 1e-9), high - low
        parts = np.array_split(np.argsort(said, kind="stable"), 10)
        ordered, most = np.sort(true), int(np.ceil(0.9 * (len(true) + 1)))
        ignoring = (ordered[most - 1 :] - ordered[: len(true) - most + 1]).min()
        print(
            f"  {name:13} {how:9} covered {inside.mean():.3f}, numbers {inside[counted].mean():.3f}, tenths",
            *(f"{inside[rows].mean():.2f}".lstrip("0") for rows in parts),
            f"| width {width.mean():.2f} ({ignoring:.2f} without the prompt), tenths",
            *(f"{width[rows].mean():.2f}".removeprefix("0") for rows in parts),
        )


def main(folder: Path, tiers: list[str], check: bool) -> None:
    texts, truth = rows(folder, "train")
    more, more_truth = rows(folder, "validation")
    for tier in tiers:
        start = time.perf_counter()
        if check:
            made = fitted.fit(tier, texts, truth, targets=TARGETS)
            values = made.values(more)
            print(tier, f"{time.perf_counter() - start:.0f} s", quality(values, more_truth))
            low, high = made.limits(more, values)
            covered = ((low - 1e-9 <= more_truth) & (more_truth <= high + 1e-9)).mean(axis=0)
            print("  covered", dict(zip(TARGETS, covered.round(3).tolist(), strict=True)))
            continue
        both = np.vstack([truth, more_truth])
        made = fitted.fit(tier, [*texts, *more], both, targets=TARGETS)
        told = {**ABOUT, "prompts": len(both), "held_out": quality(made.model.held_out, both)}
        file = SHIPPED / f"pqpp_{tier}.npz"
        fitted.save(file, fitted.Fitted(**{**vars(made), "about": told}))
        print(
            tier, f"{time.perf_counter() - start:.0f} s, {file.stat().st_size / 1e6:.1f} MB", told["held_out"]
        )
        tenths(made.model.held_out, both, [*texts, *more])


if __name__ == "__main__":
    asked = sys.argv[2:]
    chosen = [name for name in asked if name != "--check"] or list(TIERS)
    main(Path(sys.argv[1]), chosen, "--check" in asked)
