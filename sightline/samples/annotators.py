"""Simulated annotators whose bias, care and spite are known."""

import math
from dataclasses import dataclass

from sightline.samples.chance import chance


@dataclass(frozen=True)
class Annotator:
    """How someone judges, in proportions of the scale.

    `bias` is added to every judgement, `noise` is the standard deviation around it, `spite` the chance that a
    judgement ignores the truth (at random) or turns it round, one as likely as the other; `speed` is the
    median of seconds taken.
    """

    name: str
    character: str
    bias: float = 0.0
    noise: float = 0.06
    spite: float = 0.0
    speed: float = 9.0

    def __post_init__(self) -> None:
        if not 0 <= self.spite <= 1:
            raise ValueError(f"spite is a chance from 0 to 1, not {self.spite}")
        if self.noise < 0 or self.speed <= 0:
            raise ValueError("noise cannot be negative, and a judgement takes time")


def panel(seed: int = 0) -> tuple[Annotator, ...]:
    """Eight annotators: four careful ones, one lenient, one harsh, one hasty and one spiteful."""
    characters: tuple[tuple[str, str, float, float, float, float], ...] = (
        ("amara", "careful", 0.0, 0.05, 0.0, 10.0),
        ("bruno", "careful", 0.0, 0.05, 0.0, 9.0),
        ("chidi", "careful", 0.0, 0.06, 0.0, 11.0),
        ("dalia", "careful", 0.0, 0.06, 0.0, 8.0),
        ("elena", "lenient", 0.15, 0.06, 0.0, 8.0),
        ("farid", "harsh", -0.15, 0.06, 0.0, 10.0),
        ("greta", "hasty", 0.0, 0.22, 0.0, 2.5),
        ("hugo", "spiteful", 0.0, 0.10, 0.8, 1.5),
    )
    people = []
    for name, character, bias, noise, spite, speed in characters:
        rng = chance("annotator", name, seed)
        leaning = float(rng.uniform(-0.02, 0.02))
        people.append(
            Annotator(name, character, bias + leaning, noise * float(rng.uniform(0.9, 1.1)), spite, speed)
        )
    return tuple(people)


def judge(
    annotator: Annotator,
    truth: float,
    low: float,
    high: float,
    step: float,
    item: str,
    seed: int = 0,
    repetition: int = 0,
) -> float:
    """What the annotator answers on a scale from `low` to `high` by `step`, where `truth` (0 to 1) is right.

    `item` names what is judged and under which question; `repetition` counts how often they were asked
    before, since people asked twice answer twice. A yes or no is the scale 0 to 1 by 1; four levels of
    relevance are -1 to 2 by 1.
    """
    if not low < high or step <= 0:
        raise ValueError(f"not a scale: from {low} to {high} by {step}")
    if not 0 <= truth <= 1:
        raise ValueError(f"truth is a proportion of the scale from 0 to 1, not {truth}")
    rng = chance("judge", annotator.name, item, seed, repetition)
    spiteful, turned, anything, error = rng.random(), rng.random(), rng.random(), rng.standard_normal()
    if spiteful < annotator.spite:
        truth = 1 - truth if turned < 0.5 else anything
    felt = min(1.0, max(0.0, truth + annotator.bias + annotator.noise * error))
    # Counted in steps and rounded at the end, so that 0.1 * 3 is the same number as a typed 0.3.
    steps = math.floor(felt * (high - low) / step + 0.5)
    return min(high, round(low + steps * step, 9))


def seconds(annotator: Annotator, item: str, seed: int = 0, repetition: int = 0) -> float:
    """How long the judgement took: log-normal around the annotator's speed."""
    rng = chance("seconds", annotator.name, item, seed, repetition)
    return round(annotator.speed * math.exp(0.35 * rng.standard_normal()), 3)
