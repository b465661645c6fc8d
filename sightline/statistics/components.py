"""Where the variance of a vote comes from, and what a design of other size would make of it.

Sources: Koch, Technometrics 10 (1968) for components from squared differences of pairs, which are unbiased in
any design and equal the analysis of variance in balanced ones; Brennan, Generalizability theory (2001) for
designs of prompts, images within prompts and raters.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sightline.statistics.crossed import MIN_RATERS, Indices, Panel, Variance, moderated
from sightline.statistics.power import noncentral_effect

Array = NDArray[np.float64]


class Design(NamedTuple):
    """So many prompts, images per prompt and system, raters in all, and judgements per image."""

    prompts: int
    images: int
    raters: int
    per_image: int


@dataclass(frozen=True)
class Components:
    """The variance of one vote on a system's image, by source; what a pilot cannot separate is None.

    `prompts` and `raters` are what all systems share, `..._systems` what differs between systems; with one
    system the first contains the second. Without `images` (one per prompt) their variance is in that of
    prompts by systems; without `raters` (nobody judged twice) theirs is in the residual.
    """

    prompts: float
    prompts_systems: float
    images: float | None
    raters: float | None
    raters_systems: float
    raters_prompts: float
    raters_prompts_systems: float
    sessions: float | None
    residual: float

    def named(self) -> dict[str, float | None]:
        """Each component by its name for readers."""
        return {
            "prompts": self.prompts,
            "prompts x systems": self.prompts_systems,
            "images of a prompt": self.images,
            "raters": self.raters,
            "raters x systems": self.raters_systems if self.raters is not None else None,
            "raters x prompts": self.raters_prompts,
            "raters x prompts x systems": self.raters_prompts_systems if self.images is not None else None,
            "sessions of a rater": self.sessions,
            "residual": self.residual,
        }

    @property
    def total(self) -> float:
        """The variance of one vote."""
        return sum(each or 0.0 for each in self.named().values())

    def of_mean(self, design: Design, sessions: int = 1) -> Variance:
        """The variance of a system's mean over prompts and raters; `sessions` per rater."""
        by_prompt = (
            self.prompts
            + self.prompts_systems
            + (self.images or 0.0) / design.images
            + (self.raters_prompts + self.raters_prompts_systems) / design.per_image
            + self.residual / (design.images * design.per_image)
        )
        by_rater = (self.raters or 0.0) + self.raters_systems + (self.sessions or 0.0) / sessions
        noise = self.raters_prompts + self.raters_prompts_systems + self.residual / design.images
        return _crossed(design, by_prompt, by_rater, noise / design.per_image)

    def of_difference(self, design: Design, systems: int = 2) -> Variance:
        """The same of the difference of two of so many systems, on the same prompts, by the same raters."""
        noise = (self.raters_prompts_systems + self.residual / design.images) / design.per_image
        by_prompt = self.prompts_systems + (self.images or 0.0) / design.images + noise
        own = _crossed(design, 2 * by_prompt, 2 * self.raters_systems, 2 * noise)
        return moderated([own], systems)[0]

    def width(self, design: Design, sessions: int = 1, confidence: float = 0.95) -> float:
        """How wide the interval of a system's mean will be, from end to end."""
        variance = self.of_mean(design, sessions)
        return 2 * variance.quantile((1 - confidence) / 2) * variance.total**0.5

    def detectable(self, design: Design, systems: int = 2, alpha: float = 0.05) -> float:
        """The difference of two of so many systems that `compare` finds with 80 % power, after Holm."""
        pairs = systems * (systems - 1) // 2
        return noncentral_effect(self.of_difference(design, systems), alpha / pairs)


def _crossed(design: Design, by_prompt: float, by_rater: float, noise: float) -> Variance:
    """The variance of a mean as a study of this design will estimate it.

    `by_prompt` is the variance of one prompt's value, `noise` what votes add to it, `by_rater` that of a
    rater's effect. Raters' means differ by chance too: what is estimated of their part, less the noise and
    not below 0, is the mean of that, with a scaled chi-squared distribution, so that raters who do not differ
    at all still cost something.
    """
    from scipy.special import chdtrc

    own, true, chance = by_prompt / design.prompts, by_rater / design.raters, noise / design.prompts
    freedom = design.raters - 1
    if freedom < MIN_RATERS - 1:
        return Variance(own, true, design.prompts - 1, max(freedom, 1))
    gross = true + chance
    limit = freedom * chance / gross if gross > 0 else 0.0
    expected = gross * chdtrc(freedom + 2, limit) - chance * chdtrc(freedom, limit)
    return Variance(own, max(0.0, float(expected)), design.prompts - 1, freedom)


