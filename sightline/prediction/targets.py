"""What is predicted of a prompt: its truth by a question, or its value by any measure of its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from sightline import registry
from sightline.errors import SightlineError, UsageError, near
from sightline.extension import Configured
from sightline.measures.by_system import reads_stored, scored_measure, scores_by_system
from sightline.measures.rankings import rankings_for
from sightline.records import Question
from sightline.study import reading, relevance, rollup
from sightline.study.study import Study

KINDS = ("of_ranking", "of_set", "of_answer", "of_image")
"""Measures that have a value of each system on each prompt."""


@dataclass(frozen=True)
class Target:
    """What is predicted of prompts: by a question or a `measure`, over all systems or of one (NAME.SYSTEM).

    `question` has the scale; where the target is a measure, its range and direction.
    """

    name: str
    question: Question
    system: str | None
    truth: Mapping[int, float]
    measure: Configured | None = None


def target_of(study: Study, name: str) -> Target:
    """A question or a measure by its name, or one system's values by NAME.SYSTEM."""
    asked = {question.name: question for _, question in reading.questions(study)}
    if name in asked:
        values = rollup.by_prompt(study, name)
        return Target(name, asked[name], None, dict(values.select("prompt_id", "value").iter_rows()))
    systems = reading.systems(study)["system"].to_list()
    system = max((each for each in systems if name.endswith(f".{each}")), key=len, default=None)
    whole = name if system is None else name.removesuffix(f".{system}")
    if whole in asked:
        return _of_one(name, asked[whole], rollup.by_system(study, whole), system)
    question = max((each for each in asked if name.startswith(f"{each}.")), key=len, default="")
    if question:
        # The system is not known: say so with those that are.
        return _of_one(name, asked[question], rollup.by_system(study, question), name[len(question) + 1 :])
    measure, scored = _measured(study, whole, list(asked))
    low, high = measure.spec.range
    scale = Question(measure.short, "interval", low, high, direction=measure.spec.direction)
    short = measure.short if system is None else f"{measure.short}.{system}"
    if system is not None:
        return _of_one(short, scale, scored, system, measure)
    over = scored.group_by("prompt_id").agg(pl.col("value").mean()).sort("prompt_id")
    return Target(short, scale, None, dict(over.select("prompt_id", "value").iter_rows()), measure)


def settlement_of(study: Study, target: Target) -> int | None:
    """The settlement under which predictions of a target are kept; None where the study has none.

    A measure's are kept with the truth that it rests on, or, if it needs none, with any: a ranking that is
    judged again has other values.
    """
    if target.measure is None:
        return reading.newest_settlement(study, target.question.name)
    names = [asked.name for _, asked in reading.questions(study)]
    first = relevance.rules(study).relevance
    for name in sorted(names, key=lambda each: each != first):
        if (found := reading.newest_settlement(study, name)) is not None:
            return found
    return None


def _of_one(
    name: str, question: Question, values: pl.DataFrame, system: str | None, measure: Configured | None = None
) -> Target:
    known = values["system"].unique().sort().to_list()
    if system not in known:
        raise UsageError(
            f"{question.name} has no value of a system {system!r}", remedy=near(str(system), known)
        )
    own = values.filter(pl.col("system") == system)
    return Target(name, question, system, dict(own.select("prompt_id", "value").iter_rows()), measure)


def _measured(study: Study, name: str, asked: list[str]) -> tuple[Configured, pl.DataFrame]:
    """A measure, and each system's value on each prompt."""
    try:
        measure = registry.find_measure(name)
    except SightlineError:
        measure = scored_measure(study, name, asked)
    if measure.spec.kind not in KINDS:
        what = "of prompts, which needs no prediction" if measure.spec.kind == "of_prompt" else "of systems"
        raise UsageError(
            f"{measure.short} is a measure {what}",
            remedy="Predict a measure of rankings, sets, answers or images.",
        )
    if measure.spec.kind == "of_ranking" and not reads_stored():
        return measure, rankings_for(study, measure).values(measure)
    chosen = scored_measure(study, name, asked)
    return chosen, scores_by_system(study, str(chosen))
