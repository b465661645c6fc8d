"""The tests of a gate: is a class of prompts worse, is it within its margin, or is there no telling?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.estimate import Estimate
from sightline.statistics.comparison import CONFOUNDED, MOST_DRAWN
from sightline.statistics.crossed import Variance
from sightline.statistics.paired import paired_spread
from sightline.statistics.power import detectable_effect
from sightline.statistics.significance import holm, sign_flip_columns

Array = NDArray[np.float64]
Verdict = Literal["passed", "regressed", "inconclusive"]
MIN_PROMPTS = 10
"""Classes with fewer prompts than this are not tested, unless a user asks for it."""


@dataclass(frozen=True)
class ClassTest:
    """The test of one class, oriented so that higher is better; `reason` says why it is inconclusive.

    `p` tests that the mean lies below minus the margin, `p_holm` is adjusted for all classes and measures;
    `p_within`, with a margin, tests that it lies above. `detectable` is the true regression that so many
    prompts with this spread detect with a power of 80 %, or None with the reason in `undetectable`.
    """

    verdict: Verdict
    difference: Estimate
    p: float | None = None
    p_holm: float | None = None
    p_within: float | None = None
    detectable: float | None = None
    undetectable: str = "not known"
    reason: str = ""


class Source(NamedTuple):
    """What a column of differences is: the width of its scale, how far the mean can fall, and its raters."""

    width: float | None = None
    fall: float | None = None
    raters: Variance | None = None
    confounded: bool = False


def class_tests(
    differences: Array,
    margins: Sequence[float],
    alpha: float,
    *,
    sources: Sequence[Source] | None = None,
    min_prompts: int = MIN_PROMPTS,
    seed: int = 0,
) -> list[ClassTest]:
    """Test every column of differences (prompts x classes, NaN = not in it), higher being better.

    A mean below minus the margin is tested by one-sided sign flips of difference + margin, adjusted after
    Holm over the columns with enough prompts; where raters add variance, p is at least that of the t test
    with it. The interval is at 1 - 2 alpha: its ends are what one-sided tests at alpha leave open. That every
    class lies within its margin is an intersection-union claim, whose parts need no adjustment (Berger,
    Technometrics 24, 1982); it also takes enough prompts to see a rare failure that would cost the margin.
    """
    shifted = differences + np.asarray(margins)
    sizes = np.count_nonzero(~np.isnan(differences), axis=0)
    enough = sizes >= min_prompts
    tests = int(enough.sum())
    # The smallest p that can be drawn must survive Holm's factor with room to spare.
    draws = min(MOST_DRAWN, max(10_000, ceil(20 * tests / alpha)))
    below, above = (np.full(len(sizes), np.nan) for _ in range(2))
    if tests:
        chosen = shifted[:, enough]
        below[enough] = sign_flip_columns(chosen, alternative="less", permutations=draws, seed=seed)
        above[enough] = sign_flip_columns(chosen, alternative="greater", permutations=draws, seed=seed)
    known_of = sources or [Source()] * len(sizes)
    spreads = [
        paired_spread(differences[:, column], width=each.width, raters=each.raters, level=each.fall)
        for column, each in enumerate(known_of)
    ]
    for column, (spread, source) in enumerate(zip(spreads, known_of, strict=True)):
        if enough[column] and source.raters is not None and source.raters.raters:
            below[column] = max(below[column], spread.p(-margins[column], "less"))
        if enough[column] and margins[column]:
            above[column] = max(above[column], spread.p_beyond(-margins[column], "greater"))
    adjusted = holm(below)
    tested = []
    for column, (n, margin) in enumerate(zip(sizes.tolist(), margins, strict=True)):
        source, spread = known_of[column], spreads[column]
        difference = spread.interval(1 - 2 * alpha)
        if not enough[column]:
            few = f"{n} prompt{'' if n == 1 else 's'} in common, fewer than {min_prompts}"
            tested.append(ClassTest("inconclusive", difference, reason=few))
            continue
        if source.confounded:
            difference = replace(difference, low=None, high=None, reason=CONFOUNDED)
            tested.append(ClassTest("inconclusive", difference, reason=CONFOUNDED))
            continue
        effect, unknown = detectable_effect(differences[:, column], spread, 2 * alpha / tests)
        test = ClassTest(
            "passed",
            difference,
            float(below[column]),
            float(adjusted[column]),
            float(above[column]) if margin else None,
            None if effect is None else margin + effect,
            unknown or "",
        )
        smallest = max(2.0**-n, 1 / (draws + 1)) * tests
        # A system that is better in what was seen has further to fall.
        ahead = max(0.0, difference.low or 0.0)
        missed = spread.rare(margin + ahead, source.fall + ahead) if margin and source.fall else 0.0
        tested.append(decided(test, margin, alpha, smallest, missed, n))
    return tested


def decided(
    test: ClassTest, margin: float, alpha: float, smallest: float, missed: float, n: int
) -> ClassTest:
    """The verdict of a test after the correction.

    `smallest` is the smallest p that was possible, `missed` the probability to miss a rare failure.
    """
    assert test.p_holm is not None
    if test.p_holm < alpha:
        return replace(test, verdict="regressed")
    reason = ""
    if smallest >= alpha:
        reason = f"{n} prompts allow no p after Holm below {smallest:.2g}"
    elif test.p_within is not None and test.p_within >= alpha:
        reason = f"a regression beyond {margin:g} is neither shown nor ruled out by {n} prompts"
    elif missed >= alpha:
        reason = f"{n} prompts may miss rare failures that together cost {margin:g}"
    return replace(test, verdict="inconclusive", reason=reason) if reason else test
