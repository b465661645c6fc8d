"""Everything about one row of the explorer: votes, truth, scores with evidence, predictions, provenance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from sightline import registry
from sightline.errors import SightlineError
from sightline.estimate import Estimate
from sightline.report.explorer import views
from sightline.report.explorer.snapshot import Snapshot
from sightline.report.store import details
from sightline.study import reading
from sightline.study.contents import NAME_ONLY, current_inputs
from sightline.study.schema import database
from sightline.study.study import Study


def about_row(
    study: Study,
    held: Snapshot,
    row: int,
    shown: views.RowView,
    siblings: Sequence[views.RowView],
    around: views.Neighbours,
    blind: bool,
) -> views.Detail:
    """Everything that the study holds about a row; `blind` hides the names of annotators."""
    rows = held.table.rows
    prompt, system, image = int(rows.prompt[row]), int(rows.system[row]), int(rows.image[row])
    with database.reading(study.engine) as connection:
        about_prompt = details.about_prompt(connection, prompt) if prompt else None
        about_image = details.about_image(connection, image) if image else None
        answer = details.about_answer(connection, system, prompt, int(rows.position[row])) if prompt else None
        provenance = {
            "answer": details.imported_by(connection, answer.pop("source_id")) if answer else None,
            "image": details.imported_by(connection, about_image.pop("source_id")) if about_image else None,
        }
        votes = _votes(connection, prompt, system, image, blind)
        truths = details.truths_of(connection, prompt, system, image)
        scores = _scores(connection, prompt, system, image)
        predicted = details.predictions_of(connection, prompt, system, image)
    return views.Detail(
        row=shown,
        prompt=about_prompt,
        image=about_image,
        answer=answer,
        provenance=provenance,
        siblings=siblings,
        votes=votes,
        truths=_truths(study, truths),
        scores=scores,
        predictions=_predictions(predicted),
        neighbours=around,
    )


def _votes(connection: Any, prompt: int, system: int, image: int, blind: bool) -> list[views.VoteView]:
    rows = details.votes_on(connection, prompt, system, image)
    numbers = {key: n for n, key in enumerate(details.annotator_order(connection), 1)} if blind else {}
    made = []
    for question, labels, value, skipped, who, name, excluded, at, ms, control, n, *shown in rows:
        others = [int(each) for each in shown if each and each != image]
        whose = "anonymous" if who is None else f"annotator {numbers[who]}" if blind else str(name)
        made.append(
            views.VoteView(
                question=question,
                value=value,
                label=_label(reading.decoded(labels), value),
                skipped=skipped,
                annotator=whose,
                at=at,
                seconds=None if ms is None else ms / 1000,
                control=bool(control),
                excluded=excluded,
                n=int(n),
                compared_with=others,
                side=_side(shown, image),
            )
        )
    return made


def _side(shown: Sequence[int], image: int) -> str:
    """Which of the images compared this one is: A or B of a pair, reference, A or B of a triplet."""
    _, second, third = shown
    names = ("reference", "A", "B") if third else ("A", "B", "") if second else ("", "", "")
    return next((name for name, each in zip(names, shown, strict=True) if each == image and image), "")


def _label(labels: Any, value: float | None) -> str:
    if value is None:
        return ""
    named = {float(key): str(text) for key, text in (labels or {}).items()}
    return named.get(float(value), "")


def _truths(study: Study, rows: Sequence[tuple[Any, ...]]) -> list[views.TruthView]:
    """The newest truth of each rule; what the study goes by comes first and is marked."""
    strongest: dict[str, list[int]] = {}
    made: list[views.TruthView] = []
    counted, met = set[tuple[str, int]](), set[tuple[str, str, int]]()
    for _, question, *_ in rows:
        if question not in strongest:
            strongest[question] = reading.counting_settlements(study, question)

    def rank(row: tuple[Any, ...]) -> tuple[str, int, int]:
        order = strongest[row[1]]
        return row[1], order.index(row[0]) if row[0] in order else len(order), -row[0]

    for settlement, question, rule, first, second, third, value, low, high, n, reason, item in sorted(
        rows, key=rank
    ):
        if (question, rule, item) in met:
            continue
        met.add((question, rule, item))
        counts = settlement in strongest[question] and (question, item) not in counted
        counted.add((question, item))
        estimate = Estimate(value, *_interval(low, high), n or 0, reason=reason)
        of = "image" if first and not second else "comparison" if second else "system or prompt"
        made.append(views.TruthView(question, rule, estimate, counts, of if not third else "triplet"))
    return made


def _interval(low: float | None, high: float | None) -> tuple[float | None, float | None]:
    return (None, None) if low is None or high is None else (min(low, high), max(low, high))


def _scores(connection: Any, prompt: int, system: int, image: int) -> list[views.ScoreView]:
    rows = details.scores_of(connection, prompt, system, image)
    newest = {(kind, spec): key for key, kind, spec, *_ in rows}
    made = []
    for key, kind, spec, direction, p, s, i, inputs, value, reason, evidence, path in rows:
        if newest[kind, spec] != key:
            continue
        now = current_inputs(connection, kind, [(p, s, i)])
        low, high = _range(kind, spec)
        made.append(
            views.ScoreView(
                measure=_shown(kind, spec),
                kind=kind,
                of=kind.removeprefix("of_"),
                value=value,
                direction=direction,
                low=low,
                high=high,
                reason=reason,
                current=now is None or now.get((p, s, i)) in (inputs, NAME_ONLY),
                evidence=reading.decoded(evidence),
                source="" if path is None else PurePath(path).name,
            )
        )
    return made


def _shown(kind: str, spec: str) -> str:
    """A measure as it is printed; one from elsewhere by its name there."""
    try:
        measure = registry.configure(kind, spec)
    except SightlineError:
        return spec  # an extension that is not installed here
    return spec if measure.spec.details.get("computed", True) else measure.short


def _range(kind: str, spec: str) -> tuple[float | None, float | None]:
    try:
        return registry.configure(kind, spec).spec.range
    except SightlineError:
        return None, None  # an extension that is not installed here


def _predictions(rows: Sequence[tuple[Any, ...]]) -> list[views.PredictionView]:
    newest: Mapping[tuple[str, str], int] = {(spec, question): key for key, spec, question, *_ in rows}
    return [
        views.PredictionView(question, spec, _estimate(value, low, high, reason))
        for key, spec, question, _, value, low, high, reason in rows
        if newest[spec, question] == key
    ]


def _estimate(value: float | None, low: float | None, high: float | None, reason: str | None) -> Estimate:
    if value is None:
        return Estimate(None, reason=reason or "no value")
    return Estimate(value, *_interval(low, high))
