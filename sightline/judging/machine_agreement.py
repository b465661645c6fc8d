"""How far a model's votes depend on the order of images, and agree with those of people on the same pairs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from sightline.estimate import Estimate, absent
from sightline.statistics.intervals import mean_interval
from sightline.study import reading, rollup
from sightline.study.machines import machine_names
from sightline.study.study import Study


class Agreement(NamedTuple):
    """A question of people: pairs with a majority of theirs, and how often the model agrees with it.

    `person` is how often the model agrees with one person, `people` how often two people agree: these two
    can be compared. A majority is less random than a person, and a person is part of their own majority.
    """

    question: str
    pairs: int
    model: Estimate
    person: Estimate
    people: Estimate


def position_bias(first: Sequence[float], prompts: Sequence[int]) -> Estimate:
    """How often the image shown first was preferred, over both orders of each pair; .5 is no bias.

    Pairs of one prompt are one unit: the interval is that of the mean over prompts, on a scale from 0 to 1.
    """
    return _by_prompt(np.asarray(first, dtype=np.float64), np.asarray(prompts))


def agreement_with_people(
    question: str, model: Sequence[float], people: Sequence[Sequence[float]], prompts: Sequence[int]
) -> Agreement:
    """How far a model's votes for the second image (0, .5, 1) agree with those of people, pair by pair.

    Half a point for a tie. A pair on which people are split evenly has no majority, and one on which a single
    person voted says nothing of two people: each is left out of that figure.
    """
    votes, home = np.asarray(model, dtype=np.float64), np.asarray(prompts)
    share = np.array([np.mean(each) for each in people])
    clear = share != 0.5
    agrees = 1 - np.abs(votes - (share > 0.5))
    with_one = np.array(
        [1 - np.abs(np.asarray(each) - vote).mean() for vote, each in zip(votes, people, strict=True)]
    )
    several = np.array([len(each) > 1 for each in people], dtype=np.bool_)
    alike = np.array([_two_agree(each) for each in people])
    two = absent("no pair was judged by two people")
    return Agreement(
        question,
        int(clear.sum()),
        _by_prompt(agrees[clear], home[clear]) if clear.any() else absent("people are split evenly"),
        _by_prompt(with_one, home),
        _by_prompt(alike[several], home[several]) if several.any() else two,
    )


def _two_agree(votes: Sequence[float]) -> float:
    """The mean agreement of two of these votes; not known of one."""
    pairs = [1 - abs(one - other) for one, other in combinations(votes, 2)]
    return sum(pairs) / len(pairs) if pairs else float("nan")


def _by_prompt(values: np.ndarray, prompts: np.ndarray) -> Estimate:
    _, place = np.unique(prompts, return_inverse=True)
    counts = np.bincount(place)
    return mean_interval(np.bincount(place, values) / counts if counts.size else [], low=0.0, high=1.0)


def agreements(study: Study, question: str) -> list[Agreement]:
    """The model's question against every question on which people compared the same systems' images."""
    model = _preferences(study, question)
    machines = machine_names(study)
    found = []
    for _, asked in reading.questions(study):
        if asked.name == question or asked.name in machines:
            continue
        people = _preferences(study, asked.name)
        both = model.join(people, on=["prompt_id", "system", "system_b"], suffix="_people")
        if both.is_empty():
            continue
        model_votes = [sum(each) / len(each) for each in both["votes"].to_list()]
        columns = both["votes_people"].to_list(), both["prompt_id"].to_list()
        found.append(agreement_with_people(asked.name, model_votes, *columns))
    return found


def _preferences(study: Study, question: str) -> pl.DataFrame:
    """The votes for the second of two systems, in the order of their names, by prompt."""
    votes = rollup.pair_votes(study, question).drop_nulls("outcome")
    turned = pl.col("system") > pl.col("system_b")
    return (
        votes.with_columns(
            system=pl.when(turned).then("system_b").otherwise("system"),
            system_b=pl.when(turned).then("system").otherwise("system_b"),
            second=pl.when(turned).then(1 - pl.col("outcome")).otherwise("outcome"),
        )
        .group_by("prompt_id", "system", "system_b")
        .agg(votes=pl.col("second"))
        .sort("prompt_id", "system", "system_b")
    )
