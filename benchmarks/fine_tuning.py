"""How long the fine-tuned encoder takes to learn PQPP, and how well it predicts prompts it has not seen.

Learns from train.csv alone (a tenth of it is held out inside to stop early) and tells Pearson and Kendall on
validation.csv for every target. The setting is an option: `--setting "rank=0, rate=0.0001"` tries another
one, `--setting grid=True` all of the paper's. After an interruption the same call goes on where it was; the
minutes are then those of the rest. Where other work shares the cores, threads that wait for each other cost
more than they gain: OMP_NUM_THREADS=1.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import kendalltau, pearsonr

from sightline import registry
from sightline.records import Examples, Prompt, PromptKey

MOST_MINUTES = 40.0
TARGETS = {
    "hbpp": "avg_generative_score",
    "p_at_10": "retrieval_avg_pk",
    "rr": "retrieval_avg_rr",
    "hbpp.glide": "glide_score",
    "hbpp.sdxl": "sdxl_score",
}
AUXILIARY = ("blip2_pk", "clip_pk", "blip2_rr", "clip_rr")
"""Learned together with the others on demand, and not reported."""


def read(file: Path, columns: list[str], most: int | None) -> tuple[Examples, np.ndarray]:
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))[:most]
    prompts = [Prompt(PromptKey("pqpp", row["id"]), row["best_caption"]) for row in rows]
    truth = np.array([[float(row[column] or "nan") for column in columns] for row in rows])
    return Examples(prompts, np.zeros((len(rows), 0)), ()), truth


def measure(data: Path, setting: str, auxiliary: bool, most: int | None, save: Path | None) -> dict[str, Any]:
    import torch

    columns = [*TARGETS.values(), *(AUXILIARY if auxiliary else ())]
    learn, truth = read(data / "train.csv", columns, most)
    new, wanted = read(data / "validation.csv", columns, most)
    model = registry.configure("predictor", f"fine_tuned({setting})").load()
    epochs: list[Any] = []

    def listener(epoch: Any) -> None:
        epochs.append(epoch)
        print(
            f"{epoch.setting} epoch {epoch.number}: learned {epoch.learned:.5f}, held out {epoch.held:.5f}, "
            f"{epoch.seconds:.0f} s",
            file=sys.stderr,
            flush=True,
        )

    model.listener = listener
    started = time.monotonic()
    model.fit(learn, truth)
    minutes = (time.monotonic() - started) / 60
    started = time.monotonic()
    predicted = model.predict(new)
    a_second = len(new) / (time.monotonic() - started)
    if save is not None:
        np.savez(save, allow_pickle=False, **model.state())
    return {
        "setting": setting,
        "threads": torch.get_num_threads(),
        "prompts": len(learn),
        "chosen": model.chosen,
        "validation": {
            name: {
                "pearson": round(float(pearsonr(predicted[:, at], wanted[:, at])[0]), 4),
                "kendall": round(float(kendalltau(predicted[:, at], wanted[:, at])[0]), 4),
            }
            for at, name in enumerate(TARGETS)
        },
        "epochs": len(epochs),
        "resumed": not epochs or epochs[0].number != 1,
        "minutes": round(minutes, 1),
        "seconds_an_epoch": round(float(np.median([each.seconds for each in epochs])), 1) if epochs else None,
        "predicted_a_second": round(a_second, 1),
        "megabytes": round(sum(array.nbytes for array in model.state().values()) / 1e6, 1),
        "within": minutes <= MOST_MINUTES,
    }


def main() -> int:
    """Measure, print, and fail above the bound."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = os.environ.get("SIGHTLINE_DATA", str(Path(__file__).resolve().parents[2] / "shared" / "data"))
    parser.add_argument("--data", type=Path, default=Path(default) / "pqpp" / "dataset")
    parser.add_argument("--setting", default="", help="parameters of fine_tuned, name=value, ...")
    parser.add_argument("--auxiliary", action="store_true", help="learn the engines' own P@10 and RR as well")
    parser.add_argument(
        "--most", type=int, default=None, help="at most this many prompts of each file, for a trial"
    )
    parser.add_argument("--save", type=Path, default=None, help="keep what was learned in this .npz")
    options = parser.parse_args()
    result = measure(options.data, options.setting, options.auxiliary, options.most, options.save)
    print(json.dumps(result, indent=2))
    return 0 if result["within"] else 1


if __name__ == "__main__":
    sys.exit(main())
