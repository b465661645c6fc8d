"""Report: one self-contained page that says what the study found, and how sure that is."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from sightline.comparison.compare import Comparison
from sightline.errors import DataError, StudyError
from sightline.judging.label_charts import label_pictures
from sightline.rendering import document as doc
from sightline.rendering.blocks import Block
from sightline.rendering.sections import system_names
from sightline.rendering.theme import Colour, system_colours
from sightline.report import sections
from sightline.report import stored_predictions as kept_predictions
from sightline.report.prediction_figures import prediction_pictures
from sightline.study import reading
from sightline.study.study import Study
from sightline.study.writing.loading import sources
from sightline.version import __version__

Section = TypeVar("Section")

ON_THE_MAP = 1000
"""Prompts on the map of a report: a picture of all is drawn on its own."""


def report(study: Study, to: str | Path | None = None, *, seed: int = 0) -> Path:
    """Write the report of a study as one HTML file; gives its path."""
    from sightline.rendering.html import render

    reading.need_prompts(study)
    path = Path(to) if to is not None else study.home / "report.html"
    page = render(build(study, seed=seed))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".part-", suffix=".html")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(page)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError as error:
        raise StudyError(f"cannot write the report ({error.strerror})", where=str(path)) from None
    return path


def build(study: Study, *, seed: int = 0) -> doc.Report:
    """The report as data; whatever the study does not hold yet is left out and named as a next step."""
    with reading.remembering():
        return _built(study, seed)


def _built(study: Study, seed: int) -> doc.Report:
    asked = [question for _, question in reading.questions(study)]
    compared = sections.comparisons(study, asked, seed)
    head = compared[0] if compared else None
    by_name = {question.name: question for question in asked}
    variability = _or_none(lambda: sections.variability(study))
    made = doc.Report(
        title=str(study.settings.get("study", {}).get("name") or study.name),
        answer=answer(head, study),
        made_at=datetime.now(UTC),
        study=str(study.home),
        facts=sections.facts(study),
        rankings=[sections.ranking(each, by_name.get(each.by)) for each in compared],
        breakdowns=sections.breakdowns(study, head, by_name) if head else (),
        prompts=sections.prompts(study, head, by_name) if head else None,
        gallery=() if head else sections.gallery(study),
        variability=variability,
        trust=_or_none(lambda: sections.trusted(study)),
        prediction=kept_predictions.prediction(study, asked),
        judges=sections.judges(study, asked),
        checks=_or_none(lambda: sections.checks(study)),
        extras=[*sections.measured(study), *sections.queries(study)],
        gaps=sections.gaps(study),
        next_steps=sections.next_steps(study),
        provenance=_provenance(study, seed),
    )
    colours = system_colours(system_names(made))
    if made.variability is not None:
        varied = _or_none(lambda: sections.variability_pictures(study, colours)) or ()
        made = replace(made, variability=replace(made.variability, pictures=varied))
    if made.prediction is not None:
        predicted = _or_none(lambda: _predicted(study, colours, seed)) or ()
        made = replace(made, prediction=replace(made.prediction, pictures=predicted))
    if made.judges is not None:
        made = replace(made, judges=replace(made.judges, pictures=label_pictures(study)))
    return made


def _predicted(study: Study, colours: Mapping[str, Colour], seed: int) -> Sequence[Block]:
    """The prompts and their predictions in pictures; the map has so few prompts that nobody has to wait."""
    return prediction_pictures(study, most=ON_THE_MAP, colours=colours, seed=seed).blocks


def answer(head: Comparison | None, study: Study) -> str:
    """The whole study in a sentence or two."""
    if head is None:
        counts = reading.counts(study)
        if counts["truth"] and not counts["answer"]:
            return f"{counts['truth']:,} published truths about {counts['prompt']:,} prompts are here."
        return (
            f"{counts['answer']:,} answers of {counts['system']} systems to {counts['prompt']:,} prompts are "
            "here, but nobody's judgement yet: which system is better cannot be said."
        )
    return head.sentence


def _or_none(make: Callable[[], Section]) -> Section | None:
    """A section, or None where the study lacks what it needs: the page then names the next step."""
    try:
        return make()
    except DataError:
        return None


def _provenance(study: Study, seed: int) -> doc.Provenance:
    import numpy
    import polars

    settlements = reading.settlements(study)
    rules = [
        (
            str(row["question"]),
            f"{row['rule']}, screened by {row['screening'] or 'no rule'}, settled {row['at']}",
        )
        for row in settlements.iter_rows(named=True)
    ]
    measures = [
        (str(row["measure"]), f"version {row['version']}, identity {str(row['identity'])[:16]}")
        for row in reading.measures(study).iter_rows(named=True)
    ]
    imported = [f"import {row['importer']} (number {row['id']}, {row['at']})" for row in sources(study)]
    return doc.Provenance(
        commands=[*imported, f"sightline report {study.home}"],
        versions=[
            ("sightline", __version__),
            ("python", platform.python_version()),
            ("numpy", numpy.__version__),
            ("polars", polars.__version__),
        ],
        seeds=[("comparison", seed)],
        rules=rules,
        measures=measures,
    )
