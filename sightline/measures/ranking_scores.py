"""Score rankings: by their relevance or their scores alone, and find stored scores that are out of date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import Configured
from sightline.measures.rankings import UNJUDGED, Ranked, looks_beyond, rankings_of
from sightline.study import reading, scores
from sightline.study.running.run import Ran
from sightline.study.scores import Target
from sightline.study.study import Study


def score_all_rankings(study: Study, measures: Sequence[Configured]) -> list[Ran]:
    """Score rankings by measures that need relevance and those that do not, each read once."""
    read: dict[bool, Ranked] = {}
    ran = []
    state = scores.state(study)
    for measure in measures:
        judged = measure.spec.details["rests_on"] not in UNJUDGED
        if judged not in read:
            read[judged] = rankings_of(study, judged=judged)
        ran.append(_score_rankings(study, measure, read[judged], state))
    return ran


def score_rankings(study: Study, measure: Configured) -> Ran:
    """Score every ranking of every retriever by its relevance, or by its scores alone."""
    return score_all_rankings(study, [measure])[0]


def _score_rankings(
    study: Study, measure: Configured, known: Ranked, state: Sequence[tuple[Any, ...]]
) -> Ran:
    ran = Ran(str(measure), len(known))
    results = list(zip(_items(known, *_looks_at(measure)), known.outcomes(measure), strict=True))
    ran.dropped = scores.write_all(study, scores.register(study, measure), results, state)
    ran.computed = len(results)
    if not ran.dropped:
        ran.reasons.update(outcome.reason for _, outcome in results if outcome.reason is not None)
    ran.notes = known.notes_for(measure)
    return ran


def stale_rankings(study: Study) -> list[str]:
    """The measures of rankings whose stored scores are out of date with the rankings and the relevance.

    Comparisons do not read them, but compute them again; exports show what is stored.
    """
    stored = reading.measures(study)
    stored = stored.filter((stored["kind"] == "of_ranking") & (stored["values"] + stored["without"] > 0))
    if stored.is_empty():
        return []
    read: dict[bool, Ranked | None] = {}
    items: dict[tuple[str, bool], list[Target]] = {}
    stale = []
    for row in stored.iter_rows(named=True):
        looks_at = _looked_at(str(row["measure"]))
        judged = looks_at[0] not in UNJUDGED
        if judged not in read:
            try:
                read[judged] = rankings_of(study, judged=judged)
            except DataError:
                read[judged] = None  # the rankings or their relevance have been removed
        ranked = read[judged]
        if looks_at not in items:
            items[looks_at] = [] if ranked is None else _items(ranked, *looks_at)
        targets = items[looks_at]
        todo, copies = scores.known(study, int(row["measure_id"]), targets)
        if todo or copies or row["values"] + row["without"] != len(targets):
            stale.append(str(row["measure"]))
    return stale


def _looked_at(measure: str) -> tuple[str, bool]:
    try:
        return _looks_at(registry.find_measure(measure))
    except UsageError:
        return "relevance", False  # scored by an extension that is not installed here


def _looks_at(measure: Configured) -> tuple[str, bool]:
    """What a measure rests on, and whether it also reads what was searched."""
    return str(measure.spec.details["rests_on"]), looks_beyond(measure)


def _items(ranked: Ranked, rests_on: str, beyond: bool) -> list[Target]:
    """Each ranking as the target of a score."""
    keys = zip(ranked.prompt.tolist(), ranked.system.tolist(), ranked.hashes(rests_on, beyond), strict=True)
    return [Target(prompt, system, 0, inputs, None, ()) for prompt, system, inputs in keys]
