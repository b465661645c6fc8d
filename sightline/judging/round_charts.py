"""The charts of a round while it is judged: which there are, and each as a drawing and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sightline.judging import charts
from sightline.judging.labels import categories_by_query, labels_by_system, leans
from sightline.judging.overview import Overview, overview
from sightline.records import Question
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Spec
from sightline.rendering.tables import Table
from sightline.study.study import Study

CHARTS = ("labels", "annotators", "controls", "categories")


@dataclass(frozen=True)
class ChartTitle:
    """A chart that there is something to draw for; `question` is empty where it is about all."""

    name: str
    question: str
    title: str
    about: str


def offered_charts(found: Overview, questions: Sequence[Question]) -> list[ChartTitle]:
    """Which charts there is something to draw for."""
    titles = []
    for question in questions:
        name, several = question.name, f" · {question.name}" if len(questions) > 1 else ""
        if found.progress.judgements and question.scale != "interval":
            titles.append(
                ChartTitle("labels", name, f"Answers by system{several}", "How often each was given.")
            )
        if any(person.agreement(name) for person in found.people):
            about = "Each with the others, with the 95 % interval; judgements in brackets."
            titles.append(ChartTitle("annotators", name, f"Agreement of annotators{several}", about))
        if found.disputes.get(name) and leans(question):
            about = "Images of each query that two or more have judged, the most doubtful queries first."
            titles.append(ChartTitle("categories", name, f"Agreement on images, by query{several}", about))
    if any(person.passed + person.failed for person in found.people):
        about = "Control items, by annotator."
        titles.append(ChartTitle("controls", "", "Control items passed and failed", about))
    return titles


def round_chart(study: Study, round: str, name: str, question: str | None) -> tuple[Figure, Table] | None:
    """A chart of CHARTS with its table; None where there is nothing to draw."""
    if name == "labels":
        labels = [each for each in labels_by_system(study, round) if question in (None, each.question)]
        return _drawn(labels, charts.labels_chart, charts.labels_table)
    if name == "categories":
        queries = [each for each in categories_by_query(study, round) if question in (None, each.question)]
        return _drawn(queries, charts.categories_chart, charts.categories_table)
    found = overview(study, round)
    if name == "controls":
        tried = [person for person in found.people if person.passed + person.failed]
        return _drawn(tried, charts.validation_chart, charts.validation_table)
    asked = question or next(iter(found.agreement), "")
    people = [person for person in found.people if person.agreement(asked)]
    return _drawn(
        people,
        lambda rows, *, wide=True: charts.annotators_chart(rows, asked, wide=wide),
        lambda rows: charts.annotators_table(rows, asked),
    )


def _drawn(
    rows: Sequence[object], chart: Callable[..., Spec], table: Callable[..., Table]
) -> tuple[Figure, Table] | None:
    return (Figure(chart(rows), chart(rows, wide=False)), table(rows)) if rows else None
