"""The mean of paired differences: its interval and tests, also where most differences are zero."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sightline.estimate import Estimate
from sightline.statistics.crossed import Variance
from sightline.statistics.intervals import known_values, within
from sightline.statistics.significance import Alternative, varies


class Spread(NamedTuple):
    """The mean of n differences, and the centre and variance that its interval and tests are made from.

    `width` is the length of the scale, which no difference exceeds, `level` how far above its low end the
    second of the pair has its mean; `sparse` says that the differences are few and zero for the most part, so
    that Agresti and Min's adjustment was made.
    """

    mean: float
    centre: float
    variance: Variance
    n: int
    width: float | None = None
    sparse: bool = False
    level: float | None = None

    def interval(self, confidence: float = 0.95) -> Estimate:
        """The mean difference with its interval."""
        method = "Agresti-Min" if self.sparse else "t"
        if self.n == 0:
            return Estimate(None, None, None, 0, method, "no value is known")
        if self.n == 1:
            return Estimate(self.mean, None, None, 1, method, "one value shows no spread")
        half = self.variance.quantile((1 - confidence) / 2) * self.variance.total**0.5
        low, high = min(self.centre - half, self.mean), max(self.centre + half, self.mean)
        over = f"{method} over prompts and raters" if self.variance.raters else method
        whole = Estimate(self.mean, low, high, self.n, over)
        return whole if self.width is None else within(whole, -self.width, self.width)

    def p(self, null: float, alternative: Alternative = "two-sided") -> float:
        """The p-value of a t test that the true mean is `null`, against it being elsewhere or on one side."""
        error = self.variance.total**0.5
        if error == 0:
            t = float(np.sign(self.centre - null)) * np.inf if self.centre != null else 0.0
        else:
            t = (self.centre - null) / error
        if alternative == "two-sided":
            return min(1.0, 2 * self.variance.tail(abs(t)))
        return self.variance.tail(t if alternative == "greater" else -t)

    def p_beyond(self, null: float, alternative: Alternative) -> float:
        """The p-value of `null` being a margin that the true mean does not reach: `p`, with more caution.

        Votes vary less near an end of their scale, so that a mean that happens to lie nearer to it than the
        margin looks surer than it is: the variance is that at the margin, where it is larger, up to that of
        unpaired yes/no. Noise of raters counts in full, since few raters may agree by chance.
        Source: Farrington and Manning, Statistics in Medicine 9 (1990) for the variance at the margin.
        """
        own, theirs = self.variance.prompts, self.variance.raters + self.variance.noise
        if self.width is not None and self.level is not None and self.n > 0:
            width, level = self.width, self.level
            second, here, there = (
                max(0.0, place) * max(0.0, width - place)
                for place in (level, level + self.mean, level + null)
            )
            factor = max(1.0, there / max(here, width**2 * (self.n + 1) / (self.n + 2) ** 2))
            own = max(own, min(own * factor, (second + there) / self.n))
            theirs *= factor
        return self._replace(variance=self.variance._replace(prompts=own, raters=theirs)).p(null, alternative)

    def rare(self, margin: float, width: float | None = None) -> float:
        """The probability that n prompts miss a failure just common enough to cost the margin.

        If a proportion margin / width of prompts changes by the whole width, the mean moves by the margin,
        and n prompts show none of them with probability (1 - margin / width)^n. No mean within the margin is
        shown while that is likely. 0 where the scale has no end.
        """
        most = self.width if width is None else width
        if most is None or most <= 0:
            return 0.0
        return float((1 - min(1.0, margin / most)) ** self.n)


def paired_spread(
    differences: ArrayLike,
    *,
    width: float | None = None,
    raters: Variance | None = None,
    level: float | None = None,
) -> Spread:
    """The spread of the differences that are not NaN, with the variance that raters add.

    Student's, unless half or more of the differences on a scale of that `width` are zero: then one
    difference of the largest size is added to either side, which for paired yes/no is the interval of Agresti
    and Min. Source: Agresti and Min, Statistics in Medicine 24 (2005).
    """
    known = known_values(differences)
    n = known.size
    if n < 2:
        mean = float(known.mean()) if n else 0.0
        return Spread(mean, mean, Variance(0.0, 0.0, 1.0), n, width, level=level)
    mean = float(known.mean())
    own = float(known.var(ddof=1)) / n
    centre, sparse = mean, False
    if width is not None and (2 * int(np.count_nonzero(known)) <= n or not varies(known)):
        sparse = True
        size = float(np.abs(known).max()) or width
        padded = np.concatenate([known, [size, -size]])
        centre, own = float(padded.mean()), float(padded.var()) / (n + 2)
    variance = Variance(own, 0.0, n - 1) if raters is None else raters._replace(prompts=own)
    return Spread(mean, centre, variance, n, width, sparse, level)
