"""How well our detectors see: objects on COCO's photographs, text on street photographs and word crops.

    SIGHTLINE_DATA=... python benchmarks/detectors.py

Prints what the detectors' descriptions state: average precision at an overlap of .5 (COCO's, 101 points) with
precision and recall at some confidences, boxes of text found, words read exactly, and images per second.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sightline import registry
from sightline.detectors.models.ssd_mobilenet_v2 import CLASSES
from sightline.pictures import Picture

DATA = Path(os.environ.get("SIGHTLINE_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")
Box = Sequence[float]


def overlap(one: Box, two: Box) -> float:
    """Intersection over union."""
    across = max(0.0, min(one[2], two[2]) - max(one[0], two[0]))
    down = max(0.0, min(one[3], two[3]) - max(one[1], two[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, two)]
    return across * down / (sum(areas) - across * down + 1e-12)


def labelled(file: Path) -> list[tuple[str, Box]]:
    """The boxes of a YOLO file."""
    rows = [line.split() for line in file.read_text().splitlines()] if file.is_file() else []
    found = []
    for number, *place in rows:
        x, y, width, height = map(float, place[:4])
        box = (x - width / 2, y - height / 2, x + width / 2, y + height / 2)
        found.append((CLASSES[int(number)], box))
    return found


def matched(seen: Sequence[dict], there: Sequence[tuple[str, Box]]) -> list[tuple[str, float, bool]]:
    """Each object seen, the surest first: its kind, confidence, and whether a box is its own."""
    left = list(there)
    found = []
    for each in sorted(seen, key=lambda one: -one["confidence"]):
        own = [(overlap(each["box"], box), n) for n, (kind, box) in enumerate(left) if kind == each["kind"]]
        best, place = max(own, default=(0.0, -1))
        if best >= 0.5:
            left.pop(place)
        found.append((each["kind"], each["confidence"], best >= 0.5))
    return found


def average_precision(hits: np.ndarray, n: int) -> float:
    """Of one class, its objects sorted by confidence: mean precision at 101 recalls, as COCO has it."""
    total = np.cumsum(hits)
    precision = np.maximum.accumulate((total / np.arange(1, len(hits) + 1))[::-1])[::-1]
    recall = total / n
    return float(np.mean([max(precision[recall >= r], default=0.0) for r in np.linspace(0, 1, 101)]))


def objects() -> None:
    detector = registry.configure("detector", "ssd_mobilenet_v2(least=0.0)").load()
    files = sorted((DATA / "coco64" / "images").iterdir())
    there = [labelled(DATA / "coco64" / "labels" / f"{file.stem}.txt") for file in files]
    pictures = [Picture(path=file) for file in files]
    _ = [picture.rgb for picture in pictures]
    started = time.monotonic()
    scenes = detector.detect(pictures)
    rate = len(files) / (time.monotonic() - started)
    rows = [
        row for scene, boxes in zip(scenes, there, strict=True) for row in matched(scene["objects"], boxes)
    ]
    rows.sort(key=lambda row: -row[1])
    asked = [kind for boxes in there for kind, _ in boxes]
    aps = [
        average_precision(np.array([hit for kind, _, hit in rows if kind == each]), asked.count(each))
        for each in sorted(set(asked))
    ]
    print(
        f"objects: {len(files)} photographs, {len(asked)} boxes, AP50 {np.mean(aps):.3f}, {rate:.1f} images/s"
    )
    for least in (0.3, 0.4, 0.5, 0.6):
        kept = [hit for _, confidence, hit in rows if confidence >= least]
        precision, recall = sum(kept) / len(kept), sum(kept) / len(asked)
        print(f"  least {least}: precision {precision:.3f}, recall {recall:.3f}, {len(kept)} boxes")


def text() -> None:
    reader = registry.configure("detector", "rapidocr").load()
    home = DATA / "ocr_small"

    def read(path: Path) -> list[dict]:
        return reader.detect([Picture(path=path)])[0]["text"]

    def letters(said: str) -> str:
        return re.sub(r"[^a-z0-9]", "", said.lower())

    lines = [
        line.split() for line in (home / "word_crops" / "gt.txt").read_text().splitlines() if line.strip()
    ]
    crops = [(home / "word_crops" / Path(name).name, word) for name, word in lines]
    labels = json.loads((home / "rec_toy_dataset" / "labels.json").read_text())["data_list"]
    crops += [
        (home / "rec_toy_dataset" / "imgs" / each["img_path"], each["instances"][0]["text"])
        for each in labels
    ]
    exact = [letters("".join(line["text"] for line in read(path))) == letters(word) for path, word in crops]
    print(f"text: {sum(exact)} of {len(crops)} cut-out words read exactly")
    found = asked = photographs = 0
    started = time.monotonic()
    for each in json.loads((home / "det_toy_dataset" / "textdet_test.json").read_text())["data_list"]:
        path = home / "det_toy_dataset" / each["img_path"]
        height, width = Picture(path=path).rgb.shape[:2]
        boxes = [line["box"] for line in read(path)]
        photographs += 1
        for word in (one["bbox"] for one in each["instances"] if not one["ignore"]):
            left, top, right, bottom = (
                side / size for side, size in zip(word, (width, height) * 2, strict=True)
            )
            asked += 1
            # A line holds several words: what counts is whether half of the word lies in it.
            found += any(
                max(0, min(right, box[2]) - max(left, box[0]))
                * max(0, min(bottom, box[3]) - max(top, box[1]))
                >= 0.5 * (right - left) * (bottom - top)
                for box in boxes
            )
    rate = photographs / (time.monotonic() - started)
    print(
        f"  {found} of {asked} legible words of {photographs} street photographs found, {rate:.2f} images/s"
    )


if __name__ == "__main__":
    objects()
    text()