def components(panel: Panel, session: Indices | None = None) -> Components:
    """The components of variance of the votes of a panel, none below 0; `session` is that of each vote.

    Half the mean squared difference of two votes on one system is the sum of what they do not share: with g
    of pairs on one image (1), on two images of a prompt by one rater (2) or two (3), on two prompts by one
    rater (4) or two (5): images = g3 - g1, residual = g2 - images, prompts = g5 - g3, raters = g5 - g4 and
    raters x prompts = g1 - raters - residual. What systems share is the covariance of votes on two systems.
    Raises ValueError where no image was judged twice, or where there is one prompt.
    """
    pairs = _Pairs(panel, session)
    same_image, other_prompt = pairs.mean("image"), pairs.mean("apart")
    if same_image is None:
        raise ValueError("no image was judged by two raters")
    if other_prompt is None:
        raise ValueError("there are not two prompts that two raters judged")
    by_one, across = pairs.mean("rater"), pairs.mean("sessions")
    sessions = None if by_one is None or across is None else max(0.0, across - by_one)
    one = across if across is not None else by_one
    raters = None if one is None else max(0.0, other_prompt - one)
    between = (raters or 0.0) + (sessions or 0.0)
    two_images, by_both = pairs.mean("images"), pairs.mean("images_by_one")
    if two_images is None:
        images, prompts = None, max(0.0, other_prompt - same_image)
        interaction, residual = 0.0, max(0.0, same_image - between)
    else:
        images, prompts = max(0.0, two_images - same_image), max(0.0, other_prompt - two_images)
        alone = max(0.0, same_image - between)
        residual = alone if by_both is None else min(alone, max(0.0, by_both - images))
        interaction = alone - residual
    shared = _shared(panel)
    common = min(shared.prompts, prompts)
    taste = 0.0 if raters is None else min(shared.raters, raters)
    if panel.shape[0] < 2:
        common, taste = prompts, raters or 0.0
    both = min(shared.both, interaction if images is not None else residual)
    if images is None:
        residual -= both
    return Components(
        prompts=common,
        prompts_systems=prompts - common,
        images=images,
        raters=None if raters is None else taste,
        raters_systems=0.0 if raters is None else raters - taste,
        raters_prompts=both,
        raters_prompts_systems=interaction - both if images is not None else 0.0,
        sessions=sessions,
        residual=residual,
    )


class _Pairs:
    """Half the mean squared difference of pairs of votes on one system, by what the two share."""

    def __init__(self, panel: Panel, session: Indices | None) -> None:
        sizes = np.maximum(np.bincount(panel.system), 1)
        self._value = panel.value - (np.bincount(panel.system, panel.value) / sizes)[panel.system]
        system, unit, item, rater = panel.system, panel.unit, panel.item, panel.rater
        whole = self._sum(system)
        prompt, image = self._sum(system, unit), self._sum(system, item)
        person, both = self._sum(system, rater), self._sum(system, unit, rater)
        again = self._sum(system, item, rater)
        self._of = {
            "image": image - again,
            "images": prompt - image - both + again,
            "apart": whole - prompt - person + both,
            "images_by_one": both - again,
            "rater": person - both,
        }
        if session is not None:
            sitting = self._sum(system, rater, session)
            here = self._sum(system, unit, rater, session)
            self._of["sessions"] = self._of["rater"] - (sitting - here)
            self._of["rater"] = sitting - here
            self._of["images_by_one"] = here - self._sum(system, item, rater, session)

    def mean(self, name: str) -> float | None:
        squares, pairs = self._of.get(name, np.zeros(2))
        return float(squares / pairs / 2) if pairs > 0.5 else None

    def _sum(self, *keys: Indices) -> Array:
        """The sum of squared differences within groups, and the number of pairs."""
        code = keys[0]
        for key in keys[1:]:
            code = code * (int(key.max(initial=0)) + 1) + key
        _, group = np.unique(code, return_inverse=True)
        count = np.bincount(group).astype(np.float64)
        total = np.bincount(group, self._value)
        squares = np.bincount(group, self._value**2)
        return np.array([np.sum(count * squares - total**2), np.sum(count * (count - 1) / 2)])


class _Shared(NamedTuple):
    prompts: float
    raters: float
    both: float


def _shared(panel: Panel) -> _Shared:
    """What votes on two systems have in common: covariances by shared prompt, rater, and both.

    Means of products of votes on systems s and t: those of other prompts and raters are taken off, so that
    the systems' own means cancel. Averaged over pairs of systems.
    """
    from scipy.sparse import csr_array

    systems, _, raters = panel.shape
    if systems < 2:
        return _Shared(0.0, 0.0, 0.0)
    sizes = np.maximum(np.bincount(panel.system, minlength=systems), 1)
    value = panel.value - (np.bincount(panel.system, panel.value, minlength=systems) / sizes)[panel.system]
    _, both = np.unique(panel.unit * raters + panel.rater, return_inverse=True)

    def products(rows: Indices) -> Array:
        """Sums of products of votes in the same row and how many there are (2 x systems x systems)."""
        shape = int(rows.max(initial=0)) + 1, systems
        made: list[Any] = []
        for part in (value, np.ones(value.size)):
            table = csr_array((part, (rows, panel.system)), shape=shape)
            made.append((table.T @ table).toarray())
        return np.stack(made)

    whole = products(np.zeros(value.size, dtype=np.int64))
    prompt, person, same = products(panel.unit), products(panel.rater), products(both)
    parts = {
        "prompt": prompt - same, "rater": person - same, "both": same, "none": whole - prompt - person + same
    }  # fmt: skip
    upper = np.triu_indices(systems, 1)
    mean = {
        name: np.where(count[upper] > 0.5, total[upper] / np.maximum(count[upper], 1), np.nan)
        for name, (total, count) in parts.items()
    }

    def average(each: Array) -> float:
        known = each[~np.isnan(each)]
        return max(0.0, float(known.mean())) if known.size else 0.0

    prompts = mean["prompt"] - mean["none"]
    prompts = np.where(np.isnan(prompts), mean["both"] - mean["rater"], prompts)
    taste = mean["rater"] - mean["none"]
    interaction = mean["both"] - mean["prompt"] - mean["rater"] + mean["none"]
    return _Shared(average(prompts), average(taste), average(interaction))
