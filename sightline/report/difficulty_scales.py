"""Scales of difficulty: how easy or hard a prompt is to generate, to retrieve, or by any question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from sightline.comparison.values import ranking_measures, values_by
from sightline.errors import UsageError
from sightline.rendering.shown import Scale
from sightline.report.prompt_cards import scale_of
from sightline.study import reading, rollup
from sightline.study.study import Study

GENERATION, RETRIEVAL = "generator", "retriever"
WORDS = {GENERATION: "to generate", RETRIEVAL: "to retrieve"}


@dataclass(frozen=True)
class Side:
    """One scale of difficulty: each prompt's value, its name, and the words that follow "easy" and "hard"."""

    scale: Scale
    values: Mapping[int, float]
    word: str


def truth_of(study: Study, name: str) -> dict[int, float]:
    """The truth of each prompt, by a question."""
    truths = rollup.by_prompt(study, name)
    return dict(zip(truths["prompt_id"].to_list(), truths["value"].to_list(), strict=True))


def difficulty(study: Study, name: str) -> Side:
    """A question's truth or a measure's values as a scale of difficulty."""
    side = _side(study, name)
    if side.scale.direction == "none":
        raise UsageError(
            f"{name} has no direction, so no prompt is easy or hard by it",
            remedy="Name a question or a measure with a direction: sightline list",
        )
    return side


def _side(study: Study, name: str) -> Side:
    if name in {asked.name for _, asked in reading.questions(study)}:
        kinds = _kinds(study, name)
        word = WORDS[next(iter(kinds))] if len(kinds) == 1 else f"by {name}"
        return Side(scale_of(study, name), truth_of(study, name), word)
    basis = values_by(study, name)
    means = basis.values.group_by("prompt_id").agg(pl.col("value").mean()).sort("prompt_id")
    scale = Scale(basis.name, basis.direction, basis.low, basis.high)
    values = dict(zip(means["prompt_id"].to_list(), means["value"].to_list(), strict=True))
    ranked = basis.measure is not None and basis.measure.spec.kind == "of_ranking"
    return Side(scale, values, WORDS[RETRIEVAL] if ranked else f"by {basis.name}")


def _kinds(study: Study, name: str) -> set[str]:
    """The kinds of the systems that a question's truth is about."""
    about = rollup.by_system(study, name).select("system_id").unique()
    return set(reading.systems(study).join(about, on="system_id", how="semi")["kind"].to_list())


def both_kinds(study: Study) -> tuple[str, str] | None:
    """A question about generators and one about search engines, or a measure of rankings; else any two."""
    known = [
        asked.name
        for _, asked in reading.questions(study)
        if asked.direction != "none" and not rollup.by_prompt(study, asked.name).is_empty()
    ]
    kinds = {name: _kinds(study, name) for name in known}
    generated = [name for name in known if kinds[name] == {GENERATION}]
    retrieved = [name for name in known if kinds[name] == {RETRIEVAL}] or ranking_measures(study)
    if generated and retrieved:
        return generated[0], retrieved[0]
    return (known[0], known[1]) if len(known) > 1 else None
