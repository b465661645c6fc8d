"""Whether the rules that model annotators come closer to a planted truth than plain counting does.

Opinion scores: viewers of known bias and inconsistency judge items of known quality; `mos` and
`mos_normalised` against `mean`. Labels: annotators of known skill name classes; `dawid_skene` against
`majority` (of tied labels the lowest, so that either always has an answer). Each panel is drawn again for
every seed. What is given is the ratio of the root mean square errors over all seeds (of labels the ratio of
the shares that are wrong), with its 95 % interval from resampling seeds: below 1 the rule is better.

A panel of people that differ must be below 1 with its whole interval. A panel of people that are alike shows
what the modelling costs where there is nothing to model: at most MOST_COST.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sightline.statistics.consensus import majority, mean_votes
from sightline.statistics.labels import dawid_skene
from sightline.statistics.opinion_scores import mos_likelihood, mos_normalised

MOST_COST = 1.02
ENDS = (1.0, 5.0)


@dataclass(frozen=True)
class Panel:
    """Who judges what, and how they differ."""

    items: int
    viewers: int
    share: float
    session: int
    bias: float = 0.0
    inconsistency: tuple[float, float] = (0.7, 0.7)
    gain: float = 0.0
    drift: float = 0.0


@dataclass(frozen=True)
class Crowd:
    """Who labels what, and how skilled they are; `lean` is by how much all recognise label 0 worse."""

    items: int
    annotators: int
    votes: int
    classes: int
    skill: tuple[float, float]
    lean: float = 0.0


# A laboratory as in AGIQA-3K, sessions of 213 images; a crowd of which each item sees a part, with some 240
# votes a viewer or, in the small one, 15.
LABORATORY = {"items": 426, "viewers": 21, "share": 1.0, "session": 213}
CROWD = {"items": 600, "viewers": 20, "share": 0.4, "session": 600}
SMALL = {"items": 60, "viewers": 20, "share": 0.25, "session": 60}
DIFFERENT = {"bias": 0.5, "inconsistency": (0.3, 1.5)}
OPINIONS: Mapping[str, Panel] = {
    "laboratory, viewers differ": Panel(**LABORATORY, **DIFFERENT),
    "crowd, viewers differ": Panel(**CROWD, **DIFFERENT),
    "crowd, also in use of the scale": Panel(**CROWD, **DIFFERENT, gain=0.3),
    "laboratory, sessions drift": Panel(**LABORATORY, **DIFFERENT, drift=0.3),
    "small crowd, viewers differ": Panel(**SMALL, **DIFFERENT),
    "laboratory, all alike": Panel(**LABORATORY),
    "crowd, all alike": Panel(**CROWD),
    "small crowd, all alike": Panel(**SMALL),
}
# Taking off session means supposes many votes a session: what it costs with 15 is shown, not bounded.
UNBOUNDED = {("small crowd, all alike", "mos_normalised")}
LABELS: Mapping[str, Crowd] = {
    "two labels, unequal skill": Crowd(400, 20, 5, 2, (0.55, 0.95)),
    "four labels, unequal skill": Crowd(400, 20, 5, 4, (0.3, 0.95)),
    "two labels, unequal skill, leaning": Crowd(400, 20, 5, 2, (0.75, 0.95), lean=0.25),
    "two labels, all alike": Crowd(400, 20, 5, 2, (0.75, 0.75)),
    "four labels, all alike": Crowd(400, 20, 5, 4, (0.75, 0.75)),
}


def opinions(panel: Panel, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Planted quality on a scale from 1 to 5, and what each rule makes of one panel's votes."""
    rng = np.random.default_rng(seed)
    quality = rng.uniform(*ENDS, panel.items)
    # Only differences between viewers show: their mean bias is nobody's to find, so that it is 0.
    bias = rng.normal(0, panel.bias, panel.viewers)
    bias -= bias.mean()
    spread = rng.uniform(*panel.inconsistency, panel.viewers)
    gain = np.exp(rng.normal(0, panel.gain, panel.viewers))
    gain /= gain.mean()
    seen = rng.random((panel.items, panel.viewers)) < panel.share
    seen[np.arange(panel.items), rng.integers(0, panel.viewers, panel.items)] = True
    item, viewer = np.nonzero(seen)
    session = rng.permuted(np.tile(np.arange(panel.items), (panel.viewers, 1)), axis=1) // panel.session
    drift = rng.normal(0, panel.drift, session.shape)
    drift -= drift.mean()
    block = session[viewer, item]
    value = 3 + gain[viewer] * (quality[item] - 3) + bias[viewer] + drift[viewer, block]
    value += spread[viewer] * rng.normal(size=item.size)
    return quality, {
        "plain": mean_votes(item, value, items=panel.items).value,
        "mos_mle": mos_likelihood(item, viewer, value, items=panel.items).mos,
        "mos_normalised": mos_normalised(item, viewer, block, value, items=panel.items).mos,
    }


