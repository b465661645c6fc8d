"""StairReward over a light joint encoder: answers per second, and the files it leaves in the study.

    python benchmarks/stair_reward.py [--answers 352] [--side 512]

Draws answers by formula, scores them once, and prints both figures: at least 30 answers a second on a quiet
machine, and a handful of files.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from sightline.data import import_
from sightline.extension import Configured, JointEncoder, Picture, encoder
from sightline.registry import configure
from sightline.study.init import init
from sightline.study.running.run import run
from sightline.study.study import open_study


class Colours:
    """Mean colours of a 4 x 4 grid, and words hashed into as many numbers: light, and of no use."""

    def image(self, images: Sequence[Picture]) -> np.ndarray:
        small = [Image.fromarray(each.rgb).resize((4, 4), Image.Resampling.BOX) for each in images]
        return np.array([np.asarray(each).ravel() for each in small], dtype=np.float32).reshape(-1, 48) / 255

    def text(self, texts: Sequence[str]) -> np.ndarray:
        rows = np.zeros((len(texts), 48), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[sum(map(ord, word)) % 48] += 1
        return rows


@encoder(encodes=("text", "image"), source="this benchmark", licence="Apache-2.0")
def colours() -> JointEncoder:
    """Colours and words without meaning."""
    return Colours()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--answers", type=int, default=352)
    options.add_argument("--side", type=int, default=512)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        (folder / "in").mkdir()
        rows = [["prompt_id", "prompt", "image", "system"]]
        generator = np.random.default_rng(0)
        for number in range(asked.answers):
            coarse = generator.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(coarse).resize((asked.side,) * 2).save(folder / "in" / f"{number}.jpg")
            prompt = f"a red thing number {number} on a table, beside a blue thing in the morning, in oil"
            rows.append([str(number), prompt, f"{number}.jpg", "one"])
        with (folder / "in" / "answers.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)
        init(folder / "study")
        with open_study(folder / "study") as study:
            import_(study, folder / "in" / "answers.csv")
            inner = configure("of_answer", "embedding_similarity", encoder=Configured(colours, {}))
            started, spent = time.monotonic(), sum(os.times()[:4])
            ran = run(study, configure("of_answer", "stair_reward", alignment=inner))
            seconds, worked = time.monotonic() - started, sum(os.times()[:4]) - spent
            files = sum(path.is_file() for path in study.vectors.folder.rglob("*"))
        print(
            f"{ran.computed} answers, {ran.computed / seconds:.1f} a second, {files} files of vectors; "
            f"{worked:.1f} s of processor time without the processes that decode"
        )


if __name__ == "__main__":
    main()
