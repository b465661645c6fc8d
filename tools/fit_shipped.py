"""Fit the predictor that ships, from the published PQPP data (CC BY 4.0): fit_shipped.py DIR [TIER ..]

DIR holds train.csv and validation.csv. Nothing else is read, and the rows of the test split never are. With
--check a tier is fitted on the training rows alone and held against the validation rows.
"""

from __future__ import annotations

import csv
import sys
import time
from pathlib import Path

import numpy as np

from sightline.prediction import fitted
from sightline.prediction.model import TARGETS, TIERS
from sightline.statistics.correlation import kendall, pearson

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


def main(folder: Path, tiers: list[str], check: bool) -> None:
    texts, truth = rows(folder, "train")
    more, more_truth = rows(folder, "validation")
    for tier in tiers:
        start = time.perf_counter()
        if check:
            made = fitted.fit(tier, texts, truth, targets=TARGETS)
            values = made.values(more)
            print(tier, f"{time.perf_counter() - start:.0f} s", quality(values, more_truth))
            covered = (np.abs(values - more_truth) <= np.array(made.widths)).mean(axis=0)
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


if __name__ == "__main__":
    asked = sys.argv[2:]
    chosen = [name for name in asked if name != "--check"] or list(TIERS)
    main(Path(sys.argv[1]), chosen, "--check" in asked)
