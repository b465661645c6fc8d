"""Whether intervals and tests of preferences hold, and how many votes an order of systems needs.

`coverage`: three systems, every rater votes on every pair of every prompt. Raters and prompts have tastes of
their own (SD .6 and .4 about strengths of SD 1). Given are how often 95 % intervals hold the planted
probability of preference and win rate, and how often any difference is claimed between systems that are
alike. With three raters and more the truth is that of all raters; with fewer it is that of these, who then
have no tastes where systems are alike. `nested`: raters who judge one prompt each.

`ends`: two systems, the probability of preference being .5 to .99 over prompts and raters; how often 95 %
intervals hold it; at .5, one less that is how often a difference is claimed.

`pooled`: probabilities of preference with the spread of strengths estimated, by spread and votes per pair.

`votes`: 20 systems whose strengths are normal quantiles of SD 1; how many comparisons until Kendall's tau
with the planted order is .95 and .90 on average, and until the best system comes out first in 19 of 20 runs,
for random and adaptive pairs and orders of four. Strengths are fitted again after every 20 comparisons.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from scipy.special import expit, ndtri

from sightline.statistics.next_comparison import Belief, next_comparison
from sightline.statistics.orders import Stages, fit_stages
from sightline.statistics.preference_ranking import rank_by_votes
from sightline.statistics.preferences import PRIOR, pooled_preferences

PROMPTS, RATERS = (5, 10, 40, 200), (1, 2, 3, 5, 10)
TASTE, PROMPT_TASTE = 0.6, 0.4
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(31)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


def judged(rng, strength, prompts, raters, taste, nested):
    """Prompt, rater, a, b and outcome of a full design, and the tastes of its raters."""
    systems = strength.size
    pairs = np.array(np.triu_indices(systems, 1)).T
    q, r, k = (each.ravel() for each in np.meshgrid(range(prompts), range(raters), range(len(pairs))))
    if nested:
        r = q * raters + r
    a, b = pairs[k].T
    own = rng.normal(0, taste, (int(r.max()) + 1, systems))
    of_prompt = rng.normal(0, PROMPT_TASTE, (prompts, systems))
    d = strength[a] - strength[b] + own[r, a] - own[r, b] + of_prompt[q, a] - of_prompt[q, b]
    return (q, r, a, b, (rng.random(q.size) < expit(d)).astype(float)), own


def planted(strength, own, few):
    """P(row is preferred to column) over prompts, and over raters or, where they are few, for these."""
    d = strength[:, None] - strength[None]
    if few:
        d = d + own[:, :, None] - own[:, None]
        spread = PROMPT_TASTE * 2**0.5
    else:
        d, spread = d[None], (2 * (TASTE**2 + PROMPT_TASTE**2)) ** 0.5
    return (expit(d[..., None] + spread * NODES) @ WEIGHTS).mean(axis=0)


def coverage(repeats, nested):
    print(
        f"{'nested' if nested else 'crossed'} raters, {repeats} repeats: probability, win rate, false alarms"
    )
    for prompts in PROMPTS:
        cells = []
        for raters in RATERS:
            few = raters < 3 and not nested
            inside, rates, alarms = [], [], 0
            for repeat in range(repeats):
                rng = np.random.default_rng([repeat, prompts, raters, nested])
                strength = rng.normal(0, 1, 3)
                votes, own = judged(rng, strength, prompts, raters, TASTE, nested)
                truth = planted(strength, own, few)
                found = rank_by_votes(*votes)
                for pair in found.pairs:
                    at = truth[int(pair.first), int(pair.second)]
                    inside.append(pair.probability.low <= at <= pair.probability.high)
                for row in found.systems:
                    at = (truth[int(row.system)].sum() - 0.5) / 2
                    rates.append(row.win_rate.low <= at <= row.win_rate.high)
                alike, _ = judged(rng, np.zeros(3), prompts, raters, 0.0 if few else TASTE, nested)
                alarms += any(pair.significant for pair in rank_by_votes(*alike).pairs)
            cells.append(f"{np.mean(inside):.3f} {np.mean(rates):.3f} {alarms / repeats:.3f}")
        print(f"| {prompts} | " + " | ".join(cells) + " |", flush=True)


def ends(repeats):
    print(f"two systems, {repeats} repeats: coverage of the probability of preference")
    spread = (2 * (TASTE**2 + PROMPT_TASTE**2)) ** 0.5
    grid = np.linspace(0, 12, 2401)
    chance = expit(grid[:, None] + spread * NODES) @ WEIGHTS
    for prompts in PROMPTS[:3]:
        for raters in (1, 3, 5, 10):
            cells = []
            for wanted in (0.5, 0.8, 0.9, 0.95, 0.99):
                gap = float(np.interp(wanted, chance, grid))
                inside = []
                for repeat in range(repeats):
                    rng = np.random.default_rng([repeat, prompts, raters, int(100 * wanted)])
                    strength = np.array([gap / 2, -gap / 2])
                    votes, own = judged(rng, strength, prompts, raters, TASTE, False)
                    truth = planted(strength, own, raters < 3)[0, 1]
                    (pair,) = rank_by_votes(*votes).pairs
                    inside.append(pair.probability.low <= truth <= pair.probability.high)
                cells.append(f"{np.mean(inside):.3f}")
            print(f"| {prompts} | {raters} | " + " | ".join(cells) + " |", flush=True)


def pooled(repeats):
    print(f"six systems, {repeats} repeats: all pairs, pairs of which one wins nine times out of ten")
    a, b = np.triu_indices(6, 1)
    for votes in (1, 3, 10, 50):
        cells = []
        for spread in (1.28, 1.5, 2.0, 3.0):
            inside, extreme = [], []
            for repeat in range(repeats):
                rng = np.random.default_rng([repeat, votes])
                strength = rng.normal(0, spread, 6)
                truth = expit(strength[a] - strength[b])
                wins = rng.binomial(votes, truth)
                found = pooled_preferences(
                    np.append(a, b), np.append(b, a), np.append(wins, votes - wins), a=a, b=b
                )
                held = (found.low <= truth) & (truth <= found.high)
                inside.extend(held)
                extreme.extend(held[np.abs(truth - 0.5) > 0.4])
            cells.append(f"{np.mean(inside):.3f} {np.mean(extreme):.3f}")
        print(f"| {votes} | " + " | ".join(cells) + " |", flush=True)


def course(seed, size, adaptive, limit, batch=20):
    """Kendall's tau with the planted order, and whether the best is first, after every batch."""
    rng = np.random.default_rng(seed)
    strength = rng.permutation(ndtri((np.arange(20) + 0.5) / 20))
    i, j = np.triu_indices(20, 1)
    belief = Belief(np.zeros(20), np.eye(20) * PRIOR**2)
    rows, tau, top = [], [], []
    for _ in range(limit // batch):
        if adaptive:
            sets = next_comparison(belief, size=size, count=batch, seed=int(rng.integers(2**31)))
        else:
            sets = np.array([rng.choice(20, size, replace=False) for _ in range(batch)])
        by = np.argsort(-(strength[sets] + rng.gumbel(size=sets.shape)), axis=1)
        order = np.take_along_axis(sets, by, axis=1)
        for place in range(size - 1):
            row = np.full((batch, size), -1)
            row[:, 0], row[:, 1 : size - place] = order[:, place], np.sort(order[:, place + 1 :], axis=1)
            rows.append(row)
        chosen = np.concatenate(rows)
        stages = Stages(chosen, np.ones(len(chosen)), np.arange(len(chosen)))
        fitted = fit_stages(stages, stages.weight, 20, bias_reduced=False, pull=PRIOR**-2)
        belief = Belief(fitted.strength, fitted.bread)
        at = fitted.strength
        tau.append(np.mean(np.sign(strength[i] - strength[j]) * np.sign(at[i] - at[j])))
        top.append(np.argmax(at) == np.argmax(strength))
    return tau, top


def votes(repeats):
    print(f"{repeats} runs: comparisons and ratio until tau is .95, .90, until the best is first")
    base = None
    for size, adaptive, limit in ((2, False, 7000), (2, True, 5000), (4, False, 2400), (4, True, 1600)):
        runs = [course(seed, size, adaptive, limit) for seed in range(repeats)]
        tau, top = (np.mean([run[part] for run in runs], axis=0) for part in (0, 1))
        # Sustained: the first batch from which the mean of five batches is there.
        goals = ((tau, 0.95), (tau, 0.9), (top, 0.95))
        needed = [20 * (1 + _first(curve, goal)) for curve, goal in goals]
        base = base or needed
        name = f"{'adaptive' if adaptive else 'random'} {'pairs' if size == 2 else 'orders of four'}"
        shown = " | ".join(f"{n} | {base[k] / n:.1f}" for k, n in enumerate(needed))
        print(f"| {name} | {shown} |  (last tau {tau[-1]:.3f})", flush=True)


def _first(curve, goal):
    smooth = np.convolve(curve, np.ones(5) / 5, mode="valid")
    return int(np.argmax(smooth >= goal)) + 4 if (smooth >= goal).any() else len(curve)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=("coverage", "nested", "ends", "pooled", "votes"), nargs="*")
    parser.add_argument("--repeats", type=int, default=200)
    asked = parser.parse_args()
    for part in asked.part or ("coverage", "nested", "ends", "pooled", "votes"):
        began = time.perf_counter()
        if part in ("coverage", "nested"):
            coverage(asked.repeats, part == "nested")
        elif part == "ends":
            ends(asked.repeats)
        elif part == "pooled":
            pooled(asked.repeats)
        else:
            votes(max(4, asked.repeats // 10))
        print(f"{part}: {time.perf_counter() - began:.0f} s", flush=True)
