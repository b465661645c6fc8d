"""Mean opinion scores: from ratings by viewers who differ to one score per item.

Votes are columns, as in `votes.py`. Results have one row per item; an item without votes has n = 0 and NaN.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sightline.statistics.grouping import Array, Indices, sum_by
from sightline.statistics.intervals import mid_p
from sightline.statistics.straight_liners import straight_liners
from sightline.statistics.votes import Cast, Flags, cast_votes, over, who_cast

MODERATION_ROUNDS = 30
"""Iterations that estimate how similar annotators are; later ones keep the estimate."""


PRIOR_DF = 4.0
"""The least degrees of freedom by which an item's scatter is drawn to that of the others."""


@dataclass(frozen=True)
class MosLikelihood:
    """Opinion scores with error and interval per item; bias, inconsistency and whether flat per annotator.

    `n` counts the votes that were used. `flat` marks annotators whose votes do not follow the items and so
    were not used; the bias and inconsistency of these are NaN.
    """

    mos: Array
    error: Array
    low: Array
    high: Array
    n: Indices
    bias: Array
    inconsistency: Array
    anonymous_inconsistency: float
    flat: Flags
    rounds: int
    converged: bool


def mos_likelihood(
    item: ArrayLike,
    annotator: ArrayLike,
    value: ArrayLike,
    *,
    n: ArrayLike | None = None,
    items: int | None = None,
    annotators: int | None = None,
    ends: tuple[float, float] | None = None,
    restricted: bool = True,
    moderated: bool = True,
    confidence: float = 0.95,
    least_inconsistency: float = 0.1,
    tolerance: float = 1e-8,
    most_rounds: int = 10_000,
) -> MosLikelihood:
    """Mean opinion scores by maximum likelihood of vote = mos + bias + inconsistency * noise.

    Alternating projection: inconsistency = standard deviation of an annotator's residuals; mos = mean of
    votes minus bias weighted by 1 / inconsistency^2; bias = mean of an annotator's votes minus mos. Biases
    are centred at 0, since only their differences show. Anonymous votes, and those of annotators with a
    single vote, have bias 0 and share one inconsistency. No inconsistency goes below `least_inconsistency`
    times that of all residuals together. `restricted=False` is the recommendation to the letter, with error
    1 / sqrt(sum of weights). By default it is mended where simulations show that it fails:
    Annotators whose votes do not follow the items (`straight_liners`) are not used: the likelihood would
    take them for the most consistent. The plain likelihood grows without bound as mos follows one annotator,
    and with few annotators per item it does: residuals are reduced by the annotator's own weight in mos.
    Their squares are divided by the expected reduction, sum of 1 - weight / weights of the item, as
    restricted maximum likelihood does. `moderated` also shrinks each inconsistency towards a common one, and
    each bias towards 0, by its sampling variance relative to that between annotators. The error has the
    scatter of the item's own votes, drawn to that of all items by as much as items are alike (where the
    scale has `ends`, in proportion to m (1 - m), the most that votes of mean m can vary), and what is unknown
    of the biases; the interval is Student's, or with `ends` the mid-P interval of a proportion that is as
    uncertain, and stays on the scale.
    Source: ITU-T P.910 (2022), annex on subject bias and inconsistency; Z. Li et al., A simple model for
    subject behavior in subjective experiments, Human Vision and Electronic Imaging (2020); Z. Li and
    C. G. Bampis, Recover subjective quality scores from noisy measurements, DCC (2017), for the scatter of
    items; the moderation as in G. K. Smyth, Linear models and empirical Bayes methods, SAGMB 3 (2004).
    """
    votes = cast_votes(item, value, n, items)
    who, people = who_cast(votes, annotator, np.shape(value), annotators)
    flat = straight_liners(votes, who, people) if restricted else np.zeros(people + 1, dtype=np.bool_)
    if flat.any():
        votes, who = votes.only(~flat[who]), who[~flat[who]]
    panel = _panel(votes, who, people)
    mos = over(votes.total(votes.value), votes.n)
    bias = panel.bias(mos)
    weight = np.ones(panel.cast.size)
    spread = np.zeros(panel.cast.size)
    rounds, converged = 0, False
    similarity = None
    while not converged and rounds < most_rounds:
        rounds += 1
        spread = panel.spread(mos, bias, weight if restricted else None)
        if restricted and moderated:
            # Estimating the similarity of annotators in every iteration need not converge.
            if similarity is None or rounds <= MODERATION_ROUNDS:
                similarity = panel.similarity(spread, panel.bias(mos), weight)
            spread = similarity.moderate(spread, panel.degrees(weight))
        weight = panel.weight(spread, least_inconsistency)
        cast = weight[panel.who]
        updated = over(votes.total(cast * (votes.value - bias[panel.who])), votes.total(cast))
        bias = panel.bias(updated)
        if similarity is not None:
            bias = similarity.shrink(bias, panel.error(spread, weight), panel.named)
        converged = bool(np.linalg.norm(np.nan_to_num(updated - mos)) < tolerance) and rounds > 1
        mos = updated
    if restricted:
        unknown = panel.error(spread, weight)
        if similarity is not None and not np.isinf(similarity.apart):
            unknown = unknown * similarity.apart / (similarity.apart + unknown + 1e-300)
        scores = panel.limits(mos, bias, weight, np.where(panel.named, unknown, 0.0), ends, confidence)
    else:
        error = np.sqrt(over(np.full(mos.size, float(np.any(spread))), votes.total(weight[panel.who])))
        half = _quantile(np.inf, confidence) * error
        scores = (mos, error, mos - half, mos + half)
    if votes.weight.sum() <= np.count_nonzero(votes.n):
        for each in scores[1:]:
            each[:] = np.nan  # one vote per item shows no spread
    by_person = np.where(panel.named, [bias, spread], np.nan)
    return MosLikelihood(
        *scores,
        votes.counted,
        by_person[0, :-1],
        by_person[1, :-1],
        float(spread[-1]) if panel.cast[-1] else float("nan"),
        flat[:-1],
        rounds,
        converged,
    )


