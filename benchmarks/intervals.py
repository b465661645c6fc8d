"""Whether intervals cover and tests err as often as they promise, by simulating the functions that are used.

Votes come from a latent normal value, the sum of effects of prompt, prompt x system, rater, rater x system
and of noise; continuous votes are that value, ordinal and yes/no votes are cut from it, so that every true
mean is known. Raters are crossed (the same judge every prompt) or nested (every prompt has its own). With
fewer than three crossed raters nothing is claimed beyond them, and the true mean is theirs.

    mean, difference   how often 95 % intervals of a system's mean, of a difference, hold the truth
    false alarm        how often compare names a winner, or a significant difference, of two equal systems
    gate, equivalence  how often a system that is worse by exactly the margin passes, or is called the same
    item               how often the 95 % interval of a single item's mean vote holds the mean of all votes
    power              how often the difference called detectable is found (four times out of five)
    yes/no             coverage of proportions over p = .01 to .99: mean and worst, computed without chance
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import binom

from sightline.comparison.gate import Source, class_tests
from sightline.statistics.comparison import compare
from sightline.statistics.consensus import mean_votes
from sightline.statistics.crossed import MIN_RATERS, Panel
from sightline.statistics.intervals import mean_interval
from sightline.statistics.paired import paired_spread
from sightline.statistics.power import detectable_effect
from sightline.statistics.significance import sign_flip_columns

Array = NDArray[np.float64]
Kind = Literal["continuous", "ordinal", "ordinal, near an end", "yes/no"]
KINDS: tuple[Kind, ...] = ("continuous", "ordinal", "ordinal, near an end", "yes/no")
CUTS: dict[Kind, Array] = {
    "ordinal": np.array([-1.5, -0.5, 0.5, 1.5]),
    "ordinal, near an end": np.array([-3.2, -2.4, -1.6, -0.8]),
    "yes/no": np.array([0.0]),
}
PLACES = (-1.6, -0.9, 0.0, 0.6, 1.2)
"""Latent means of yes/no votes: proportions from .1 to .8."""
PROMPTS, RATERS = (5, 10, 40, 200), (1, 2, 3, 5, 10)
PROMPT, BY_SYSTEM, RATER, TASTE, NOISE = 0.6, 0.4, 0.4, 0.3, 0.7
"""Standard deviations of the effects."""
PERMUTATIONS = 999


@dataclass(frozen=True)
class Design:
    """Prompts, raters of each, whether the same raters judge all, and the kind of votes."""

    prompts: int
    raters: int
    crossed: bool
    kind: Kind
    tastes: bool = True

    @property
    def scale(self) -> tuple[float | None, float | None]:
        return {"continuous": (None, None), "yes/no": (0.0, 1.0)}.get(self.kind, (1.0, 5.0))

    def expected(self, latent: Array, spread: float) -> Array:
        """The mean vote where the latent value is normal with this mean and standard deviation."""
        if self.kind == "continuous":
            return latent
        cuts = CUTS[self.kind]
        above = ndtr((latent[..., None] - cuts) / spread).sum(axis=-1)
        return np.asarray(above + (0.0 if self.kind == "yes/no" else 1.0))

    def votes(self, latent: Array) -> Array:
        if self.kind == "continuous":
            return latent
        above = sum((latent > cut).astype(np.float64) for cut in CUTS[self.kind])
        return np.asarray(above + (0.0 if self.kind == "yes/no" else 1.0))


@dataclass(frozen=True)
class Drawn:
    """Votes (repetitions x systems x prompts x raters) and the true means (repetitions x systems)."""

    votes: Array
    truth: Array


def draw(design: Design, means: Array, rng: np.random.Generator) -> Drawn:
    """Repetitions of a study; `means` are latent means (repetitions x systems)."""
    repetitions, systems = means.shape
    n, r = design.prompts, design.raters
    rater, taste = (RATER, TASTE) if design.tastes else (0.0, 0.0)
    owners = (1, r) if design.crossed else (n, r)
    people = rng.normal(0, 1, (repetitions, 1, *owners)) * rater
    people = people + rng.normal(0, 1, (repetitions, systems, *owners)) * taste
    prompt = rng.normal(0, PROMPT, (repetitions, 1, n, 1)) + rng.normal(
        0, BY_SYSTEM, (repetitions, systems, n, 1)
    )
    noise = rng.normal(0, NOISE, (repetitions, systems, n, r))
    votes = design.votes(means[:, :, None, None] + prompt + people + noise)
    own = PROMPT**2 + BY_SYSTEM**2 + NOISE**2
    if design.crossed and r < MIN_RATERS:
        truth = design.expected(means[:, :, None, None] + people, own**0.5).mean(axis=(2, 3))
    else:
        truth = design.expected(means, (own + rater**2 + taste**2) ** 0.5)
    return Drawn(votes, truth)


def panel_of(design: Design, votes: Array) -> Panel | None:
    """The panel of one repetition (systems x prompts x raters), or None where compare has none."""
    _, n, r = votes.shape
    system, unit, rater = (each.ravel() for each in np.indices(votes.shape))
    who = rater if design.crossed else unit * r + rater
    if r == 1 or (design.crossed and r < MIN_RATERS):
        return None
    return Panel(unit, system, system * n + unit, who, votes.ravel())


def latent_means(design: Design, repetitions: int, systems: int = 2) -> Array:
    """Equal systems; those of yes/no at several proportions in turn."""
    places = np.zeros(repetitions)
    if design.kind == "yes/no":
        places = np.resize(np.array(PLACES), repetitions)
    return np.repeat(places[:, None], systems, axis=1)


def one(design: Design, repetitions: int, seed: int) -> dict[str, float | None]:
    """All rates of one design."""
    rng = np.random.default_rng(seed)
    drawn = draw(design, latent_means(design, repetitions), rng)
    counts = dict.fromkeys(("mean", "difference", "false alarm"), 0)
    known = dict.fromkeys(("mean", "difference"), 0)
    for votes, truth in zip(drawn.votes, drawn.truth, strict=True):
        compared = compare(
            votes.mean(axis=2).T,
            scale=design.scale,
            panel=panel_of(design, votes),
            permutations=PERMUTATIONS,
            power=False,
        )
        (pair,) = compared.pairs
        for name, estimate, true in (
            ("mean", next(each.mean for each in compared.standings if each.system == "0"), truth[0]),
            ("difference", pair.difference, truth[0] - truth[1]),
        ):
            if estimate.low is not None and estimate.high is not None:
                known[name] += 1
                counts[name] += estimate.low - 1e-12 <= true <= estimate.high + 1e-12
        counts["false alarm"] += pair.significant and abs(truth[0] - truth[1]) < 1e-12
    rates: dict[str, float | None] = {
        name: counts[name] / known[name] if known[name] else None for name in known
    }
    # Two fixed raters may truly prefer one of two systems that all people find equal.
    fixed = design.crossed and design.raters < MIN_RATERS and design.tastes
    rates["false alarm"] = None if fixed else counts["false alarm"] / repetitions
    return {**rates, **margins(design, repetitions, rng)}


def margins(design: Design, repetitions: int, rng: np.random.Generator) -> dict[str, float | None]:
    """How often a system that is worse by exactly the margin passes the gate or is called the same."""
    means = latent_means(design, repetitions)
    means[:, 1] -= 0.5
    drawn = draw(design, means, rng)
    low, high = design.scale
    width = None if low is None or high is None else high - low
    passed = same = 0
    for votes, truth in zip(drawn.votes, drawn.truth, strict=True):
        margin = float(truth[0] - truth[1])
        if margin <= 0.01 * (width or 1.0):
            continue
        values = votes.mean(axis=2).T
        panel = panel_of(design, votes)
        difference = values[:, 1] - values[:, 0]
        own = float(difference.var(ddof=1)) / design.prompts
        raters = None if panel is None else panel.variance(own, 1, 0)
        fall = None if low is None else float(values[:, 0].mean()) - low
        (test,) = class_tests(
            difference[:, None], [margin], 0.05, sources=[Source(width, fall, raters)], seed=1
        )
        passed += test.verdict == "passed"
        compared = compare(
            values, scale=design.scale, panel=panel, margin=margin, permutations=PERMUTATIONS, power=False
        )
        same += compared.pairs[0].equivalent
    return {"gate": passed / repetitions, "equivalence": same / repetitions}


def items(kind: Kind, votes: int, repetitions: int, seed: int) -> float | None:
    """Coverage of the mean votes of 40 items that differ, each with so many votes of different people."""
    design = Design(40, votes, False, kind)
    rng = np.random.default_rng(seed)
    level = rng.normal(0, (PROMPT**2 + BY_SYSTEM**2) ** 0.5, (repetitions, 40))
    spread = (RATER**2 + TASTE**2 + NOISE**2) ** 0.5
    cast = design.votes(level[:, :, None] + rng.normal(0, spread, (repetitions, 40, votes)))
    truth = design.expected(level, spread)
    low, high = design.scale
    inside, known = 0, 0
    for each, true in zip(cast, truth, strict=True):
        made = mean_votes(np.repeat(np.arange(40), votes), each.ravel(), low=low, high=high)
        there = ~np.isnan(made.low)
        known += int(there.sum())
        inside += int(np.sum((made.low <= true + 1e-12) & (true <= made.high + 1e-12) & there))
    return inside / known if known else None


def power(kind: Kind, n: int, repetitions: int, seed: int) -> float | None:
    """How often the effect called detectable (median over studies of equal systems) is found."""
    design = Design(n, 1, False, kind)
    rng = np.random.default_rng(seed)
    low, high = design.scale
    width = None if low is None or high is None else high - low
    equal = draw(design, np.zeros((60, 2)), rng).votes[..., 0]
    claims = [
        detectable_effect(each, paired_spread(each, width=width), 0.05)[0]
        for each in equal[:, 0] - equal[:, 1]
    ]
    known = [each for each in claims if each is not None]
    if len(known) < len(claims) / 2:
        return None
    wanted = float(np.median(known))
    spread = (PROMPT**2 + BY_SYSTEM**2 + NOISE**2 + RATER**2 + TASTE**2) ** 0.5
    ways = np.linspace(0, 8, 4001)
    falls = design.expected(np.zeros(1), spread) - design.expected(-ways, spread)
    if falls[-1] < wanted:
        return None
    shift = float(ways[np.searchsorted(falls, wanted)])
    worse = draw(design, np.tile([0.0, -shift], (repetitions, 1)), rng).votes[..., 0]
    return float(np.mean(sign_flip_columns((worse[:, 0] - worse[:, 1]).T, permutations=PERMUTATIONS) < 0.05))


def proportions(n: int) -> tuple[float, float]:
    """Mean and worst coverage of n yes/no values over p = .01 to .99, by the binomial distribution."""
    limits = [mean_interval(np.repeat([1.0, 0.0], [k, n - k]), low=0, high=1) for k in range(n + 1)]
    low, high = (np.array([getattr(each, end) for each in limits]) for end in ("low", "high"))
    p = np.arange(1, 100)[:, None] / 100
    covered = (low <= p) & (p <= high)
    coverage = np.sum(binom.pmf(np.arange(n + 1), n, p) * covered, axis=1)
    return float(coverage.mean()), float(coverage.min())


def designs(prompts: tuple[int, ...], raters: tuple[int, ...]) -> Iterator[Design]:
    for kind, n, r, crossed in product(KINDS, prompts, raters, (True, False)):
        yield Design(n, r, crossed, kind)


def verdicts(row: dict[str, Any], slack: float) -> list[str]:
    """Which criteria a row misses by more than the simulation's own error."""
    yes_no = row["kind"] == "yes/no"
    least = 0.945 if yes_no and row["prompts"] >= 10 else 0.90 if row["prompts"] < 10 else 0.93
    wrong = []
    for name in ("mean", "difference"):
        rate = row[name]
        if rate is not None and rate < least - slack:
            wrong.append(f"{name} {rate:.3f} < {least}")
        if rate is not None and not yes_no and row["prompts"] >= 10 and rate > 0.97 + slack:
            wrong.append(f"{name} {rate:.3f} > .97")
    for name in ("false alarm", "gate", "equivalence"):
        if row[name] is not None and row[name] > 0.06 + slack:
            wrong.append(f"{name} {row[name]:.3f} > .06")
    return wrong


