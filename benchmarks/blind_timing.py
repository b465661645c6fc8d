"""Whether an annotator who holds a stop-watch can tell controls from work.

    python benchmarks/blind_timing.py [--pages 1000] [--warm 3] [--side 512]

The server is `sightline annotate` in a process of its own, over a study of JPEG images. A few annotators go
through the round first, so that every control has been seen and most work has not. Then others, in turn, ask
for tasks one at a time, half of which are controls in random places, and time three things: the reply that
assigns the task, its image, and the receipt for the answer. For each the AUC says how often a control was
quicker than work; .5 means that the time tells nothing. With 500 of each, chance alone gives .46 to .54 in 19
runs of 20 or more.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import numpy as np
from PIL import Image
from sqlalchemy import text

from sightline.records import Answer, ImageKey, Prompt, PromptKey, Record
from sightline.records import Image as ImageRecord
from sightline.study.schema import database
from sightline.study.study import create_study, open_study
from sightline.study.writing.loading import load

SETTINGS = """
[annotate.timing]
mode = "yes_no"
per_item = {per_item}
ahead = 1
session_pages = 100000
rest_minutes = 0
controls = {{file = "controls.csv", pages = 1, of = 2}}
"""
CONTROLS = 60
"""Controls in the round; every annotator sees each once, and so judges at most twice as many tasks."""
BOUNDS = (0.45, 0.55)


def make_study(folder: Path, work: int, side: int, per_item: int) -> None:
    """A study of one image per prompt, the first prompts with known answers."""
    rng = np.random.default_rng(0)
    pictures = folder.parent / f"{folder.name}-files"
    pictures.mkdir()
    records: list[Record] = []
    for number in range(CONTROLS + work):
        file = pictures / f"{number}.jpg"
        coarse = Image.fromarray(rng.integers(0, 255, (side // 8, side // 8, 3), dtype=np.uint8))
        coarse.resize((side, side), Image.Resampling.BICUBIC).save(file, quality=90)
        prompt, image = PromptKey("s", str(number)), ImageKey("c", file.name)
        records += [Prompt(prompt, f"thing {number}"), ImageRecord(image, str(file))]
        records.append(Answer(prompt, "sd", 0, image))
    with create_study(folder, settings=SETTINGS.format(per_item=per_item)) as study:
        load(study, records, importer="benchmark", path="benchmark", digest="benchmark")
    with (folder / "controls.csv").open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["prompt_id", "image", "expected"])
        rows.writerows([number, f"{number}.jpg", 1] for number in range(CONTROLS))


@contextmanager
def served(folder: Path, people: Sequence[str]) -> Iterator[list[str]]:
    """The links of these annotators, while the server runs."""
    command = [sys.executable, "-m", "sightline", "annotate", str(folder), "--port", "0"]
    with subprocess.Popen(
        [*command, "--invite", ",".join(people)], stdout=subprocess.PIPE, text=True
    ) as server:
        links: list[str] = []
        assert server.stdout is not None
        for line in server.stdout:
            links += re.findall(r"Link for .*: (\S+)", line)
            if line.startswith("Judging continues"):
                break
        try:
            yield links
        finally:
            server.terminate()


class Annotator:
    """Judges one task after another, and times each step."""

    def __init__(self, link: str) -> None:
        self.http = httpx.Client(
            base_url=link.partition("/j/")[0], headers={"X-Sightline": "1"}, timeout=60, trust_env=False
        )
        self.http.get(link)
        self.serial = 0

    def judge(self) -> tuple[str, tuple[float, float, float]] | None:
        """The key of a task and the seconds of its three replies; None when nothing is left."""
        began = time.perf_counter()
        pages = self.http.get("/api/work").json()["pages"]
        assigned = time.perf_counter()
        if not pages:
            return None
        (page,) = pages
        self.http.get(page["slots"][0]["images"][0]).raise_for_status()
        shown = time.perf_counter()
        self.serial += 1
        answer = {"key": f"{id(self):016x}-{self.serial:06d}", "page": page["page"], "slot": 0}
        reply = self.http.post(
            "/api/answers", json={"answers": [{**answer, "question": "match", "value": 1}]}
        )
        reply.raise_for_status()
        return page["page"], (assigned - began, shown - assigned, time.perf_counter() - shown)


def measure(pages: int, warm: int, side: int, per_item: int) -> dict[str, Any]:
    """The AUC of each step for one number of judgements per item."""
    each = 2 * CONTROLS - 20
    people = [f"w{number:02d}" for number in range(warm + -(-pages // each))]
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home) / "study"
        make_study(folder, len(people) * each, side, per_item)
        with served(folder, people) as links:
            annotators = [Annotator(link) for link in links]
            for annotator in annotators[:warm]:
                for _ in range(2 * CONTROLS - 20):
                    annotator.judge()
            timed = []
            while len(timed) < pages:
                for annotator in annotators[warm:]:
                    result = annotator.judge()
                    assert result is not None, "the round ran out of work"
                    timed.append(result)
        with open_study(folder) as study, database.reading(study.engine) as connection:
            query = "SELECT t.key, i.kind FROM task t JOIN round_item i ON i.id = t.round_item_id"
            kind = {row[0]: row[1] for row in connection.execute(text(query))}
    control = np.array([kind[key] == "control" for key, _ in timed])
    seconds = np.array([times for _, times in timed])
    names = ("assigning", "showing", "answering")
    return {
        "per_item": per_item,
        "controls": int(control.sum()),
        "work": int((~control).sum()),
        "auc": {name: auc(seconds[control, n], seconds[~control, n]) for n, name in enumerate(names)},
        "all_three": auc(seconds[control].sum(1), seconds[~control].sum(1)),
        "median_ms": {
            name: [round(1000 * float(np.median(seconds[which, n])), 2) for which in (control, ~control)]
            for n, name in enumerate(names)
        },
    }


def auc(controls: np.ndarray, work: np.ndarray) -> float:
    """How often a control was quicker than work; a tie counts half."""
    difference = controls[:, None] - work[None, :]
    return round(float(np.mean((difference < 0) + 0.5 * (difference == 0))), 3)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000)
    parser.add_argument("--warm", type=int, default=3)
    parser.add_argument("--side", type=int, default=512)
    asked = parser.parse_args()
    results = [measure(asked.pages, asked.warm, asked.side, per_item) for per_item in (1, 3)]
    print(json.dumps(results, indent=1))
    values = [value for each in results for value in (*each["auc"].values(), each["all_three"])]
    return int(not all(BOUNDS[0] <= value <= BOUNDS[1] for value in values))


if __name__ == "__main__":
    sys.exit(main())
