"""How well learned measures follow people on prompts, and on prompts and systems, that they never saw.

    SIGHTLINE_DATA=... python benchmarks/learned.py [--folds 5] [--seeds 3] [--feature MEASURE]
    [--with PREDICTOR] [--study FOLDER]

The shared half of ImagenHub is imported into a temporary study, or into the one named, which keeps vectors
for the next time; then what `fit --sees answer` does is done for both questions and several cuts into folds.
Printed are Spearman's rho pooled and within prompts, with the 95 % interval of the first cut and the mean
over cuts, and Pearson's r with images and prompts dealt out at random: what is left there is no knowledge.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

import sightline
from sightline import registry
from sightline.estimate import format_cell
from sightline.prediction.answer_examples import Answers, answer_measures
from sightline.prediction.answers import MEASURES, AnswerBench, fit_answers, recipe
from sightline.study import reading
from sightline.study.running.progress import Meter
from sightline.study.study import Study, create_study, open_study

QUESTIONS = ("semantic_consistency", "perceptual_quality")
LEVELS = ("pooled", "within prompts")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    options.add_argument("--folds", type=int, default=5)
    options.add_argument("--seeds", type=int, default=3)
    options.add_argument("--study", type=Path)
    options.add_argument("--feature", action="append", default=[])
    options.add_argument("--with", dest="predictors", action="append", default=[])
    asked = options.parse_args()
    data = Path(os.environ.get("SIGHTLINE_DATA", "../shared/data"))
    with tempfile.TemporaryDirectory() as folder:
        path = asked.study or Path(folder) / "study"
        study = open_study(path) if path.exists() else create_study(path)
        if not reading.counts(study)["prompt"]:
            sightline.import_(study, data / "imagenhub")
        for question in QUESTIONS:
            found = [
                fit_answers(study, [question], asked.predictors, asked.feature, folds=asked.folds, seed=seed)
                for seed in range(asked.seeds)
            ]
            for each in found[0].results:
                again = [
                    next(one for one in fitted.results
                         if (one.predictor, one.left_out) == (each.predictor, each.left_out))
                    for fitted in found
                ]  # fmt: skip
                cells = [
                    f"{level} {format_cell(each.spearman(level))}, "
                    f"mean {np.mean([one.spearman(level).value for one in again]):.3f}"
                    for level in LEVELS
                ]
                print(f"{question}, {each.left_out}, {each.predictor}: {'; '.join(cells)}", flush=True)
            nothing(study, question, asked.folds, asked.predictors, asked.feature)


def nothing(study: Study, question: str, folds: int, names: list[str], features: list[str]) -> None:
    """The same with images and prompts dealt out at random: about 0 where the evaluation is fair."""
    given = Answers.read(study, question)
    x = given.examples(study, answer_measures([*MEASURES, *features]), None)
    chosen = registry.configure("predictor", names[0]) if names else recipe()[0][0]
    mixed = x.take(np.random.default_rng(0).permutation(len(given)))
    bench = AnswerBench(study, given, mixed)
    for left_out, parts in given.designs(folds, 0).items():
        held, _ = bench.held_out(chosen, parts, Meter("", 0, None))
        print(
            f"{question}, {left_out}, dealt at random: {np.corrcoef(held, given.truth)[0, 1]:+.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