@dataclass(frozen=True)
class _Panel:
    """Who cast each vote; the last index stands for everybody without a bias of their own."""

    votes: Cast
    who: Indices
    cast: Array
    named: Flags

    def mean(self, what: Array) -> Array:
        return sum_by(self.who, self.votes.weight * what, self.cast.size) / np.maximum(self.cast, 1)

    def bias(self, mos: Array) -> Array:
        bias = np.where(self.named, self.mean(self.votes.value - mos[self.votes.item]), 0.0)
        return np.where(self.named, bias - bias[self.named].mean(), 0.0) if self.named.any() else bias

    def spread(self, mos: Array, bias: Array, weight: Array | None) -> Array:
        residual = self.votes.value - mos[self.votes.item] - bias[self.who]
        variance = np.maximum(self.mean(residual**2) - self.mean(residual) ** 2, 0.0)
        if weight is None:
            return np.sqrt(variance)
        free = self.free(weight) * (1 - self.named / np.maximum(self.cast, 1))
        # An annotator whose items nobody else judged shows no spread: they get the pooled one.
        known = free > 1e-9
        corrected = variance / np.where(known, free, 1.0)
        pooled = (corrected * self.cast * known).sum() / max(1.0, float((self.cast * known).sum()))
        return np.sqrt(np.where(known | (self.cast == 0), corrected, pooled))

    def free(self, weight: Array) -> Array:
        """The fraction of annotators' residuals that their own weight in mos leaves."""
        of_item = self.votes.total(weight[self.who])[self.votes.item]
        return self.mean(1 - weight[self.who] / of_item)

    def similarity(self, spread: Array, bias: Array, weight: Array) -> _Similarity:
        """How similar annotators are, from those with enough votes."""
        degrees, error = self.degrees(weight), self.error(spread, weight)
        enough = (degrees > 1) & (spread > 0)
        common, worth = (0.0, 0.0)
        if enough.sum() >= 3:
            common, worth = _common_variance(spread[enough] ** 2, degrees[enough])
        people = int(self.named.sum())
        if people < 3:
            return _Similarity(common, worth, float("inf"))
        apart = float((bias[self.named] ** 2).sum() / (people - 1) - error[self.named].mean())
        return _Similarity(common, worth, max(0.0, apart))

    def degrees(self, weight: Array) -> Array:
        return np.asarray(self.free(weight) * (self.cast - self.named), dtype=np.float64)

    def error(self, spread: Array, weight: Array) -> Array:
        """Variances of the biases as estimates."""
        return np.asarray(spread**2 / np.maximum(self.cast * self.free(weight), 1e-9), dtype=np.float64)

    def weight(self, spread: Array, least: float) -> Array:
        overall = np.sqrt((self.cast * spread**2).sum() / max(1.0, float(self.cast.sum())))
        if overall == 0:
            return np.ones_like(spread)
        return np.asarray(1 / np.maximum(spread, least * overall) ** 2, dtype=np.float64)

    def limits(
        self,
        mos: Array,
        bias: Array,
        weight: Array,
        unknown: Array,
        ends: tuple[float, float] | None,
        confidence: float,
    ) -> tuple[Array, Array, Array, Array]:
        """Scores on the scale with errors and limits, from the scatter on each item and on all."""
        votes, cast = self.votes, weight[self.who]
        total = votes.total(cast)
        residual = votes.value - mos[votes.item] - bias[self.who]
        degrees = np.maximum(votes.n - 1, 0.0)
        pooled = float(self.degrees(weight).sum())
        # Biases are estimated too, which takes from the residuals.
        squares = votes.total(cast * residual**2) * float(degrees.sum()) / max(pooled, 1.0)
        room = np.ones(mos.size)
        width, low = 1.0, 0.0
        if ends is not None:
            low, width = ends[0], ends[1] - ends[0]
            mos = np.clip(mos, *ends)
            place = (mos - low) / width
            middle = float(np.nanmean(place)) if np.any(votes.n > 0) else 0.5
            # An item's own mean may lie at an end by chance; there is no variance to have there.
            drawn = np.clip((place * votes.n + middle) / (votes.n + 1), 1e-3, 1 - 1e-3)
            room = drawn * (1 - drawn)
        # Each item's scatter relative to what the annotators' weights and its place on the scale suggest.
        several = degrees > 0
        common = float(squares[several].sum() / max(float((degrees * room)[several].sum()), 1e-300))
        ratio = over(squares, degrees * room * max(common, 1e-300))
        prior = _prior_degrees(ratio[several], degrees[several], pooled)
        scatter = (np.where(several, squares, 0.0) + prior * common * room) / (degrees + prior)
        apart = votes.total((cast / total[votes.item]) ** 2 * unknown[self.who])
        variance = np.asarray(over(scatter, total) + apart, dtype=np.float64)
        error = np.sqrt(variance)
        t = _quantile(degrees + prior, confidence)
        if ends is None:
            return mos, error, mos - t * error, mos + t * error
        trials = room * width**2 / np.maximum(variance, 1e-12) * (_quantile(np.inf, confidence) / t) ** 2
        known = votes.n > 0
        limits = [np.full(mos.size, np.nan) for _ in range(2)]
        limits[0][known], limits[1][known] = mid_p(place[known], trials[known], confidence=confidence)
        least, most = (low + each * width for each in limits)
        return mos, error, np.fmin(least, mos), np.fmax(most, mos)


