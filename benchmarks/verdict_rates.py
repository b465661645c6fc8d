"""Do match rates corrected by a judged sample hold what they promise? Coverage and width by simulation.

    python benchmarks/verdict_rates.py [RUNS]

Prompts have a chance of a match of their own; a verdict finds it with a given sensitivity and specificity,
and cannot tell of a proportion of answers, more often where the answer does not match. People judge a random
sample of prompts. Shown per setting: coverage of the 95 % interval of people alone (Wilson), of verdicts
alone, and of both together (prediction-powered); the widths; and how many judged prompts the sample is worth.
"""

from __future__ import annotations

import sys

import numpy as np

from sightline.skills.corrected import people_rate, powered_match_rate
from sightline.statistics.match_rates import match_rate
from sightline.statistics.prediction_powered import powered_estimate

PROMPTS = 400


def simulate(
    rng: np.random.Generator,
    rate: float,
    right: tuple[float, float],
    untold: float,
    judged: int,
    samples: int,
) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """The true rate, and verdicts, people's judgement and units of one study."""
    unit = np.repeat(np.arange(PROMPTS), samples)
    # Samples of one prompt are alike: an intraclass correlation of .4.
    chance = rng.beta(rate * 1.5, (1 - rate) * 1.5, PROMPTS)[unit] if samples > 1 else np.full(PROMPTS, rate)
    truth = rng.random(unit.size) < chance
    said = np.where(truth, rng.random(unit.size) < right[0], rng.random(unit.size) >= right[1]).astype(float)
    said[rng.random(unit.size) < np.where(truth, untold, min(1.0, 1.5 * untold))] = np.nan
    chosen = np.isin(unit, rng.permutation(PROMPTS)[:judged])
    return rate, said, np.where(chosen, truth.astype(float), np.nan), unit


def row(
    rng: np.random.Generator,
    runs: int,
    rate: float,
    right: tuple[float, float],
    untold: float,
    judged: int,
    samples: int,
) -> tuple[list[float], list[float], float, int]:
    """Coverages and widths of people alone, verdicts alone and both; the median worth; runs without a fit."""
    inside, widths, worth, without = np.zeros(3), np.zeros(3), [], 0
    for _ in range(runs):
        true, said, human, unit = simulate(rng, rate, right, untold, judged, samples)
        people = people_rate(human, unit)
        fit = powered_match_rate(said, human, unit)
        both = people
        if fit is None:
            without += 1
        else:
            yes_no = samples == 1
            both = powered_estimate(fit, fit.variance, (0.0, 1.0), yes_no=yes_no)
            worth.append(fit.worth / fit.n)
        for place, found in enumerate((people, match_rate(said, unit), both)):
            assert found.low is not None and found.high is not None
            inside[place] += found.low <= true <= found.high
            widths[place] += found.high - found.low
    return (inside / runs).tolist(), (widths / runs).tolist(), float(np.median(worth or [1.0])), without


def main(runs: int) -> None:
    """Print the table that docs/skills.md has."""
    rng = np.random.default_rng(0)
    print("rate  right        untold  judged  samples | people  verdicts  both | width people  both | worth")
    for rate in (0.1, 0.5, 0.9):
        for right in ((0.98, 0.98), (0.9, 0.8), (0.6, 0.5)):
            for untold, judged, samples in ((0.0, 30, 1), (0.3, 30, 1), (0.3, 100, 1), (0.3, 30, 4)):
                cover, width, worth, without = row(rng, runs, rate, right, untold, judged, samples)
                print(
                    f"{rate:<5} {right!s:<12} {untold:<7} {judged:<7} {samples:<7} | {cover[0]:.3f}   "
                    f"{cover[1]:.3f}     {cover[2]:.3f} | {width[0]:.3f}         {width[2]:.3f} | "
                    f"{worth:.2f}{f'  ({without} without)' if without else ''}"
                )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
