"""Two sets of feature vectors compared as samples of two distributions, with intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sightline.statistics.intervals import mean_interval, wilson

Array = NDArray[np.float64]
DRAWS = 500
GROUPS = 20
Z = 1.959963984540054
LEAST = 8
"""Vectors that a set must have."""
FOR_INTERVAL = 50
"""Of fewer vectors in either set no interval of a distance is known to hold."""
PER_CLASS = 5
"""Images for each class that an interval of the Inception Score needs: below, its bias hides the rest."""
PER_FEATURE = 1.5
"""Vectors for each feature that an interval of the Frechet distance needs: below, its bias is not as 1/n."""


class Interval(NamedTuple):
    """A value with its 95 % interval, or the reason why there is none."""

    value: float
    low: float | None
    high: float | None
    reason: str = ""


def frechet(x: Array, y: Array) -> float:
    """Frechet distance between Gaussians fitted to two sets: |m1 - m2|^2 + tr(S1 + S2 - 2 (S1 S2)^(1/2)).

    The trace of the root is the sum of the singular values of X Y' / sqrt((n-1)(m-1)) with centred X and Y,
    so that no covariance is rooted, and few vectors of many dimensions are no problem.
    Source: Heusel et al., NeurIPS 2017; Dowson and Landau 1982.
    """
    apart = x.mean(axis=0) - y.mean(axis=0)
    one, two = _centred(x), _centred(y)
    root = np.linalg.svd(one @ two.T, compute_uv=False).sum()
    return float(max(apart @ apart + (one**2).sum() + (two**2).sum() - 2 * root, 0.0))


def _centred(x: Array) -> Array:
    """Rows whose products are the covariance; no more of them than columns."""
    centred = (x - x.mean(axis=0)) / np.sqrt(len(x) - 1)
    return np.asarray(np.linalg.qr(centred, mode="r")) if len(x) > x.shape[1] else centred


def frechet_infinity(x: Array, y: Array, seed: int = 0) -> Interval:
    """The Frechet distance that infinitely many vectors would have, by the jackknife; may fall below 0.

    Its bias is proportional to 1/n: leaving out a twentieth of either set at a time says how fast it falls,
    and how much it varies. The bootstrap would repeat vectors, and repeated vectors shrink covariances.
    Source: Chong and Forsyth, CVPR 2020, who extrapolate by regression; Quenouille 1956.
    """
    whole = frechet(x, y)
    generator = np.random.default_rng(seed)
    pseudo = (
        _pseudo_values(x, lambda rest: frechet(rest, y), whole, generator),
        _pseudo_values(y, lambda rest: frechet(x, rest), whole, generator),
    )
    value = whole + sum(float(each.mean()) - whole for each in pseudo)
    fewest, wanted = min(len(x), len(y)), int(np.ceil(PER_FEATURE * x.shape[1]))
    if FOR_INTERVAL <= fewest < wanted:
        return Interval(
            value, None, None, f"fewer than {wanted:,} images, {PER_FEATURE} a feature: no interval"
        )
    return _jackknifed(value, *pseudo, fewest)


def _pseudo_values(
    x: Array, distance: Callable[[Array], float], whole: float, generator: np.random.Generator
) -> Array:
    """What each group of vectors adds: their mean is the distance without its bias of 1/n."""
    order = generator.permutation(len(x))
    groups = np.array_split(order, min(GROUPS, len(x)))
    share = np.array([len(x) / len(group) for group in groups])
    without = np.array([distance(x[np.setdiff1d(order, group)]) for group in groups])
    return np.asarray(share * whole - (share - 1) * without)


def _jackknifed(value: float, one: Array, two: Array, fewest: int) -> Interval:
    """The interval of a squared distance from pseudo-values of both sets.

    Its standard error grows with the root of the distance itself, so that the truth is more often far above
    the value than far below: the upper end is where the error *there* reaches down to the value, at
    most (1 + sqrt 5) / 2 times the error here. The quantile is Student's, with Welch's degrees of freedom.
    """
    from scipy.special import stdtrit

    if fewest < FOR_INTERVAL:
        return Interval(value, None, None, f"fewer than {FOR_INTERVAL} images: no interval")
    squares = [float(each.var(ddof=1)) / len(each) for each in (one, two)]
    if not sum(squares):
        return Interval(value, value, value)
    freedom = sum(squares) ** 2 / sum(
        square**2 / (len(each) - 1) for square, each in zip(squares, (one, two), strict=True)
    )
    error = float(stdtrit(freedom, 0.975)) * float(np.sqrt(sum(squares)))
    skewed = min(error**2 / (2 * value), error / 2) if value > 0 else error / 2
    return Interval(value, value - error, value + skewed + float(np.hypot(skewed, error)))


def kernel_distance(x: Array, y: Array) -> Interval:
    """Squared maximum mean discrepancy under k(a, b) = (a.b / d + 1)^3, unbiased.

    The U-statistic leaves out the pairs of a vector with itself; the interval is the jackknife's, which
    leaves out each vector of either set in turn. Source: Binkowski et al., ICLR 2018 (KID).
    """
    n, m = len(x), len(y)
    xx, yy, xy = (_cubes(a, b) for a, b in ((x, x), (y, y), (x, y)))
    np.fill_diagonal(xx, 0)
    np.fill_diagonal(yy, 0)
    own, other, cross = (float(kernel.sum()) for kernel in (xx, yy, xy))
    value = own / (n * (n - 1)) + other / (m * (m - 1)) - 2 * cross / (n * m)
    without_x = (
        (own - 2 * xx.sum(axis=1)) / ((n - 1) * (n - 2))
        + other / (m * (m - 1))
        - 2 * (cross - xy.sum(axis=1)) / ((n - 1) * m)
    )
    without_y = (
        own / (n * (n - 1))
        + (other - 2 * yy.sum(axis=1)) / ((m - 1) * (m - 2))
        - 2 * (cross - xy.sum(axis=0)) / (n * (m - 1))
    )
    return _jackknifed(value, -(n - 1) * without_x, -(m - 1) * without_y, min(n, m))


def _cubes(x: Array, y: Array) -> Array:
    kernel = x @ y.T / x.shape[1] + 1
    # A product: the power of a large array takes several times as long.
    return np.asarray(kernel * kernel * kernel)


def _weights(generator: np.random.Generator, n: int) -> Array:
    """How often each of n is drawn, for every bootstrap draw."""
    return generator.multinomial(n, np.full(n, 1 / n), size=DRAWS).astype(np.float64)


def inception_score(probabilities: Array, seed: int = 0) -> Interval:
    """exp of the mutual information between image and class, corrected for few images by the jackknife.

    log IS = H(mean of p) - mean of H(p). The entropy of a mean of n rows is too small by about 1/n, which
    leaving out one row at a time estimates. The interval is the bootstrap's over rows, if they are enough.
    Source: Salimans et al., NeurIPS 2016; Quenouille 1956.
    """
    n = len(probabilities)
    own = _entropy(probabilities)
    mean = probabilities.mean(axis=0)
    whole = _entropy(mean[None])[0]
    without = _entropy((n * mean - probabilities) / (n - 1))
    entropy = n * whole - (n - 1) * without.mean()
    value = float(np.exp(min(entropy, np.log(probabilities.shape[1])) - own.mean()))
    needed = max(FOR_INTERVAL, PER_CLASS * probabilities.shape[1])
    if n < needed:
        return Interval(value, None, None, f"no interval below {needed:,} images")
    weights = _weights(np.random.default_rng(seed), n) / n
    draws = _entropy(weights @ probabilities) - weights @ own
    error = Z * float(np.std(draws, ddof=1))
    return Interval(value, float(value * np.exp(-error)), float(value * np.exp(error)))


def _entropy(rows: Array) -> Array:
    clipped = np.maximum(rows, 1e-12)
    return np.asarray(-(clipped * np.log(clipped)).sum(axis=1))


def _squares(x: Array, y: Array) -> Array:
    squares = (x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1)[None] - 2 * x @ y.T
    return np.asarray(np.maximum(squares, 0))


def _radii(x: Array, k: int) -> Array:
    """The squared distance of every vector to its k-th neighbour in its own set."""
    squares = _squares(x, x)
    np.fill_diagonal(squares, np.inf)
    return np.asarray(np.partition(squares, k - 1, axis=1)[:, k - 1])


def precision(x: Array, y: Array, k: int) -> Interval:
    """Proportion of x within the reach of y, its k-th neighbours (Kynkaanniemi et al. 2019)."""
    return _proportion((_squares(x, y) <= _radii(y, k)[None]).any(axis=1))


def recall(x: Array, y: Array, k: int) -> Interval:
    """Proportion of y within the reach of x (Kynkaanniemi et al. 2019)."""
    return _proportion((_squares(y, x) <= _radii(x, k)[None]).any(axis=1))


def density(x: Array, y: Array, k: int) -> Interval:
    """How many reaches of y hold a vector of x, on average, divided by k (Naeem et al. 2020)."""
    mean = mean_interval((_squares(x, y) <= _radii(y, k)[None]).sum(axis=1) / k, low=0.0)
    assert mean.value is not None
    return Interval(mean.value, mean.low, mean.high, mean.reason or "")


def coverage(x: Array, y: Array, k: int) -> Interval:
    """Proportion of y with a vector of x within their own reach (Naeem et al. 2020)."""
    return _proportion(_squares(x, y).min(axis=0) <= _radii(y, k))


def _proportion(each: ArrayLike) -> Interval:
    """A proportion of one set with Wilson's interval; the other set is taken as it is."""
    hits = np.asarray(each, dtype=bool)
    share = wilson(int(hits.sum()), hits.size)
    assert share.value is not None
    return Interval(share.value, share.low, share.high)
