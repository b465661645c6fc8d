"""Score: bring automatic measures of a study up to date, or measure single files without a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sightline import registry
from sightline.errors import DataError, UsageError
from sightline.execution.calls import compute_pictures
from sightline.execution.gate import gate
from sightline.execution.progress import Listener
from sightline.execution.run import Ran, register, run_together
from sightline.extension import Configured
from sightline.pictures import Picture
from sightline.records import NoValue, Rankings
from sightline.store import reading, scores
from sightline.store.scores import Item, Outcome
from sightline.store.study import Study

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
            ran = [score_rankings(study, measure) for measure in alike]
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


def score_rankings(study: Study, measure: Configured, question: str = "relevance") -> Ran:
    """Score every ranking of every retriever against the known relevance."""
    import numpy as np
    import polars as pl

    known = {asked.name for _, asked in reading.questions(study)}
    if question not in known:
        raise DataError(
            f"{measure.name} needs relevant images, and no truth of {question!r} is in the study",
            remedy="Import qrels, or judge and settle a question named relevance.",
        )
    # A truth of a pair says which image is better, not that the first one is relevant.
    truths = reading.truths(study, question).filter(
        pl.col("value").is_not_null() & (pl.col("image_id") > 0) & (pl.col("image_b") == 0)
    )
    gain = {(p, i): v for p, i, v in truths.select("prompt_id", "image_id", "value").iter_rows()}
    answers = reading.answers(study, "retriever").filter(pl.col("image_id").is_not_null())
    ideal: dict[int, list[float]] = {}
    for (prompt, _), value in gain.items():
        ideal.setdefault(prompt, []).append(value)
    keys, gains, offsets, best, best_offsets, hashes = [], [], [0], [], [0], []
    for (system, prompt), rows in answers.group_by(["system_id", "prompt_id"], maintain_order=True):
        # An image that stands twice counts at its first place; `check` names such rankings.
        ranked = list(dict.fromkeys(int(image) for image in rows["image_id"]))
        keys.append((int(str(prompt)), int(str(system))))
        gains += [gain.get((prompt, image), float("nan")) for image in ranked]
        offsets.append(len(gains))
        best += sorted(ideal.get(int(str(prompt)), []), reverse=True)
        best_offsets.append(len(best))
        hashes.append(scores.hashed(ranked, gains[offsets[-2] :], best[best_offsets[-2] :]))
    ran = Ran(str(measure), len(keys))
    if not keys:
        raise DataError("no retriever has answered yet", remedy="Import a TREC run, or sightline retrieve.")
    table = Rankings(np.array(offsets), np.array(gains), np.array(best_offsets), np.array(best))
    values = np.asarray(measure.load()(table), dtype=np.float64)
    reason = str(measure.spec.details["nan"])
    outcomes = gate(measure.spec, [NoValue(reason) if np.isnan(v) else float(v) for v in values], len(keys))
    results: list[tuple[Item, Outcome]] = [
        (Item(prompt, system, 0, inputs, None, ()), outcome)
        for (prompt, system), inputs, outcome in zip(keys, hashes, outcomes, strict=True)
    ]
    scores.write(study, register(study, measure), results)
    ran.computed = len(results)
    ran.reasons.update(outcome.reason for _, outcome in results if outcome.reason is not None)
    return ran