@dataclass(frozen=True)
class _Similarity:
    """How similar annotators are: a common variance, its degrees of freedom, and the variance of biases."""

    common: float
    worth: float
    apart: float

    def moderate(self, spread: Array, degrees: Array) -> Array:
        """Inconsistencies shrunk towards the common one, the more the fewer votes an annotator cast."""
        if not self.worth:
            return spread
        own = np.zeros_like(spread) if np.isinf(self.worth) else degrees / (self.worth + degrees)
        return np.sqrt((1 - own) * self.common + own * spread**2)

    def shrink(self, bias: Array, error: Array, named: Flags) -> Array:
        """Biases shrunk towards 0, the more the larger their error compared with their variance."""
        if np.isinf(self.apart):
            return bias
        shrunk = np.where(named & (error > 0), bias * (self.apart / (self.apart + error + 1e-300)), bias)
        return np.where(named, shrunk - shrunk[named].mean(), 0.0)


def _common_variance(variance: Array, degrees: Array) -> tuple[float, float]:
    """A common variance and its prior degrees of freedom, infinite where all are equal.

    Logarithms of variances have variance trigamma(degrees / 2); the excess is trigamma(prior degrees / 2).
    Source: G. K. Smyth, Linear models and empirical Bayes methods, SAGMB 3 (2004), section 6.2.
    """
    from scipy.special import digamma, polygamma

    level = np.log(variance) - digamma(degrees / 2) + np.log(degrees / 2)
    middle = float(level.mean())
    beyond = float(level.var(ddof=1) - polygamma(1, degrees / 2).mean())
    if beyond <= 1e-6:
        return float(np.exp(middle)), float("inf")
    low, high = 1e-3, 1e7
    while high / low > 1 + 1e-12:
        half = float(np.sqrt(low * high))
        low, high = (half, high) if polygamma(1, half) > beyond else (low, half)
    return float(np.exp(middle + digamma(low) - np.log(low))), 2 * low


