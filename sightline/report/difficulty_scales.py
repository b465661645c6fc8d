"""Scales of difficulty: what makes a prompt easy or hard to draw, or to find, or by any question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import polars as pl

from sightline.comparison.compare import ranking_measures, values_by
from sightline.errors import UsageError
from sightline.rendering.shown import Scale
from sightline.report.sections import scale
from sightline.report.stored_predictions import scale_of
from sightline.study import reading, rollup
from sightline.study.study import Study

GENERATION, RETRIEVAL = "generator", "retriever"
WORDS = {GENERATION: "to draw", RETRIEVAL: "to find"}


@dataclass(frozen=True)
class Side:
    """One scale of difficulty: each prompt's value, what it is called, and what easy and hard go with."""

    scale: Scale
    values: Mapping[int, float]
    word: str


def truth_of(study: Study, name: str) -> dict[int, float]:
    """The truth of each prompt, by a question."""
    found = rollup.by_prompt(study, name)
    return dict(zip(found["prompt_id"].to_list(), found["value"].to_list(), strict=True))


def difficulty(study: Study, name: str) -> Side:
    """A question's truth or a measure's values as a scale of difficulty."""
    found = _side(study, name)
    if found.scale.direction == "none":
        raise UsageError(
            f"neither end of {name} is better, so that it makes no prompt easy or hard",
            remedy="Name a question or a measure with a direction: sightline list",
        )
    return found


def _side(study: Study, name: str) -> Side:
    if name in {asked.name for _, asked in reading.questions(study)}:
        kinds = _kinds(study, name)
        word = WORDS[next(iter(kinds))] if len(kinds) == 1 else f"by {name}"
        return Side(scale_of(study, name), truth_of(study, name), word)
    basis = values_by(study, name)
    means = basis.values.group_by("prompt_id").agg(pl.col("value").mean()).sort("prompt_id")
    told = replace(scale(None, basis.name, basis.direction), low=basis.low, high=basis.high)
    values = dict(zip(means["prompt_id"].to_list(), means["value"].to_list(), strict=True))
    ranked = basis.measure is not None and basis.measure.spec.kind == "of_ranking"
    return Side(told, values, WORDS[RETRIEVAL] if ranked else f"by {basis.name}")


def _kinds(study: Study, name: str) -> set[str]:
    """The kinds of the systems that a question's truth is about."""
    about = rollup.by_system(study, name).select("system_id").unique()
    return set(reading.systems(study).join(about, on="system_id", how="semi")["kind"].to_list())


def both_kinds(study: Study) -> tuple[str, str] | None:
    """A question about generators and one about search engines, or a measure of rankings; else any two."""
    settled = [
        asked.name
        for _, asked in reading.questions(study)
        if asked.direction != "none" and not rollup.by_prompt(study, asked.name).is_empty()
    ]
    kinds = {name: _kinds(study, name) for name in settled}
    drawn = [name for name in settled if kinds[name] == {GENERATION}]
    found = [name for name in settled if kinds[name] == {RETRIEVAL}] or ranking_measures(study)
    if drawn and found:
        return drawn[0], found[0]
    return (settled[0], settled[1]) if len(settled) > 1 else None
