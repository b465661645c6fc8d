"""Score: bring automatic measures of a study up to date, or measure single files without a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.extension import Configured
from sightline.measures.rankings import UNJUDGED, Ranked, looks_beyond, rankings_for, rankings_of
from sightline.pictures import Picture
from sightline.study import reading, scores
from sightline.study.running.calls import compute_pictures
from sightline.study.running.progress import Listener
from sightline.study.running.run import Ran, register, run_together
from sightline.study.scores import Target
from sightline.study.study import Study

BATCH = 16


@dataclass(frozen=True)
class FileScore:
    """The outcome of one measure on one file."""

    path: str
    measure: str
    value: float | None
    reason: str | None


def score(
    study: Study,
    measures: str | Sequence[str] | None = None,
    *,
    workers: int = 1,
    listener: Listener | None = None,
) -> list[Ran]:
    """Compute what is missing of these measures (by default those named in study.toml)."""
    reading.need_prompts(study)
    chosen = chosen_measures(study, measures)
    for measure in chosen:
        measure.require()
    # Measures of one kind look at the same things: those are read and decoded once for all.
    together: dict[str, list[int]] = {}
    for number, measure in enumerate(chosen):
        together.setdefault(measure.spec.kind, []).append(number)
    found: dict[int, Ran] = {}
    for kind, numbers in together.items():
        alike = [chosen[number] for number in numbers]
        if kind == "of_ranking":
            ran = _score_rankings(study, alike)
        else:
            ran = run_together(study, alike, workers=workers, listener=listener)
        found.update(zip(numbers, ran, strict=True))
    return [found[number] for number in range(len(chosen))]


def chosen_measures(study: Study, measures: str | Sequence[str] | None) -> list[Configured]:
    """The measures asked for, or those of the settings file."""
    if measures is None or measures == []:
        told = study.settings.get("score", {}).get("measures", [])
        if not told:
            raise UsageError(
                "no measure is named",
                remedy="Name one (sightline list of_image), or set [score] measures in study.toml.",
            )
        measures = told
    names = [measures] if isinstance(measures, str) else list(measures)
    return [registry.find_measure(name) for name in names]


def score_files(measures: str | Sequence[str], paths: Sequence[str | Path]) -> list[FileScore]:
    """Measure image files as they are, without a study; an unreadable file has its reason."""
    names = [measures] if isinstance(measures, str) else list(measures)
    if not paths:
        raise UsageError("no image file is named", remedy="For example: sightline score sharpness *.png")
    found = []
    for path in paths:
        if not Path(path).is_file():
            raise DataError("there is no such file", where=str(path))
    for name in names:
        measure = registry.find_measure(name)
        if measure.spec.kind != "of_image":
            raise UsageError(
                f"{measure.name} is a measure {measure.spec.kind.replace('_', ' ')}, not of a file",
                remedy="Without a study, use a measure of an image: sightline list of_image",
            )
        measure.require()
        for start in range(0, len(paths), BATCH):
            part = [str(path) for path in paths[start : start + BATCH]]
            outcomes = compute_pictures(measure, [Picture(path=path) for path in part])
            found += [
                FileScore(path, measure.short, outcome.value, outcome.reason)
                for path, outcome in zip(part, outcomes, strict=True)
            ]
    return found


def _score_rankings(study: Study, measures: Sequence[Configured]) -> list[Ran]:
    """Score rankings by measures that look at judgements and such that need none, each read once."""
    read: dict[bool, Ranked] = {}
    ran = []
    for measure in measures:
        judged = measure.spec.details["rests_on"] not in UNJUDGED
        if judged not in read:
            read[judged] = rankings_of(study, judged=judged)
        ran.append(score_rankings(study, measure, read[judged]))
    return ran


def score_rankings(study: Study, measure: Configured, ranked: Ranked | None = None) -> Ran:
    """Score every ranking of every retriever against the known relevance, or by its scores alone."""
    known = rankings_for(study, measure) if ranked is None else ranked
    ran = Ran(str(measure), len(known))
    results = list(zip(_items(known, *_looks_at(measure)), known.outcomes(measure), strict=True))
    # A ranking that has gone since, or that other rules leave out, must not keep its score.
    scores.clear(study, measure.identity)
    scores.write(study, register(study, measure), results)
    ran.computed = len(results)
    ran.reasons.update(outcome.reason for _, outcome in results if outcome.reason is not None)
    ran.notes = known.notes_for(measure)
    return ran


def stale_rankings(study: Study) -> list[str]:
    """The measures of rankings whose scores are not those of the rankings and the relevance as they stand.

    Comparisons do not read them, but compute them anew; exports and `trust` show what is kept.
    """
    kept = reading.measures(study)
    kept = kept.filter((kept["kind"] == "of_ranking") & (kept["values"] + kept["without"] > 0))
    if kept.is_empty():
        return []
    read: dict[bool, Ranked | None] = {}
    items: dict[tuple[str, bool], list[Target]] = {}
    found = []
    for row in kept.iter_rows(named=True):
        looks_at = _looked_at(str(row["measure"]))
        judged = looks_at[0] not in UNJUDGED
        if judged not in read:
            try:
                read[judged] = rankings_of(study, judged=judged)
            except DataError:
                read[judged] = None  # the rankings or their relevance have been taken out since
        ranked = read[judged]
        if looks_at not in items:
            items[looks_at] = [] if ranked is None else _items(ranked, *looks_at)
        mine = items[looks_at]
        todo, twins = scores.known(study, int(row["measure_id"]), mine)
        if todo or twins or row["values"] + row["without"] != len(mine):
            found.append(str(row["measure"]))
    return found


def _looked_at(measure: str) -> tuple[str, bool]:
    try:
        return _looks_at(registry.find_measure(measure))
    except UsageError:
        return "relevance", False  # scored by an extension that is not installed here


def _looks_at(measure: Configured) -> tuple[str, bool]:
    """What a measure rests on, and whether it looks at what was searched beyond that."""
    return str(measure.spec.details["rests_on"]), looks_beyond(measure)


def _items(ranked: Ranked, rests_on: str, beyond: bool) -> list[Target]:
    """Each ranking as scores are kept under it."""
    keys = zip(ranked.prompt.tolist(), ranked.system.tolist(), ranked.hashes(rests_on, beyond), strict=True)
    return [Target(prompt, system, 0, inputs, None, ()) for prompt, system, inputs in keys]