def _prior_degrees(ratio: Array, degrees: Array, pooled: float) -> float:
    """Degrees of freedom that the scatter of all items is worth for one: the more alike, the more.

    If items' variances follow a scaled inverse chi-squared distribution with d degrees of freedom, they have
    the squared coefficient of variation 2 / (d - 4), and their estimates that and 2 / degrees more.
    """
    if ratio.size < 2:
        return max(pooled, PRIOR_DF)
    chance = float(np.mean(2 / degrees))
    excess = (float(np.mean((ratio - 1) ** 2)) - chance) / (1 + chance)
    return max(PRIOR_DF, min(pooled, PRIOR_DF + 2 / excess if excess > 0 else np.inf))


def _quantile(degrees: float | Array, confidence: float) -> Array:
    from scipy.special import ndtri, stdtrit

    tail = (1 + confidence) / 2
    return np.where(np.isinf(degrees), ndtri(tail), stdtrit(np.minimum(degrees, 1e9), tail))


def _panel(votes: Cast, who: Indices, people: int) -> _Panel:
    several = sum_by(who, votes.weight, people + 1) >= 2
    who = np.where(several[who], who, people)
    cast = sum_by(who, votes.weight, people + 1)
    return _Panel(votes, who, cast, (cast > 0) & (np.arange(people + 1) < people))


@dataclass(frozen=True)
class MosNormalised:
    """Opinion scores with SD over viewers and interval per item; whose votes could not be normalised.

    `n` counts the votes that were used. `left_out` marks annotators, its last entry the anonymous together.
    """

    mos: Array
    sd: Array
    low: Array
    high: Array
    n: Indices
    left_out: Flags


def mos_normalised(
    item: ArrayLike,
    annotator: ArrayLike,
    session: ArrayLike,
    value: ArrayLike,
    *,
    n: ArrayLike | None = None,
    items: int | None = None,
    annotators: int | None = None,
    ends: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> MosNormalised:
    """Mean opinion scores of votes normalised by each viewer's session mean and use of the scale.

    d = vote - mean of the viewer's votes in that session; z = d / SD of the viewer's d (n - 1) over all
    sessions; score = mean of rescaled z over the item's viewers, with Student's interval. (A constant added
    to d, as the middle of the scale is in the paper, cancels in z.) Rescaling: with `ends` (low, high) z from
    -3 to 3 is mapped to them; without, z is mapped back to the panel's own scale, m + s z, m the mean of all
    votes used and s the harmonic mean of the viewers' SDs, both weighted by votes. Where everybody judged
    everything that is the mean of d weighted by 1 / SD, about m: it stays in the units of the votes.
    Excluded, since they cannot be normalised: a single vote of a session, and a viewer without spread.
    Anonymous votes are normalised together, as if one viewer had cast them.
    Source: Li et al., AGIQA-3K, IEEE TCSVT 34 (2024), section III, with viewer and session as the indices
    of the mean and the viewer as that of the z-score; ITU-R BT.500.
    """
    from scipy.special import stdtrit

    votes = cast_votes(item, value, n, items)
    who, people = who_cast(votes, annotator, np.shape(value), annotators)
    block = np.unique(
        np.stack([who, np.asarray(session, dtype=np.int64)[votes.row]]), axis=1, return_inverse=True
    )[1].ravel()
    in_block = sum_by(block, votes.weight)
    centred = votes.value - (sum_by(block, votes.weight * votes.value) / in_block)[block]
    usable = votes.weight * (in_block[block] > 1)
    cast = sum_by(who, usable, people + 1)
    spread = np.sqrt(over(sum_by(who, usable * centred**2, people + 1), np.maximum(cast - 1, 0)))
    # Equal votes have a spread of rounding errors.
    left_out = ~(spread > 1e-9 * max(1.0, float(np.abs(votes.value).max(initial=0.0))))
    used = np.flatnonzero((usable > 0) & ~left_out[who])
    kept = votes.only(used)
    z = centred[used] / spread[who[used]]
    if ends is not None:
        scaled = ends[0] + (ends[1] - ends[0]) * (z + 3) / 6
    else:
        total = max(1.0, float(kept.weight.sum()))
        steadiness = float((kept.weight / spread[who[used]]).sum()) / total
        scaled = float((kept.weight * kept.value).sum()) / total + z / (steadiness or 1.0)
    mos = over(kept.total(scaled), kept.n)
    degrees = np.where(kept.n > 1, kept.n - 1, np.nan)
    sd = np.sqrt(kept.total((scaled - mos[kept.item]) ** 2) / degrees)
    half = stdtrit(degrees, (1 + confidence) / 2) * over(sd, np.sqrt(kept.n))
    voted = sum_by(who, votes.weight, people + 1) > 0
    return MosNormalised(mos, sd, mos - half, mos + half, kept.counted, left_out & voted)