def shown(rate: float | None) -> str:
    return "-" if rate is None else f"{rate:.2f}".removeprefix("0")


def by_prompts(rows: list[dict[str, Any]], names: tuple[str, ...]) -> str:
    """One row per kind of votes and raters, one column per number of prompts, these rates in each cell."""
    sizes = sorted({row["prompts"] for row in rows})
    lines = [
        f"| votes | raters | {' | '.join(f'{n} prompts' for n in sizes)} |",
        f"|---|---|{'---|' * len(sizes)}",
    ]
    cells: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        who = f"{row['raters']} {'crossed' if row['crossed'] else 'nested'}"
        cells.setdefault((row["kind"], who), []).append(" / ".join(shown(row[name]) for name in names))
    return "\n".join(
        [*lines, *(f"| {' | '.join(key)} | {' | '.join(each)} |" for key, each in cells.items())]
    )


def markdown(result: dict[str, Any]) -> str:
    """The tables of docs/statistics.md."""
    rows = result["rows"]
    parts = [
        "Coverage: mean / difference",
        by_prompts(rows, ("mean", "difference")),
        "Errors: false alarm / gate / equivalence",
        by_prompts(rows, ("false alarm", "gate", "equivalence")),
        "Items",
        "\n".join(
            f"| {each['kind']} | {each['votes']} | {shown(each['coverage'])} |" for each in result["items"]
        ),
        "Power",
        "\n".join(
            f"| {each['kind']} | {each['prompts']} | {shown(each['found'])} |" for each in result["power"]
        ),
        "Yes/no",
        "\n".join(f"| {each['n']} | {each['mean']:.3f} | {each['worst']:.3f} |" for each in result["yes/no"]),
    ]
    return "\n\n".join(parts)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few designs and repetitions")
    parser.add_argument("--repetitions", type=int, default=0)
    parser.add_argument("--kind", choices=KINDS, help="only this kind of votes")
    parser.add_argument("--markdown", action="store_true", help="print the table instead of JSON")
    chosen = parser.parse_args()
    repetitions = chosen.repetitions or (100 if chosen.quick else 1000)
    prompts, raters = ((5, 40), (1, 3)) if chosen.quick else (PROMPTS, RATERS)
    slack = 3 * (0.05 * 0.95 / repetitions) ** 0.5
    rows = []
    for number, design in enumerate(designs(prompts, raters)):
        if chosen.kind is not None and design.kind != chosen.kind:
            continue
        row = {**design.__dict__, **one(design, repetitions, number)}
        rows.append({**row, "misses": verdicts(row, slack)})
        print(json.dumps(rows[-1]), file=sys.stderr)
    result = {
        "repetitions": repetitions,
        "rows": rows,
        "items": [
            {"kind": kind, "votes": votes, "coverage": items(kind, votes, max(20, repetitions // 10), 1)}
            for kind, votes in product(KINDS, [r for r in raters if r > 1])
        ],
        "power": [
            {"kind": kind, "prompts": n, "found": power(kind, n, repetitions, 2)}
            for kind, n in product(KINDS, prompts)
        ],
        "yes/no": [dict(zip(("n", "mean", "worst"), (n, *proportions(n)), strict=True)) for n in prompts],
    }
    print(markdown(result) if chosen.markdown else json.dumps(result, indent=1))
    return 0 if not any(row["misses"] for row in rows) else 1


if __name__ == "__main__":
    raise SystemExit(main())
