"""The charts of a round while it is judged: which there are, and each as a drawing and a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sightline.judging import charts
from sightline.judging.labels import categories_by_query, labels_by_system, leans
from sightline.judging.overview import Overview, overview
from sightline.judging.store import round_numbers
from sightline.judging.store.rounds import get_round
from sightline.records import Question
from sightline.rendering.blocks import Figure
from sightline.rendering.charts import Spec
from sightline.rendering.tables import Table
from sightline.study.study import Study

CHARTS = ("labels", "annotators", "controls", "categories")
NO_CONTROLS = "No control item was answered yet."


@dataclass(frozen=True)
class ChartTitle:
    """A chart of a round; `question` is empty where it is about all, `reason` says why there is none yet."""

    name: str
    question: str
    title: str
    about: str
    reason: str = ""


def offered_charts(study: Study, found: Overview, questions: Sequence[Question]) -> list[ChartTitle]:
    """The charts of a round, those with nothing to show too: they say why."""
    single = 1 in round_numbers.images_at_once(study, get_round(study, found.round).id)
    titles = []
    for question in questions:
        name, several = question.name, f" · {question.name}" if len(questions) > 1 else ""
        if single and question.scale != "interval":
            reason = "" if found.progress.judgements else "Nobody has answered yet."
            about = "How often each was given."
            titles.append(ChartTitle("labels", name, f"Answers by system{several}", about, reason))
        about = "Each with the others, with the 95 % interval; judgements in brackets."
        reason = _no_agreement(found, name)
        titles.append(ChartTitle("annotators", name, f"Agreement of annotators{several}", about, reason))
        if leans(question):
            about = "Images of each query that two or more have judged, the most doubtful queries first."
            reason = "" if found.disputes.get(name) else "No two people differ on an image so far."
            title = f"Agreement on images, by query{several}"
            titles.append(ChartTitle("categories", name, title, about, reason))
    reason = "" if any(person.passed + person.failed for person in found.people) else NO_CONTROLS
    title = "Control items passed and failed"
    titles.append(ChartTitle("controls", "", title, "Control items, by annotator.", reason))
    return titles


def _no_agreement(found: Overview, question: str) -> str:
    """Why nobody's agreement with the others can be drawn; empty where somebody's can."""
    known = [person.agreement[question] for person in found.people if question in person.agreement]
    if any(each.value is not None for each in known):
        return ""
    if len(known) < 2:
        return "Agreement takes two: so far " + ("one person has" if known else "nobody has") + " answered."
    if not any(each.n for each in known):
        return "No two people have judged the same item yet."
    return "All answers are the same so far, which says nothing of how well people agree."


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
    people = [
        person
        for person in found.people
        if asked in person.agreement and person.agreement[asked].value is not None
    ]
    return _drawn(
        people,
        lambda rows, *, wide=True: charts.annotators_chart(rows, asked, wide=wide),
        lambda rows: charts.annotators_table(rows, asked),
    )


def _drawn(
    rows: Sequence[object], chart: Callable[..., Spec], table: Callable[..., Table]
) -> tuple[Figure, Table] | None:
    return (Figure(chart(rows), chart(rows, wide=False)), table(rows)) if rows else None
