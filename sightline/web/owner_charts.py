"""The charts of the owner's page, each a drawing and a table of the same numbers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sightline.estimate import Estimate, absent, format_cell, format_n
from sightline.judging import charts
from sightline.judging.agreement import Coefficient
from sightline.judging.labels import CATEGORIES, categories_by_query, labels_by_system
from sightline.judging.overview import Overview, overview
from sightline.records import Question
from sightline.rendering.charts import Spec, render
from sightline.rendering.tables import Table
from sightline.study.study import Study
from sightline.web import payloads_owner as p

CHARTS = ("labels", "annotators", "controls", "categories")
# The renderer is one for the whole process.
_ONE = threading.Lock()


@dataclass(frozen=True)
class Drawing:
    """A chart in both widths, and its table."""

    spec: Callable[[bool], Spec]
    table: Table

    def svg(self, theme: Literal["light", "dark"], wide: bool) -> str:
        """The drawing, with the colours of a light or a dark page written into it."""
        with _ONE:
            return render(self.spec(wide), theme)


def offered(found: Overview, questions: Sequence[Question]) -> list[p.ChartShown]:
    """Which charts there is something to draw for."""
    made = []
    for question in questions:
        name, several = question.name, f" · {question.name}" if len(questions) > 1 else ""
        judged = found.progress.judgements_in > 0
        if judged and question.scale != "interval":
            made.append(_shown("labels", name, f"Answers by system{several}", "How often each was given."))
        if any(name in person.kappa or name in person.with_others for person in found.people):
            made.append(
                _shown(
                    "annotators",
                    name,
                    f"Agreement of annotators{several}",
                    "Each with the others, with the 95 % interval; judgements in brackets.",
                )
            )
        if found.disputes.get(name) and _leans(question):
            made.append(
                _shown(
                    "categories",
                    name,
                    f"How far people are of one mind{several}",
                    "Images of each query that two or more have judged, the most doubtful queries first.",
                )
            )
    if any(person.passed + person.failed for person in found.people):
        told = "Control items, by annotator."
        made.append(_shown("controls", "", "Control items passed and failed", told))
    return made


def drawing(study: Study, round: str, name: str, question: str | None) -> Drawing | None:
    """A chart by its name; None where there is nothing to draw."""
    if name == "labels":
        labels = [
            charts.Labelled(each.system, each.label, each.n)
            for each in labels_by_system(study, round)
            if question in (None, each.question)
        ]
        return _drawing(labels, charts.labels_chart, charts.labels_table)
    if name == "categories":
        queries = [
            charts.Query(each.prompt, each.counts)
            for each in categories_by_query(study, round)
            if question in (None, each.question)
        ]
        return _drawing(
            queries,
            lambda rows, *, wide: charts.categories_chart(rows, CATEGORIES, wide=wide),
            lambda rows: charts.categories_table(rows, CATEGORIES),
        )
    found = overview(study, round)
    if name == "controls":
        tried = [
            charts.Validated(person.name, person.passed, person.failed)
            for person in found.people
            if person.passed + person.failed
        ]
        return _drawing(tried, charts.validation_chart, charts.validation_table)
    return _annotators(found, question or next(iter(found.agreement), ""))


def _annotators(found: Overview, question: str) -> Drawing | None:
    """Cohen's kappa where answers are labels, else the coefficient that fits the scale."""
    told = [
        (person, person.kappa.get(question) or person.with_others[question])
        for person in found.people
        if question in person.kappa or question in person.with_others
    ]
    if not told:
        return None
    name = told[0][1].name.partition(" with ")[0]
    rows = [charts.Judged(person.name, person.votes, _quantity(each)) for person, each in told]
    return Drawing(
        lambda wide: charts.annotators_chart(rows, coefficient=name, wide=wide),
        charts.annotators_table(rows, name),
    )


def table(found: Table) -> p.TableShown:
    """A table as the page receives it: texts ready to be shown."""
    headings = [column.heading for column in found.columns]
    rows = [
        [
            f"{format_cell(cell, column.format)} {format_n(cell)}".strip()
            for column, cell in zip(found.columns, row, strict=True)
        ]
        for row in found.rows
    ]
    return p.TableShown(caption=found.caption, headings=headings, rows=rows)


def _drawing(
    rows: Sequence[object], chart: Callable[..., Spec], tabled: Callable[..., Table]
) -> Drawing | None:
    return Drawing(lambda wide: chart(rows, wide=wide), tabled(rows)) if rows else None


def _quantity(found: Coefficient) -> Estimate:
    if found.value is None:
        return absent(found.reason or "no value")
    return Estimate(found.value, found.low, found.high, found.n)


def _leans(question: Question) -> bool:
    return question.low is not None and question.high is not None and question.direction != "none"


def _shown(name: str, question: str, title: str, about: str) -> p.ChartShown:
    return p.ChartShown(name=name, question=question, title=title, about=about)