def labels(crowd: Crowd, seed: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Planted labels, and what each rule makes of one crowd's votes."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, crowd.classes, crowd.items)
    skill = rng.uniform(*crowd.skill, crowd.annotators)
    who = rng.permuted(np.tile(np.arange(crowd.annotators), (crowd.items, 1)), axis=1)[:, : crowd.votes]
    item = np.repeat(np.arange(crowd.items), crowd.votes)
    who = who.ravel()
    wrong = (truth[item] + rng.integers(1, crowd.classes, item.size)) % crowd.classes
    right = rng.random(item.size) < skill[who] - crowd.lean * (truth[item] == 0)
    said = np.where(right, truth[item], wrong)
    found = dawid_skene(item, who, said, items=crowd.items)
    return truth, {
        "plain": majority(item, said, items=crowd.items, ties="lowest").value,
        "dawid_skene": found.labels[found.probability.argmax(axis=1)],
    }


def ratios(
    draw: Callable[[Any, int], tuple[np.ndarray, dict[str, np.ndarray]]],
    panel: Any,
    seeds: int,
    distance: Callable[[np.ndarray], np.ndarray],
    root: float,
) -> dict[str, dict[str, float]]:
    """Errors of each rule against those of plain counting, over all seeds."""
    errors: dict[str, list[float]] = {}
    for seed in range(seeds):
        truth, found = draw(panel, seed)
        for rule, value in found.items():
            errors.setdefault(rule, []).append(float(distance(value - truth).mean()))
    plain = np.array(errors.pop("plain"))
    chosen = np.random.default_rng(0).integers(0, seeds, (4000, seeds))
    summary = {}
    for rule, of_rule in errors.items():
        own = np.array(of_rule)
        drawn = (own[chosen].sum(axis=1) / plain[chosen].sum(axis=1)) ** root
        summary[rule] = {
            "plain_error": round(float(plain.mean() ** root), 4),
            "error": round(float(own.mean() ** root), 4),
            "ratio": round(float((own.sum() / plain.sum()) ** root), 4),
            "low": round(float(np.quantile(drawn, 0.025)), 4),
            "high": round(float(np.quantile(drawn, 0.975)), 4),
        }
    return summary


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200, help="how many panels of each kind (default 200)")
    options = parser.parse_args()
    begin = time.perf_counter()
    panels: dict[str, dict[str, dict[str, float]]] = {}
    for name, panel in OPINIONS.items():
        panels[name] = ratios(opinions, panel, options.seeds, np.square, 0.5)
    for name, crowd in LABELS.items():
        panels[name] = ratios(labels, crowd, options.seeds, lambda off: off != 0, 1.0)
    within = all(
        each["high"] < (MOST_COST if "alike" in name else 1)
        for name, rules in panels.items()
        for rule, each in rules.items()
        if (name, rule) not in UNBOUNDED
    )
    result = {
        "seeds": options.seeds,
        "panels": panels,
        "most_cost": MOST_COST,
        "within": within,
        "seconds": round(time.perf_counter() - begin, 1),
        "python": sys.version.split()[0],
        "numpy": np.__version__,
    }
    print(json.dumps(result, indent=2))
    for name, rules in panels.items():
        for rule, each in rules.items():
            print(
                f"{name:36} {rule:15} {each['plain_error']:.4f} -> {each['error']:.4f}  "
                f"ratio {each['ratio']:.3f} [{each['low']:.3f}, {each['high']:.3f}]",
                file=sys.stderr,
            )
    return 0 if within else 1


if __name__ == "__main__":
    raise SystemExit(main())
