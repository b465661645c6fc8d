"""How long compare takes on large studies: 10,000 prompts with three raters, and 100 systems by 10 questions.

The studies are made first, which does not count. Bounds: 10 s for 4 systems x 10,000 prompts x 3 raters
(inference over prompts and raters), 20 s for 100 systems x 10 questions x 1,000 prompts.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from sightline.comparison.compare import compare
from sightline.judging.truth import truth
from sightline.records import (
    AnnotatorKey,
    Answer,
    ImageKey,
    Item,
    Judgement,
    Prompt,
    PromptKey,
    Question,
    Record,
    Truth,
)
from sightline.study.study import Study, create_study, open_study
from sightline.study.writing.loading import load

MOST_JUDGED, MOST_BOARD = 10.0, 20.0


def judged(prompts: int, systems: int, raters: int) -> Iterator[Record]:
    """One image of each system for each prompt, judged by all raters."""
    rng = np.random.default_rng(0)
    yield Question("quality", "interval", 1, 5)
    level = np.linspace(2.9, 3.1, systems)[:, None] + rng.normal(0, 0.2, (systems, raters))
    people = [AnnotatorKey("panel", f"rater {number}") for number in range(raters)]
    for number in range(prompts):
        prompt = PromptKey("s", str(number))
        yield Prompt(prompt, f"scene number {number}")
        votes = np.clip(level + rng.normal(0, 0.8, (systems, raters)) + rng.normal(0, 0.5), 1, 5).round(1)
        for system in range(systems):
            key = ImageKey(f"system {system}", f"{number}.png")
            yield Answer(prompt, f"system {system}", 0, key)
            for person, vote in zip(people, votes[system].tolist(), strict=True):
                yield Judgement("quality", Item(prompt, image=key), vote, person)


def board(prompts: int, systems: int, questions: int) -> Iterator[Record]:
    """Published truth about every system on every prompt by every question."""
    rng = np.random.default_rng(0)
    for question in range(questions):
        yield Question(f"question {question}", "interval", 0, 1)
    level = rng.uniform(0.3, 0.7, systems)
    for number in range(prompts):
        prompt = PromptKey("s", str(number))
        yield Prompt(prompt, f"scene number {number}")
        values = np.clip(level + rng.normal(0, 0.15, (questions, systems)), 0, 1)
        for question in range(questions):
            for system in range(systems):
                item = Item(prompt, system=f"system {system}")
                yield Truth(f"question {question}", item, float(values[question, system]))


def seconds(study: Study, by: list[str]) -> float:
    start = time.perf_counter()
    compare(study, by)
    return time.perf_counter() - start


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the prompts")
    parser.add_argument("--keep", type=Path, help="make the studies in this folder, or use those there")
    chosen = parser.parse_args()
    part = 10 if chosen.quick else 1
    with tempfile.TemporaryDirectory() as aside:
        folder = chosen.keep or Path(aside)
        made = {}
        for name, records in (
            ("judged", judged(10_000 // part, 4, 3)),
            ("board", board(1_000 // part, 100, 10)),
        ):
            there = (folder / name).exists()
            study = open_study(folder / name) if there else create_study(folder / name)
            with study:
                if not there:
                    load(study, records, importer="benchmark", path=name, digest=name)
                    if name == "judged":
                        truth(study, rule="mean", screening=[])
                by = ["quality"] if name == "judged" else [f"question {number}" for number in range(10)]
                made[name] = seconds(study, by)
    within = made["judged"] < MOST_JUDGED and made["board"] < MOST_BOARD
    print(json.dumps({"prompts": 10_000 // part, "seconds": made, "within": within}, indent=1))
    return 0 if within else 1


if __name__ == "__main__":
    raise SystemExit(main())
